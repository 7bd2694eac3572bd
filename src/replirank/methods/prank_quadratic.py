"""PRank on the features and every product of two, as ranknet2005 (section 6.2) replaced the quadratic kernel."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.families.online import Online
from replirank.models import quadratic


@dataclass(frozen=True)
class PRankQuadratic(Online):
    title = "PRank, quadratic"

    expand = staticmethod(quadratic.expand)
    model = staticmethod(quadratic.from_expanded)
