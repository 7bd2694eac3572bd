"""A two-layer net (ranknet2005, Eq. 7): tanh hidden units and a linear output, whose offset changes no order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.models.base import Array, Model, namespace


@dataclass(frozen=True, eq=False)
class TwoLayer(Model):
    hidden: Array  # (features, units)
    offsets: Array  # (units,)
    output: Array  # (units,)

    def score_query(self, features: Array) -> Array:
        # NumPy's einsum goes row by row, as in models/linear.py.
        xp = namespace(features)
        return xp.einsum("nu,u->n", xp.tanh(xp.einsum("nd,du->nu", features, self.hidden) + self.offsets), self.output)


def start(features: int, units: int, *, seed: int, spread: float | None = None) -> TwoLayer:
    """Uniform within the spread; by default one that keeps the units out of saturation whatever the number of inputs.

    Drawn by NumPy, since JAX would compile its generator for seconds to draw these few numbers.
    """
    random = np.random.default_rng(seed)
    spread = (3 / features) ** 0.5 if spread is None else spread
    return TwoLayer(
        hidden=random.uniform(-spread, spread, (features, units)).astype(np.float32),
        offsets=np.zeros(units, dtype=np.float32),
        output=random.uniform(-0.1, 0.1, units).astype(np.float32),
    )
