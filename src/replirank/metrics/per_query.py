"""Every metric for every query, vectorised over all documents at once.

The documents are ranked once, by decreasing score within their query, ties in file order as LETOR's scripts do (the
metrics on pairs count a tie as half right instead). What all conventions share is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np
import pandas as pd

from replirank.errors import ReplirankError
from replirank.metrics.conventions import CONVENTIONS, Convention, convention

DEPTH = 15  # NDCG and P are computed at 1..DEPTH
TOP = 10  # diffrank2011's "top-10 resistance rate"


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
    ranking = Ranking(scores, labels, offsets)
    columns = {}
    for name in conventions:
        for metric, values in _graded(ranking, convention(name)).items():
            columns[f"{name}.{metric}"] = values
    columns["err"] = expected_reciprocal_rank(ranking, labels.max() if best_label is None else best_label)
    wrong = wrong_pairs(ranking)
    columns["pairwise_correct"] = 1 - wrong
    columns["kendall_tau"] = wrong
    columns[f"top{TOP}"] = top_rate(ranking)
    return pd.DataFrame(columns)


def graded_metric(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, column: str) -> np.ndarray:
    """One of `evaluate`'s columns that has a convention, for each query."""
    return Judge(labels, offsets, column)(scores)


class Judge:
    """One of `evaluate`'s columns that has a convention, of the same queries again and again: what training chooses by.

    What depends on the labels alone is done once.
    """

    def __init__(self, labels: np.ndarray, offsets: np.ndarray, column: str):
        name, _, metric = column.partition(".")
        kind, at, depth = metric.partition("@")
        self.convention = convention(name)
        self.depth = int(depth) if depth.isdecimal() else None
        self.metric = (_AT_DEPTH if at else _WHOLE_LIST).get(kind)
        if self.metric is None or (at and self.depth not in range(1, DEPTH + 1)):
            raise ReplirankError(
                f"unknown metric {metric!r}", remedy=f"choose by map, mean_ndcg, ndcg@k or p@k for k in 1..{DEPTH}"
            )
        self.lists = Ranking(np.zeros(len(labels)), labels, offsets)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        ranking = self.lists.by(scores)
        values = self.metric(ranking, self.convention)
        return _for_all(ranking, self.convention, values if self.depth is None else values[:, self.depth - 1])


class Ranking:
    """Scores and labels of many queries, ranked."""

    def __init__(self, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray):
        self.labels = np.asarray(labels, dtype=np.float64)
        self.offsets = offsets
        self.lengths = np.diff(offsets)
        self.query_of = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self._groups = self.query_of.astype(np.min_scalar_type(len(self.lengths)))  # small integers sort faster
        self._rank_by(scores)
        self.rank = np.arange(len(self.labels)) - np.repeat(offsets[:-1], self.lengths)  # from 0
        self.ideal = self.labels[self.sorted_by(-self.labels)]
        self.highest = self.ideal[offsets[:-1]]
        self.relevant = np.add.reduceat(self.labels > 0, offsets[:-1], dtype=np.int64)
        self._best_dcg: dict[str, np.ndarray] = {}  # by discount, shared with what `by` gives

    def by(self, scores: np.ndarray) -> Ranking:
        """The same queries, ranked by other scores."""
        other = copy(self)
        other._rank_by(scores)
        return other

    def _rank_by(self, scores: np.ndarray) -> None:
        if not np.shape(scores) == np.shape(self.labels) == (self.offsets[-1],):
            raise ReplirankError(
                f"{np.shape(scores)} scores for {np.shape(self.labels)} labels of {self.offsets[-1]} documents",
                remedy="give one score for each document, in the order of the data",
            )
        if not np.all(np.isfinite(scores)):
            raise ReplirankError(
                f"the score of document {np.argmin(np.isfinite(scores))} is not finite",
                remedy="the method diverged or divided by zero: look at its log",
            )
        self.scores = np.asarray(scores, dtype=np.float64)
        self.order = self.sorted_by(-self.scores)
        self.ranked = self.labels[self.order]

    @property
    def shorter(self) -> np.ndarray:
        """(queries, DEPTH): whether a list is shorter than 1, 2, ..."""
        return self.lengths[:, None] < np.arange(1, DEPTH + 1)

    def dcg(self, ranked: np.ndarray, convention: Convention) -> np.ndarray:
        """(queries, DEPTH): DCG@1, 2, ... of labels in this order, scaled."""
        gains = scaled_gain(self.top(ranked, DEPTH), self.highest[:, None])
        return np.cumsum(gains * convention.discounts(DEPTH), axis=1)

    def best_dcg(self, convention: Convention) -> np.ndarray:
        if convention.discount not in self._best_dcg:
            self._best_dcg[convention.discount] = self.dcg(self.ideal, convention)
        return self._best_dcg[convention.discount]

    def sorted_by(self, *keys: np.ndarray) -> np.ndarray:
        """The documents of each query in increasing order of the keys, the first being the most important."""
        return np.lexsort((*reversed(keys), self._groups))

    def top(self, ranked: np.ndarray, depth: int) -> np.ndarray:
        """The first `depth` values of each query as a matrix, 0 where a list is shorter."""
        here = self.rank < depth
        matrix = np.zeros((len(self.lengths), depth))
        matrix[self.query_of[here], self.rank[here]] = ranked[here]
        return matrix

    def cumulated(self, values: np.ndarray) -> np.ndarray:
        """Running sums within each query."""
        sums = np.concatenate([[0], np.cumsum(values)])
        return sums[1:] - np.repeat(sums[self.offsets[:-1]], self.lengths)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The mean over each query's documents."""
        return np.add.reduceat(values, self.offsets[:-1]) / self.lengths


