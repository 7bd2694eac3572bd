"""FRank (Tsai et al. 2007): boosting on the fidelity loss, each query's pairs weighing as much as another's."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.data.arrays import RankingData
from replirank.engines.boosting import boost
from replirank.engines.fidelity import FidelityBooster, GroupShape, common_groups
from replirank.engines.weak_learners import make_weak_learners
from replirank.methods.base import Fit, Method, Task


@dataclass(frozen=True)
class FRank(Method):
    rounds: int = 300
    thresholds: int = 255  # for each feature
    limit: float = 2.0  # of |alpha|

    title = "FRank"

    plan = staticmethod(common_groups)

    @classmethod
    def share(cls, train: RankingData, plan: tuple[GroupShape, ...] | None = None) -> tuple[GroupShape, ...]:
        return plan or common_groups([train])

    def fit(self, task: Task) -> Fit:
        learners = make_weak_learners(task.train, self.thresholds)
        booster = FidelityBooster(task.train, learners, task.shared, limit=self.limit)
        return boost(booster, learners, task, rounds=self.rounds)
