"""LambdaRank (Burges et al. 2006) with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.engines.batches import pair_shapes
from replirank.losses.lambdarank import lambdarank
from replirank.methods.families.descent import Descent


@dataclass(frozen=True)
class LambdaRankLinear(Descent):
    title = "LambdaRank, linear"
    loss = staticmethod(lambdarank)
    plan = staticmethod(pair_shapes)
    patience = None  # the weights of the pairs change with the ranking: a growing loss is no sign of going astray