def scaled_gain(labels: np.ndarray, best: np.ndarray | float) -> np.ndarray:
    """The gain 2^label - 1 over 2^best. So the labels of strict orders, up to 1,830, do not overflow, and a query's
    running sums are not drowned by those of its neighbours; the scale cancels in NDCG."""
    return np.exp2(labels - best) - np.exp2(-best)


def _graded(ranking: Ranking, convention: Convention) -> dict[str, np.ndarray]:
    metrics = {}
    for name, metric in _AT_DEPTH.items():
        values = metric(ranking, convention)
        metrics |= {f"{name}@{k}": values[:, k - 1] for k in range(1, DEPTH + 1)}
    metrics |= {name: metric(ranking, convention) for name, metric in _WHOLE_LIST.items()}
    return {name: _for_all(ranking, convention, values) for name, values in metrics.items()}


def _for_all(ranking: Ranking, convention: Convention, values: np.ndarray) -> np.ndarray:
    """A metric's values, with those of queries without relevant documents as the convention has them."""
    return np.where(ranking.relevant == 0, np.nan, values) if convention.no_relevant == "left out" else values


def ndcg(ranking: Ranking, convention: Convention) -> np.ndarray:
    """(queries, DEPTH): NDCG@1, 2, ..."""
    dcg, best = ranking.dcg(ranking.ranked, convention), ranking.best_dcg(convention)
    values = np.divide(dcg, best, out=np.zeros_like(dcg), where=best > 0)
    if convention.short_ndcg == "zero":
        values[ranking.shorter] = 0
    return values


def precision(ranking: Ranking, convention: Convention) -> np.ndarray:
    """(queries, DEPTH): P@1, 2, ..."""
    values = np.cumsum(ranking.top(ranking.ranked > 0, DEPTH), axis=1) / np.arange(1, DEPTH + 1)
    if convention.short_precision == "zero":
        values[ranking.shorter] = 0
    return values


def average_precision(ranking: Ranking, convention: Convention | None = None) -> np.ndarray:
    """The mean of the precision at each relevant document; 0 without one. All conventions agree on it."""
    relevant = ranking.ranked > 0
    precision_there = ranking.cumulated(relevant) / (ranking.rank + 1)
    found = np.add.reduceat(precision_there * relevant, ranking.offsets[:-1])
    return found / np.maximum(ranking.relevant, 1)


