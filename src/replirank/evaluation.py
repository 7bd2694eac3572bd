"""Scores -> metrics: one row for each (dataset, fold, split, method, query), a column for each metric."""

from __future__ import annotations

import pandas as pd

from replirank.data.arrays import Dataset
from replirank.metrics.per_query import evaluate
from replirank.scores import Scored

KEYS = ["dataset", "origin", "method", "fold", "split", "query"]


def metrics_of(dataset: Dataset, scored: list[Scored], *, name: str, origin: str, method: str) -> pd.DataFrame:
    best_label = float(dataset.data.labels.max())
    pieces = []
    for fold, split, scores in scored:
        data = dataset.split(fold, split)
        metrics = evaluate(scores, data.labels, data.offsets, best_label=best_label)
        keys = {"dataset": name, "origin": origin, "method": method, "fold": fold + 1, "split": split}
        pieces.append(pd.concat([pd.DataFrame({**keys, "query": data.query_ids}), metrics], axis=1))
    return pd.concat(pieces, ignore_index=True)
