"""The formulas of the metrics, vectorised over the documents of all queries at once.

The documents are ranked once, by decreasing score within their query, ties in file order as LETOR's scripts do (the
metrics on pairs count a tie as half right instead). What depends on the labels alone is computed once for all scores.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from replirank.errors import ReplirankError
from replirank.metrics.conventions import Convention

DEPTH = 15  # NDCG and P are computed at 1..DEPTH
TOP = 10  # diffrank2011's "top-10 resistance rate"


class Lists:
    """The labels of many queries, and what follows from them alone.

    `best_label` is the highest level of the whole data set, for ERR; the highest here when not given.
    """

    def __init__(self, labels: np.ndarray, offsets: np.ndarray, best_label: float | None = None):
        if np.shape(labels) != (offsets[-1],):
            raise ReplirankError(
                f"{np.shape(labels)} labels of {offsets[-1]} documents", remedy="give one label for each document"
            )
        self.labels = np.asarray(labels, dtype=np.float64)
        self.offsets, self.best_label = offsets, best_label
        self.lengths = np.diff(offsets)
        self.query_of = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self._groups = self.query_of.astype(np.min_scalar_type(len(self.lengths)))  # small integers sort faster
        self.rank = np.arange(len(self.labels)) - np.repeat(offsets[:-1], self.lengths)  # from 0
        self.ideal = self.labels[self.sorted_by(-self.labels)]
        self.highest = self.ideal[offsets[:-1]]
        self.relevant = np.add.reduceat(self.labels > 0, offsets[:-1], dtype=np.int64)
        self._best_dcg: dict[str, np.ndarray] = {}  # by discount

    @property
    def shorter(self) -> np.ndarray:
        """(queries, DEPTH): whether a list is shorter than 1, 2, ..."""
        return self.lengths[:, None] < np.arange(1, DEPTH + 1)

    @cached_property
    def levels(self) -> np.ndarray:
        """Of each document: the number of its label, counted from the lowest label of all queries."""
        return np.unique(self.labels, return_inverse=True)[1]

    @cached_property
    def pairs(self) -> np.ndarray:
        """How many pairs with different labels each query has: the worst order has every one of them wrong."""
        return _inversions(self, self.sorted_by(self.labels))

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


class Ranking:
    """Lists, ranked by scores."""

    def __init__(self, lists: Lists, scores: np.ndarray):
        if np.shape(scores) != np.shape(lists.labels):
            raise ReplirankError(
                f"{np.shape(scores)} scores for {np.shape(lists.labels)} labels",
                remedy="give one score for each document, in the order of the data",
            )
        if not np.all(np.isfinite(scores)):
            raise ReplirankError(
                f"the score of document {np.argmin(np.isfinite(scores))} is not finite",
                remedy="the method diverged or divided by zero: look at its log",
            )
        self.lists = lists
        self.scores = np.asarray(scores, dtype=np.float64)
        self.ranked = lists.labels[lists.sorted_by(-self.scores)]

    @cached_property
    def wrong_pairs(self) -> np.ndarray:
        """The share of pairs with different labels in the wrong order, equal scores counting half; NaN without pairs.

        Two metrics are made of it."""
        lists = self.lists
        lenient = _inversions(lists, lists.sorted_by(-self.scores, -lists.labels))
        strict = _inversions(lists, lists.sorted_by(-self.scores, lists.labels))
        nothing = np.full(len(lists.pairs), np.nan)
        return np.divide(lenient + strict, 2 * lists.pairs, out=nothing, where=lists.pairs > 0)


def scaled_gain(labels: np.ndarray, best: np.ndarray | float) -> np.ndarray:
    """The gain 2^label - 1 over 2^best. So the labels of strict orders, up to 1,830, do not overflow, and a query's
    running sums are not drowned by those of its neighbours; the scale cancels in NDCG."""
    return np.exp2(labels - best) - np.exp2(-best)


def ndcg(ranking: Ranking, convention: Convention) -> np.ndarray:
    """(queries, DEPTH): NDCG@1, 2, ..."""
    lists = ranking.lists
    dcg, best = lists.dcg(ranking.ranked, convention), lists.best_dcg(convention)
    values = np.divide(dcg, best, out=np.zeros_like(dcg), where=best > 0)
    if convention.short_ndcg == "zero":
        values[lists.shorter] = 0
    return values


def precision(ranking: Ranking, convention: Convention) -> np.ndarray:
    """(queries, DEPTH): P@1, 2, ..."""
    values = np.cumsum(ranking.lists.top(ranking.ranked > 0, DEPTH), axis=1) / np.arange(1, DEPTH + 1)
    if convention.short_precision == "zero":
        values[ranking.lists.shorter] = 0
    return values


def average_precision(ranking: Ranking, convention: Convention) -> np.ndarray:
    """The mean of the precision at each relevant document; 0 without one. All conventions agree on it."""
    lists, relevant = ranking.lists, ranking.ranked > 0
    precision_there = lists.cumulated(relevant) / (lists.rank + 1)
    found = np.add.reduceat(precision_there * relevant, lists.offsets[:-1])
    return found / np.maximum(lists.relevant, 1)


def mean_ndcg(ranking: Ranking, convention: Convention) -> np.ndarray:
    """LETOR 4.0's MeanNDCG: the mean of NDCG@k over all positions of the list."""
    lists = ranking.lists
    discounts = convention.discounts(int(lists.lengths.max()))[lists.rank]
    highest = lists.highest[lists.query_of]
    dcg = lists.cumulated(scaled_gain(ranking.ranked, highest) * discounts)
    best = lists.cumulated(scaled_gain(lists.ideal, highest) * discounts)
    # Running sums are differences of long sums: where nothing is relevant, that leaves rounding errors instead of 0.
    barren = np.repeat(lists.relevant == 0, lists.lengths)
    ndcg = np.divide(dcg, best, out=np.zeros_like(dcg), where=~barren)
    return lists.mean(ndcg)


