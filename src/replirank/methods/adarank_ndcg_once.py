"""AdaRank-NDCG in which a feature is out once it was chosen. That is not Xu and Li's algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.adarank_ndcg import AdaRankNDCG


@dataclass(frozen=True)
class AdaRankNDCGOnce(AdaRankNDCG):
    title = "AdaRank-NDCG, each feature once"
    repeats = False
