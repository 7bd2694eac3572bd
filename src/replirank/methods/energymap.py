"""EnergyMAP: EnergyNDCG (energyndcg2011) with average precision in the place of NDCG, as the paper proposes."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.energy import map_swaps
from replirank.methods.families.energy import BlanketEnergy


@dataclass(frozen=True)
class EnergyMAP(BlanketEnergy):
    epochs: int = 50
    alpha: float = 1.0  # average precision changes by less than NDCG, which nothing normalises here

    title = "EnergyMAP"
    metric = staticmethod(map_swaps)
    grid = {"width": (5, 20), "learning_rate": (0.001,)}
