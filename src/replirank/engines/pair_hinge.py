"""RankSVM's risk: the hinge loss of every pair of documents with different labels, over the number of queries.

A pair is violated when the better document's score is not a whole 1 above the worse one's. Two ways to sum over them:
listing the pairs, which is faster where there are few, and counting them, which takes no more room than the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.pairs import pair_counts, pairs_of

MOST_LISTED = 10_000_000  # pairs; a list of more would take more than half a gigabyte


def pair_hinge(data: RankingData) -> ListedPairHinge | CountedPairHinge:
    few = pair_counts(data).sum() < MOST_LISTED
    return (ListedPairHinge if few else CountedPairHinge)(data.features, data.labels, data.offsets)


class ListedPairHinge:
    halvings = 30

    def __init__(self, features: np.ndarray, labels: np.ndarray, offsets: np.ndarray):
        self.features = features.astype(np.float64)
        self.better, self.worse = pairs_of(labels, offsets)
        self.queries = len(offsets) - 1

    def tangent(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        missing = 1 - self._margins(self.features @ w)
        violated = missing > 0
        documents = len(self.features)
        pull = np.bincount(self.worse[violated], minlength=documents) - np.bincount(
            self.better[violated], minlength=documents
        )
        return missing[violated].sum() / self.queries, pull @ self.features / self.queries

    def slope(self, w: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        margins, change = self._margins(self.features @ w), self._margins(self.features @ direction)
        return lambda t: -change[margins + t * change < 1].sum() / self.queries

    def _margins(self, scores: np.ndarray) -> np.ndarray:
        return scores[self.better] - scores[self.worse]


class Violations(NamedTuple):
    pairs: int
    pull: np.ndarray  # of each document: the violated pairs in which it is the worse one, less those as the better one


class CountedPairHinge:
    """The sum over the violated pairs of 1 - (better score - worse score) is their number + pull . scores."""

    halvings = 10  # a slope costs as much as a tangent, and with a step this fine the rounds are as many

    def __init__(self, features: np.ndarray, labels: np.ndarray, offsets: np.ndarray):
        self.features = features.astype(np.float64)
        self.levels = np.unique(labels, return_inverse=True)[1]
        self.offsets = offsets
        self.queries = len(offsets) - 1

    def tangent(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = self.features @ w
        pairs, pull = violations(scores, self.levels, self.offsets)
        return (pairs + pull @ scores) / self.queries, pull @ self.features / self.queries

    def slope(self, w: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        scores, change = self.features @ w, self.features @ direction
        return lambda t: violations(scores + t * change, self.levels, self.offsets).pull @ change / self.queries


def violations(scores: np.ndarray, levels: np.ndarray, offsets: np.ndarray) -> Violations:
    """The violated pairs of documents with different levels (integers from 0), in O(n log n) for a query of n.

    In increasing order of scores, a better document violates its pairs with all that stand from some position on, and
    a worse one those with all before some position. Which of these are worse, or better, is counted bit by bit of the
    levels, from the highest, as in a wavelet matrix: of two documents that agree on all higher bits, the one with 1 is
    the better. Those with 0 then move to the front and those with 1 to the back, each part in its old order. So
    documents of a query that agree so far stay side by side, and positions move by what stands before them.
    """
    lengths = np.diff(offsets)
    document = _increasing(scores, offsets)
    first, last = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    worse_from = _first_violated(scores[document], first)
    better_until = np.cumsum(np.bincount(worse_from, minlength=len(scores)))
    positions = np.stack([first, last, worse_from, better_until])
    levels = levels[document]
    pairs, pull = 0, np.zeros(len(scores), dtype=np.int64)
    for bit in reversed(range(int(levels.max(initial=0)).bit_length())):
        one = (levels >> bit & 1).astype(bool)
        zeros_before = np.concatenate([[0], np.cumsum(~one)])
        zeros = zeros_before[-1]
        order = np.concatenate([np.flatnonzero(~one), np.flatnonzero(one)])
        document, levels, positions = document[order], levels[order], np.take(positions, order, axis=1)
        before = np.take(zeros_before, positions)
        positions -= before  # now the number of 1s before each
        first, _, _, better_until = positions[:, :zeros]
        pull[document[:zeros]] += better_until - first
        _, last, worse_from, _ = before[:, zeros:]
        pull[document[zeros:]] -= last - worse_from
        pairs += int(np.sum(last - worse_from))
        positions[:, :zeros] = before[:, :zeros]
        positions[:, zeros:] += zeros
    return Violations(pairs, pull)


def _increasing(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The documents of each query in increasing order of their scores."""
    order = np.empty(len(scores), dtype=np.int64)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        order[first:last] = np.argsort(scores[first:last]) + first
    return order


def _first_violated(scores: np.ndarray, first: np.ndarray) -> np.ndarray:
    """For each document as the better one: the first position, from `first` on, whose document is less than 1 below.

    By bisection, since a comparison with its score - 1 would round differently from the difference of two scores.
    """
    low, high = first.copy(), np.arange(len(scores))
    for _ in range(int(np.max(high - low, initial=0)).bit_length()):
        middle = (low + high) // 2
        far = scores - scores[middle] >= 1
        low, high = np.where(far, middle + 1, low), np.where(far, high, middle)
    return low
