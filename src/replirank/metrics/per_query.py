"""The metrics of the registry for every query."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from replirank.metrics.conventions import CONVENTIONS, convention
from replirank.metrics.formulas import Lists, Ranking
from replirank.metrics.registry import METRICS, parse_column


def evaluate(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    conventions: Iterable[str] = tuple(CONVENTIONS),
    best_label: float | None = None,
) -> pd.DataFrame:
    """One row per query. Columns: `<convention>.ndcg@k`, `.p@k`, `.map`, `.mean_ndcg`, and what has no convention:
    `err`, `pairwise_correct`, `kendall_tau` (a distance: the share of pairs in the wrong order), `top10`.

    A metric that a query does not have (a pair metric without pairs, a query left out by its convention) is NaN.
    `best_label` is the highest level of the whole data set, for ERR; the highest here when not given.
    """
    ranking = Ranking(Lists(labels, offsets, best_label), scores)
    columns = {}
    for rules in (*map(convention, conventions), None):
        prefix = "" if rules is None else f"{rules.name}."
        for metric in METRICS.values():
            if metric.has_convention == (rules is not None):
                values = metric.values(ranking, rules)
                for name, cut in metric.cuts().items():
                    columns[f"{prefix}{name}"] = values if cut is None else values[:, cut - 1]
    return pd.DataFrame(columns)


class Judge:
    """One of `evaluate`'s columns of the same queries again and again: what training chooses by.

    What depends on the labels alone is computed once.
    """

    def __init__(self, labels: np.ndarray, offsets: np.ndarray, column: str, best_label: float | None = None):
        self.convention, self.metric, self.cut = parse_column(column)
        self.lists = Lists(labels, offsets, best_label)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        values = self.metric.values(Ranking(self.lists, scores), self.convention)
        return values if self.cut is None else values[:, self.cut - 1]


def fold_mean(per_query: pd.DataFrame, columns: list[str], by: list[str]) -> pd.DataFrame:
    """LETOR's averaging: over the queries of each fold, then over the folds."""
    return per_query.groupby([*by, "fold"], sort=True)[columns].mean().groupby(by, sort=True).mean()
