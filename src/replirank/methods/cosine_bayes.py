"""The cosine surrogate with the Bayes-optimal ranking function (bayesopt2010)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import cosine
from replirank.methods.cosine_linear import CosineLinear
from replirank.methods.families.surrogates import BayesFunction


@dataclass(frozen=True)
class CosineBayes(BayesFunction):
    epsilon: float = 1.0

    title = "Cosine, Bayes-optimal"
    grid = {"epsilon": (0.6, 0.7, 0.8, 0.9, 1.0)}
    surrogate = staticmethod(cosine)
    linear = CosineLinear
