"""RankBoost (Freund et al. 2003) with binary weak learners, on all pairs of a query whose labels differ.

The weight of a pair is exp(H(x_j) - H(x_i)), a product of two numbers, so that sums over pairs collapse to potentials
of documents: pi(x) is the weight of the pairs in which x is the better one, less that in which it is the worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.pairs import pair_counts
from replirank.engines.boosting import Choice, Ended, boost
from replirank.engines.weak_learners import Histogram, WeakLearners, make_weak_learners
from replirank.methods.base import Fit, Method, Task

ZERO_WEIGHT = 1e-12  # a loss, or an r, that is rounding


@dataclass(frozen=True)
class RankBoost(Method):
    rounds: int = 300
    thresholds: int = 255  # for each feature, as LETOR's

    title = "RankBoost"

    def fit(self, task: Task) -> Fit:
        learners = make_weak_learners(task.train, self.thresholds)
        return boost(ExponentialBooster(task.train, learners), learners, task, rounds=self.rounds)


class ExponentialBooster:
    """Chooses by the largest |r|, r being the sum of pi(x) h(x): Freund et al.'s third method, for h in [0, 1]."""

    def __init__(self, train: RankingData, learners: WeakLearners):
        counts = pair_counts(train)
        self.learners, self.levels, self.pairs = learners, Levels(train), int(counts.sum())
        self.in_pairs = np.flatnonzero(counts[train.query_of] > 0)  # others have no potential
        self.histogram = Histogram(learners.bins[self.in_pairs], learners.width)
        self.scores = np.zeros(train.documents)
        self.potentials, self.loss = self._weigh()

    def choose(self) -> Choice | Ended:
        if self.loss < ZERO_WEIGHT:
            return Ended("no pair is left to be ordered" if self.pairs else "no query has two different labels")
        # The potentials add up to 0: what a weak learner has on its side, the others lack.
        r = -self.learners.sums(self.histogram(self.potentials[self.in_pairs])) / (self.loss * self.pairs)
        feature, threshold = map(int, np.unravel_index(np.argmax(np.abs(r)), r.shape))
        # Where all pairs agree, the best alpha would be infinite: as if one pair did not.
        most = 1 - 1 / (self.pairs + 1)
        chosen = float(np.clip(r[feature, threshold], -most, most))
        if abs(chosen) < ZERO_WEIGHT:
            return Ended("no weak learner has more weight on one side than on the other")
        alpha = float(np.log((1 + chosen) / (1 - chosen)) / 2)
        self.scores += alpha * self.learners.output(feature, threshold)
        self.potentials, self.loss = self._weigh()
        return Choice(feature, threshold, alpha, self.loss)

    def _weigh(self) -> tuple[np.ndarray, float]:
        """The potential of each document, and the exponential loss, the mean over pairs."""
        # Scores about each query's middle: where exp overflows nevertheless, a pair is hopelessly wrong.
        centred = self.scores - self.levels.middle(self.scores)[self.levels.query_of]
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