def mean_ndcg(ranking: Ranking, convention: Convention) -> np.ndarray:
    """LETOR 4.0's MeanNDCG: the mean of NDCG@k over all positions of the list."""
    discounts = convention.discounts(int(ranking.lengths.max()))[ranking.rank]
    highest = ranking.highest[ranking.query_of]
    dcg = ranking.cumulated(scaled_gain(ranking.ranked, highest) * discounts)
    best = ranking.cumulated(scaled_gain(ranking.ideal, highest) * discounts)
    # Running sums are differences of long sums: where nothing is relevant, that leaves dust instead of 0.
    barren = np.repeat(ranking.relevant == 0, ranking.lengths)
    ndcg = np.divide(dcg, best, out=np.zeros_like(dcg), where=~barren)
    return ranking.mean(ndcg)


_AT_DEPTH = {"ndcg": ndcg, "p": precision}
_WHOLE_LIST = {"map": average_precision, "mean_ndcg": mean_ndcg}


def expected_reciprocal_rank(ranking: Ranking, best_label: float) -> np.ndarray:
    """Chapelle et al. (2009): a user stops at rank r with probability gain / 2^best_label and is then worth 1 / r."""
    if ranking.highest.max() > best_label:
        raise ReplirankError(
            f"label {ranking.highest.max():g} is above the best level {best_label:g}",
            remedy="give the highest level of the whole data set",
        )
    # 1 - 2^-54 is 1 as a float.
    stops = np.minimum(scaled_gain(ranking.ranked, best_label), np.nextafter(1, 0))
    # The probability of coming as far, as a product, is a running sum of logarithms.
    comes = np.exp(ranking.cumulated(np.log1p(-stops)) - np.log1p(-stops))
    return np.add.reduceat(comes * stops / (ranking.rank + 1), ranking.offsets[:-1])


def wrong_pairs(ranking: Ranking) -> np.ndarray:
    """The share of pairs with different labels that the scores put in the wrong order, equal scores counting half."""
    lenient = _inversions(ranking, ranking.sorted_by(-ranking.scores, -ranking.labels))
    strict = _inversions(ranking, ranking.sorted_by(-ranking.scores, ranking.labels))
    # The worst order has every pair wrong, so it counts them.
    pairs = _inversions(ranking, ranking.sorted_by(ranking.labels))
    return np.divide(lenient + strict, 2 * pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def _inversions(ranking: Ranking, order: np.ndarray) -> np.ndarray:
    """For each query, how many pairs stand in increasing order of label, in O(n log n).

    Bit by bit, from the highest: among the documents that agree on all higher bits, a pair that differs in this bit is
    inverted when its 0 stands before its 1. A stable sort by the bits seen so far keeps such documents together.
    """
    _, level = np.unique(ranking.labels[order], return_inverse=True)
    group, query = ranking.query_of.copy(), ranking.query_of
    inversions = np.zeros(len(ranking.lengths), dtype=np.int64)
    for bit in reversed(range(int(level.max()).bit_length())):
        ones = (level >> bit) & 1
        first = np.concatenate([[True], group[1:] != group[:-1]])
        zeros_before = np.cumsum(1 - ones) - (1 - ones)
        zeros_before -= zeros_before[np.maximum.accumulate(np.where(first, np.arange(len(level)), 0))]
        inversions += np.bincount(query, zeros_before * ones, len(inversions)).astype(np.int64)
        together = np.lexsort((ones, group))
        level, query = level[together], query[together]
        # A group splits in two; its members' order within each half stays.
        group = (2 * group + ones)[together]
    return inversions


def top_rate(ranking: Ranking) -> np.ndarray:
    """diffrank2011: the share of the true first ten that is among the predicted first ten.

    With tied labels, whatever is as good as the tenth counts as one of the first ten.
    """
    depth = np.minimum(TOP, ranking.lengths)
    tenth = ranking.ideal[ranking.offsets[:-1] + depth - 1]
    hits = (ranking.rank < TOP) & (ranking.ranked >= tenth[ranking.query_of])
    return np.minimum(np.add.reduceat(hits, ranking.offsets[:-1], dtype=np.int64), depth) / depth


def fold_mean(per_query: pd.DataFrame, columns: list[str], by: list[str]) -> pd.DataFrame:
    """LETOR's averaging: over the queries of each fold, then over the folds."""
    return per_query.groupby([*by, "fold"], sort=True)[columns].mean().groupby(by, sort=True).mean()
