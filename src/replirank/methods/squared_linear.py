"""The squared surrogate with a linear ranking function (bayesopt2010): least squares by gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import squared
from replirank.methods.families.surrogates import LinearFunction


@dataclass(frozen=True)
class SquaredLinear(LinearFunction):
    title = "Squared, linear"
    surrogate = staticmethod(squared)
