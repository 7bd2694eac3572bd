"""RankNet (ranknet2005) with a two-layer net."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.base import Task
from replirank.methods.ranknet_linear import RankNetLinear
from replirank.models import two_layer


@dataclass(frozen=True)
class RankNetTwoLayer(RankNetLinear):
    units: int = 10  # as in ranknet2005, section 6.2

    title = "RankNet, two-layer"

    def start(self, task: Task) -> two_layer.TwoLayer:
        return two_layer.start(task.train.features.shape[1], self.units, seed=task.seed)
