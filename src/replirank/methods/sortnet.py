"""SortNet (Rigutini et al. 2008): documents are sorted by a net that compares two of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from replirank.data.arrays import RankingData
from replirank.data.order import in_feature_order
from replirank.engines.comparisons import learn_to_compare
from replirank.methods.base import Fit, Method, Task
from replirank.models import comparator


@dataclass(frozen=True)
class SortNet(Method):
    learning_rate: float = 0.0003
    rounds: int = 20
    epochs_per_round: int = 2
    units: int = 10

    title = "SortNet"
    grid = {"learning_rate": (0.0001, 0.0003)}

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> RankingData:
        return in_feature_order(train)

    def fit(self, task: Task) -> Fit:
        start = comparator.start(task.train.features.shape[1], self.units, seed=task.seed)
        return learn_to_compare(
            start,
            task=replace(task, train=task.shared),
            learning_rate=self.learning_rate,
            rounds=self.rounds,
            epochs=self.epochs_per_round,
        )
