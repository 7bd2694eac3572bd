"""AdaRank-NDCG (Xu and Li 2007): AdaRank with NDCG@5, as in the paper."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.families.adarank import AdaRank


@dataclass(frozen=True)
class AdaRankNDCG(AdaRank):
    title = "AdaRank-NDCG"
    measure = "burges.ndcg@5"
