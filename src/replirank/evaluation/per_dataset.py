"""Scores -> metrics: one row for each (paper, dataset, fold, split, method, query), a column for each metric."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from replirank.data.arrays import Dataset
from replirank.evaluation.scores import Scored
from replirank.metrics.per_query import evaluate


def metrics_of(dataset: Dataset, scored: list[Scored], keys: Mapping[str, str]) -> pd.DataFrame:
    """`keys` (paper, dataset, origin, method) stand before each row."""
    best_label = dataset.best_label
    pieces = []
    for fold, split, scores in scored:
        data = dataset.split(fold, split)
        metrics = evaluate(scores, data.labels, data.offsets, best_label=best_label)
        place = {**keys, "fold": fold + 1, "split": split}
        pieces.append(pd.concat([pd.DataFrame({**place, "query": data.query_ids}), metrics], axis=1))
    return pd.concat(pieces, ignore_index=True)
