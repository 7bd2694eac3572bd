"""BoltzRank's energy under the pseudo-likelihood, all documents being neighbours (energyndcg2011, section IV)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.energy import rank_difference
from replirank.methods.families.energy import Energy, PseudoLikelihood


@dataclass(frozen=True)
class BoltzRankPseudo(Energy):
    alpha: float = 3.0  # Eq. 12's own: the energy has the factor 2 / (m (m - 1))
    draws: int = 1  # all documents count in each

    title = "BoltzRank, pseudo-likelihood"
    metric = staticmethod(rank_difference)
    traced = ("alpha",)
    grid = {"alpha": (1.0, 10.0), "learning_rate": (0.001,)}

    def objective(self) -> PseudoLikelihood:
        return PseudoLikelihood(self.metric, self.draws, widest=None)
