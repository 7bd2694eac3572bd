"""PRank (Crammer and Singer 2001), as ranknet2005 compares with: ordinal regression by a perceptron with thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.families.online import Online


@dataclass(frozen=True)
class PRank(Online):
    title = "PRank, linear"
