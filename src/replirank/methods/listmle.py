"""ListMLE (Xia et al. 2008): the likelihood of the order by label, with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import listmle
from replirank.methods.families.descent import Descent


@dataclass(frozen=True)
class ListMLE(Descent):
    title = "ListMLE"
    loss = staticmethod(listmle)
