"""EnergyNDCG (energyndcg2011): the pseudo-likelihood of the optimal order, NDCG being in the energy."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.engines.stochastic import Objective
from replirank.losses.energy import ndcg_swaps
from replirank.methods.families.energy import BlanketEnergy, ToTheLetter


@dataclass(frozen=True)
class EnergyNDCG(BlanketEnergy):
    """With `signed` or `moving` Eq. 5 and 12 are read to the letter: losses/energy.py says what these mean.

    The paper's room has a table of what such readings do.
    """

    signed: bool = False
    moving: bool = False

    title = "EnergyNDCG"
    metric = staticmethod(ndcg_swaps)
    grid = {"width": (5, 20), "alpha": (0.1, 0.5), "learning_rate": (0.001,)}

    def objective(self) -> Objective:
        if self.signed or self.moving:
            return ToTheLetter(self.signed, self.moving)
        return super().objective()
