"""AdaRank-MAP in which a feature is out once it was chosen. That is not Xu and Li's algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.adarank_map import AdaRankMAP


@dataclass(frozen=True)
class AdaRankMAPOnce(AdaRankMAP):
    title = "AdaRank-MAP, each feature once"
    repeats = False
