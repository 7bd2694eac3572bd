"""The cross-entropy surrogate with the Bayes-optimal ranking function (bayesopt2010)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import top_one_divergence
from replirank.methods.cross_entropy_linear import CrossEntropyLinear
from replirank.methods.families.surrogates import BayesFunction


@dataclass(frozen=True)
class CrossEntropyBayes(BayesFunction):
    epsilon: float = 1.0
    alpha: float = 1.0

    title = "Cross entropy, Bayes-optimal"
    grid = {"epsilon": (0.6, 0.7, 0.8, 0.9, 1.0), **CrossEntropyLinear.grid}
    surrogate = staticmethod(top_one_divergence)
    linear = CrossEntropyLinear
