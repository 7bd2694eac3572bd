"""ListNet (Cao et al. 2007): the cross entropy of top-one probabilities, with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import listnet
from replirank.methods.families.descent import Descent


@dataclass(frozen=True)
class ListNet(Descent):
    title = "ListNet"
    loss = staticmethod(listnet)
