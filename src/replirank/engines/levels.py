"""Sums over the pairs of documents of a query whose labels differ, without listing the pairs.

Where the weight of a pair is exp(H(x_j) - H(x_i)), x_i being the better one, it is a product of two numbers, so that
sums over pairs collapse to potentials of documents. RankBoost and DiffRank weigh their pairs so.
"""

from __future__ import annotations

import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.pairs import pair_counts


class ExponentialPairs:
    """pi(x), the potential of a document: the weight of the pairs in which x is the better, less that as the worse."""

    def __init__(self, data: RankingData):
        self.counts = pair_counts(data)  # by query
        self.pairs = int(self.counts.sum())
        self.levels = Levels(data)

    def weigh(self, scores: np.ndarray) -> tuple[np.ndarray, float]:
        """The potential of each document, and the exponential loss, the mean over pairs."""
        # Scores about each query's middle: where exp overflows nevertheless, a pair is hopelessly wrong.
        centred = scores - self.levels.middle(scores)[self.levels.query_of]
        as_better, as_worse = np.exp(-centred), np.exp(centred)
        won = as_better * self.levels.below(as_worse)
        lost = as_worse * self.levels.above(as_better)
        return won - lost, float(won.sum()) / max(self.pairs, 1)


class Levels:
    """Sums over the documents of a query with lower or higher labels than a document's own."""

    def __init__(self, data: RankingData):
        _, level = np.unique(data.labels, return_inverse=True)
        self.shape = data.queries, int(level.max()) + 1
        self.query_of, self.level, self.offsets = data.query_of, level, data.offsets
        self.cell = self.query_of * self.shape[1] + level

    def below(self, weights: np.ndarray) -> np.ndarray:
        return _before(self._by_level(weights))[self.query_of, self.level]

    def above(self, weights: np.ndarray) -> np.ndarray:
        return _before(self._by_level(weights)[:, ::-1])[:, ::-1][self.query_of, self.level]

    def middle(self, scores: np.ndarray) -> np.ndarray:
        """Half way between each query's lowest and highest score."""
        lowest, highest = (which.reduceat(scores, self.offsets[:-1]) for which in (np.minimum, np.maximum))
        return (lowest + highest) / 2

    def _by_level(self, weights: np.ndarray) -> np.ndarray:
        return np.bincount(self.cell, weights, self.shape[0] * self.shape[1]).reshape(self.shape)


def _before(by_level: np.ndarray) -> np.ndarray:
    """Running sums without the last one added: to take that off again would leave no digits where it is large."""
    return np.pad(np.cumsum(by_level[:, :-1], axis=1), ((0, 0), (1, 0)))
