"""AdaRank (Xu and Li 2007): boosting in which the weight of a query is large where the ranking so far does badly.

Its weak rankers are the features themselves, so that the sum of them is a linear function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from replirank.engines.boosting import Ended
from replirank.engines.snapshots import boost_with_snapshots
from replirank.methods.base import Fit, Method, Task
from replirank.metrics.per_query import Judge
from replirank.models.linear import Linear

LEAST_ERROR = 1e-12


@dataclass(frozen=True)
class AdaRank(Method):
    """The base of AdaRank with one measure or another, which subclasses name."""

    rounds: int = 300

    measure: ClassVar[str]  # E: a metric with its convention, between 0 and 1 for each query
    repeats: ClassVar[bool] = True  # a feature may be chosen again, as in the paper; else it is out once it was chosen

    def fit(self, task: Task) -> Fit:
        booster = QueryBooster(task, self.measure, repeats=self.repeats)
        return boost_with_snapshots(booster, Linear, task, rounds=self.rounds)


class QueryBooster:
    """P(i), the weights of queries, and what was learned so far."""

    def __init__(self, task: Task, measure: str, *, repeats: bool):
        self.train, self.judge = task.train, Judge(task.train.labels, task.train.offsets, measure)
        # `learned` are the weights of features. The loss before the first round is that of no ranking, exp(0).
        self.learned, self.scores = np.zeros(self.train.features.shape[1]), np.zeros(self.train.documents)
        self.loss, self.repeats, self.allowed = 1.0, repeats, np.ones(len(self.learned), dtype=bool)
        self.weak = np.stack([self.judge(column) for column in self.train.features.T], axis=1)  # E of each feature
        self.distribution = np.full(self.train.queries, 1 / self.train.queries)

    def choose(self) -> tuple[int, float] | Ended:
        """The feature that does best on the weighted queries, with its alpha."""
        performance = np.where(self.allowed, self.distribution @ self.weak, -np.inf)
        feature = int(np.argmax(performance))
        # sum of P (1 + E) over sum of P (1 - E); a feature that ranks everything perfectly would have all the say.
        value = min(float(performance[feature]), 1 - LEAST_ERROR)
        if value <= 0:
            return Ended("every feature that ranks anything was chosen")
        alpha = float(np.log((1 + value) / (1 - value)) / 2)
        self.learned[feature] += alpha
        self.allowed[feature] = self.repeats
        self.scores = self.scores + alpha * self.train.features[:, feature].astype(np.float64)
        costs = np.exp(-self.judge(self.scores))
        self.loss = float(np.mean(costs))
        self.distribution = costs / costs.sum()
        return feature, alpha
