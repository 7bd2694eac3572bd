"""AdaRank-MAP (Xu and Li 2007): AdaRank with average precision."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.families.adarank import AdaRank


@dataclass(frozen=True)
class AdaRankMAP(AdaRank):
    title = "AdaRank-MAP"
    measure = "burges.map"