def expected_reciprocal_rank(ranking: Ranking) -> np.ndarray:
    """Chapelle et al. (2009): a user stops at rank r with probability gain / 2^best_label and is then worth 1 / r."""
    lists = ranking.lists
    highest = lists.highest.max()
    best_label = highest if lists.best_label is None else lists.best_label
    if highest > best_label:
        raise ReplirankError(
            f"label {highest:g} is above the best level {best_label:g}",
            remedy="give the highest level of the whole data set",
        )
    # 1 - 2^-54 is 1 as a float.
    stops = np.minimum(scaled_gain(ranking.ranked, best_label), np.nextafter(1, 0))
    # The probability of coming as far, as a product, is a running sum of logarithms.
    comes = np.exp(lists.cumulated(np.log1p(-stops)) - np.log1p(-stops))
    return np.add.reduceat(comes * stops / (lists.rank + 1), lists.offsets[:-1])


def pairwise_correct(ranking: Ranking) -> np.ndarray:
    """The share of pairs with different labels that stand in the right order."""
    return 1 - ranking.wrong_pairs


def kendall_tau(ranking: Ranking) -> np.ndarray:
    """Kendall tau as a distance: the share of pairs with different labels that stand in the wrong order."""
    return ranking.wrong_pairs


def top_rate(ranking: Ranking) -> np.ndarray:
    """diffrank2011: the share of the true first ten that is among the predicted first ten.

    With tied labels, whatever is as good as the tenth counts as one of the first ten.
    """
    lists = ranking.lists
    depth = np.minimum(TOP, lists.lengths)
    tenth = lists.ideal[lists.offsets[:-1] + depth - 1]
    hits = (lists.rank < TOP) & (ranking.ranked >= tenth[lists.query_of])
    return np.minimum(np.add.reduceat(hits, lists.offsets[:-1], dtype=np.int64), depth) / depth


def _inversions(lists: Lists, order: np.ndarray) -> np.ndarray:
    """For each query, how many pairs stand in increasing order of label, in O(n log n).

    Bit by bit, from the highest: among the documents that agree on all higher bits, a pair that differs in this bit is
    inverted when its 0 stands before its 1. A stable sort by the bits seen so far keeps such documents together.
    """
    level, group, query = lists.levels[order], lists.query_of, lists.query_of
    inversions = np.zeros(len(lists.lengths), dtype=np.int64)
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
