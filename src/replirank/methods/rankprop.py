"""RankProp (Caruana et al. 1996): regression on targets that follow the current ranking, with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import rankprop
from replirank.methods.families.descent import Descent


@dataclass(frozen=True)
class RankProp(Descent):
    title = "RankProp"
    loss = staticmethod(rankprop)
    patience = None  # the targets spread with the scores: a growing loss is no sign of going astray
