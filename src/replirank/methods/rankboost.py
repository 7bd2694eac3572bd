"""RankBoost (Freund et al. 2003) with binary weak learners, on all pairs of a query whose labels differ.

Its sums over pairs collapse to potentials of documents (engines/levels.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.engines.boosting import Choice, Ended, boost
from replirank.engines.levels import ExponentialPairs
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
        self.learners, self.weights = learners, ExponentialPairs(train)
        self.pairs = self.weights.pairs
        self.in_pairs = np.flatnonzero(self.weights.counts[train.query_of] > 0)  # others have no potential
        self.histogram = Histogram(learners.bins[self.in_pairs], learners.width)
        self.scores = np.zeros(train.documents)
        self.potentials, self.loss = self.weights.weigh(self.scores)

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
        self.potentials, self.loss = self.weights.weigh(self.scores)
        return Choice(feature, threshold, alpha, self.loss)
