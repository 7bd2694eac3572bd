"""LambdaRank (Burges et al. 2006) with a two-layer net."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.base import Task
from replirank.methods.lambdarank_linear import LambdaRankLinear
from replirank.models import two_layer


@dataclass(frozen=True)
class LambdaRank(LambdaRankLinear):
    units: int = 10

    title = "LambdaRank, two-layer"

    def start(self, task: Task) -> two_layer.TwoLayer:
        return two_layer.start(task.train.features.shape[1], self.units, seed=task.seed)
