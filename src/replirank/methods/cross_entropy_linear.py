"""The cross-entropy surrogate (ListNet's, with a scale alpha) with a linear ranking function (bayesopt2010)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import top_one_divergence
from replirank.methods.families.surrogates import LinearFunction


@dataclass(frozen=True)
class CrossEntropyLinear(LinearFunction):
    alpha: float = 1.0

    title = "Cross entropy, linear"
    grid = {"alpha": (0.1, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)}
    surrogate = staticmethod(top_one_divergence)
