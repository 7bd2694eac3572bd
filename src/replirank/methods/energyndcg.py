"""EnergyNDCG (energyndcg2011): the pseudo-likelihood of the optimal order, NDCG being in the energy."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.data.arrays import RankingData
from replirank.engines.stochastic import Objective
from replirank.losses.energy import ndcg_swaps
from replirank.methods.families.energy import BlanketEnergy, OtherReading, too_high


@dataclass(frozen=True)
class EnergyNDCG(BlanketEnergy):
    """`signed` and `moving` are other readings of Eq. 5 and 12: losses/energy.py says what they mean.

    The paper's room has a table of what such readings do.
    """

    signed: bool = False
    moving: bool = False

    title = "EnergyNDCG"
    metric = staticmethod(ndcg_swaps)
    grid = {"width": (5, 20), "alpha": (0.1, 0.5), "learning_rate": (0.001,)}

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_high(data)

    def objective(self) -> Objective:
        if self.signed or self.moving:
            return OtherReading(self.signed, self.moving)
        return super().objective()
