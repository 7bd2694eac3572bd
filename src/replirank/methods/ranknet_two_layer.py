"""RankNet (ranknet2005) with a two-layer net."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.engines.stochastic import Loss
from replirank.losses.pairwise import cross_entropy, cross_entropy_ties
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.models import two_layer


@dataclass(frozen=True)
class RankNetTwoLayer(Descent):
    ties: bool = False  # as in ranknet_linear.py
    units: int = 10  # as in ranknet2005, section 6.2

    title = "RankNet, two-layer"
    patience = 1  # ranknet2005, section 5.1
    apply = staticmethod(two_layer.apply)
    model = two_layer.TwoLayer.of

    @property
    def loss(self) -> Loss:
        return cross_entropy_ties if self.ties else cross_entropy

    def start(self, task: Task) -> two_layer.Weights:
        return two_layer.start(task.train.features.shape[1], self.units, seed=task.seed)
