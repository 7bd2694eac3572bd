"""Scores -> metrics: one row for each (paper, dataset, fold, split, method, query), a column for each metric.

The column query is int64 where the data set's query ids are numbers and text where they are not; in a frame of several
data sets it is int64 if all of them have numbers, else text for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from replirank.data.arrays import Dataset
from replirank.errors import ReplirankError
from replirank.evaluation.scores import Scored, read
from replirank.metrics.per_query import evaluate


def metrics_of_files(
    dataset: Dataset, files: Iterable[str], keys: Mapping[str, str], report: Callable[[str], None]
) -> pd.DataFrame:
    """Of scores files, which are named after their methods. Those that do not support the data set have no rows."""
    pieces = []
    for path in files:
        report(path)
        if scored := read(path, dataset):
            pieces.append(metrics_of(dataset, scored, {**keys, "method": Path(path).stem}))
    if not pieces:
        raise ReplirankError(
            f"no method of {keys['paper']} supports {keys['dataset']}",
            path="config.yaml",
            remedy=f"take the data set off papers: {keys['paper']}:, or give the paper a method that can be used on it",
        )
    return pd.concat(pieces, ignore_index=True)


def metrics_of(dataset: Dataset, scored: list[Scored], keys: Mapping[str, str]) -> pd.DataFrame:
    """`keys` (paper, dataset, origin, method) stand before each row."""
    best_label = dataset.best_label
    pieces = []
    for fold, split, scores in scored:
        data = dataset.judgements(fold, split)
        metrics = evaluate(scores, data.labels, data.offsets, best_label=best_label)
        place = {**keys, "fold": fold + 1, "split": split}
        pieces.append(pd.concat([pd.DataFrame({**place, "query": data.query_ids}), metrics], axis=1))
    return pd.concat(pieces, ignore_index=True)


def join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of several data sets in one frame."""
    if not all(pd.api.types.is_integer_dtype(frame["query"]) for frame in frames):
        frames = [frame.astype({"query": str}) for frame in frames]
    return pd.concat(frames, ignore_index=True)


def numbers_again(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of one data set with its query ids as they were before `join`: numbers, if all of them are.

    So queries sort as before, and a seeded test gives the same p-value, whatever data sets are beside this one.
    """
    if pd.api.types.is_integer_dtype(rows["query"]) or not rows["query"].str.fullmatch("[0-9]{1,18}").all():
        return rows
    return rows.astype({"query": "int64"})
