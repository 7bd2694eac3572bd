"""RankNet (ranknet2005) with a linear net."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.engines.batches import pair_shapes
from replirank.engines.stochastic import Loss
from replirank.losses.pairwise import cross_entropy, cross_entropy_ties
from replirank.methods.families.descent import Descent


@dataclass(frozen=True)
class RankNetLinear(Descent):
    ties: bool = False  # whether pairs of like label are trained on, too, with target 1/2 (ranknet2005, section 5.2)

    title = "RankNet, linear"
    patience = 1  # ranknet2005, section 5.1
    plan = staticmethod(pair_shapes)

    @property
    def loss(self) -> Loss:
        return cross_entropy_ties if self.ties else cross_entropy
