"""diffrank2011: methods trained on the first documents of each list, as in section 4.3, and DiffRank's two readings.

Validation and test lists stay whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank import methods
from replirank.data.arrays import Dataset, Fold, RankingData, join_ids
from replirank.data.lists import is_among_first, is_strict, keep_documents, share_of_list
from replirank.errors import ReplirankError
from replirank.evaluation.per_dataset import metrics_of
from replirank.seeds import derive
from replirank.training import train

ALL, FIRST_50, FIRST_SHARE = "all documents", "first 50 of each list", "first 5% of each list"
THEOREM, FIGURE = "Theorem 2", "Figure 1"

Grid = Mapping[str, Sequence]


class Trial(NamedTuple):
    part: str  # of each list, to be trained on
    reading: str = ""  # of DiffRank
    grid: Grid = {}  # what is fixed of the method's grid, or added to it


EXPERIMENTS: Mapping[str, Sequence[Trial]] = {
    "diffrank": [
        Trial(part, reading, {"cumulated": [reading == FIGURE]})
        for part in (FIRST_50, ALL)
        for reading in (THEOREM, FIGURE)
    ],
    # Which of a list's first documents are the relevant ones the paper does not say: validation does.
    "svm_map": [Trial(FIRST_SHARE, grid={"relevant": [0.05, 0.1, 0.25, 0.5]})],
}


def kept(data: RankingData, part: str) -> np.ndarray:
    """Which documents belong to this part of their lists."""
    if part == FIRST_50:
        return is_among_first(data, 50)
    return is_among_first(data, share_of_list(data, {FIRST_SHARE: 0.05, ALL: 1.0}[part]))


def with_shorter_training_lists(dataset: Dataset, part: str) -> Dataset:
    """The training queries of each fold have only this part of their lists: shorter copies, behind the others."""
    if part == ALL:
        return dataset
    data, short = dataset.data, keep_documents(dataset.data, kept(dataset.data, part))
    both = RankingData(
        features=np.concatenate([data.features, short.features]),
        labels=np.concatenate([data.labels, short.labels]),
        offsets=np.concatenate([data.offsets, data.documents + short.offsets[1:]]),
        query_ids=join_ids([data.query_ids, short.query_ids]),
        columns=data.columns,
    )
    return replace(dataset, data=both, folds=tuple(Fold(data.queries + t, v, e) for t, v, e in dataset.folds))


def run(
    dataset: Dataset,
    experiment: str,
    *,
    name: str,  # of the data set
    grid: Grid,  # config.yaml's for the method on this data set
    convention: str,
    select_by: str,
    seed: int,
    report: Callable[[str], None],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The metrics of each trial's test queries, and its history: rounds, for a method that has them.

    Graded lists are trained on whole: their first 50 documents would be nearly all of one label.
    """
    metrics, histories = [], []
    for part, reading, fixed in EXPERIMENTS[experiment]:
        where = f"{part}, {reading}" if reading else part
        if part != ALL and not is_strict(dataset.data):
            continue
        trained = train(
            with_shorter_training_lists(dataset, part),
            methods.find(experiment),
            grid={**grid, **fixed},
            convention=convention,
            select_by=select_by,
            seed=derive(seed, "diffrank2011", part),
            names=(name, experiment),
            splits=("test",),
            report=lambda text, where=where: report(f"{where}: {text}"),
        )
        keys = {"dataset": name, "part": part, "reading": reading}
        chosen = {fold["fold"]: _in_words(fold["chosen"]) for fold in trained.choices}
        rows = metrics_of(dataset, trained.scored, keys)
        metrics.append(rows.assign(chosen=rows["fold"].map(chosen)))
        history = trained.history
        histories.append(history[history["chosen"].astype(bool)].assign(**keys))
    if not metrics:
        raise ReplirankError(f"no trial of {experiment} is for graded lists", remedy="ask for lists in strict order")
    return pd.concat(metrics, ignore_index=True), pd.concat(histories, ignore_index=True)


def _in_words(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in chosen.items())
