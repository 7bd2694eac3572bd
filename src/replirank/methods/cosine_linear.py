"""The cosine surrogate with a linear ranking function (bayesopt2010)."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import cosine
from replirank.methods.families.surrogates import LinearFunction


@dataclass(frozen=True)
class CosineLinear(LinearFunction):
    title = "Cosine, linear"
    surrogate = staticmethod(cosine)
