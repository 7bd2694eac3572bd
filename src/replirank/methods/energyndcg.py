"""EnergyNDCG (energyndcg2011): the pseudo-likelihood of the optimal order, NDCG being in the energy."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.data.arrays import RankingData
from replirank.losses.energy import ndcg_swaps
from replirank.methods.families.energy import Energy, PseudoLikelihood, too_high

WIDEST = 20  # up to this width all share one compilation


@dataclass(frozen=True)
class EnergyNDCG(Energy):
    width: int = 5  # W: how many documents before and behind a document are its neighbours

    title = "EnergyNDCG"
    metric = staticmethod(ndcg_swaps)
    traced = ("width", "alpha")
    grid = {"width": (5, 10, 20), "alpha": (0.1, 0.5), "learning_rate": (0.0003, 0.001)}

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_high(data)

    def objective(self) -> PseudoLikelihood:
        return PseudoLikelihood(self.metric, self.draws, widest=max(self.width, WIDEST))
