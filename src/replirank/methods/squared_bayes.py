"""The squared surrogate with the Bayes-optimal ranking function (bayesopt2010)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import squared
from replirank.methods.families.surrogates import BayesFunction
from replirank.methods.squared_linear import SquaredLinear


@dataclass(frozen=True)
class SquaredBayes(BayesFunction):
    epsilon: float = 1.0

    title = "Squared, Bayes-optimal"
    grid = {"epsilon": (0.6, 0.7, 0.8, 0.9, 1.0)}
    surrogate = staticmethod(squared)
    linear = SquaredLinear
