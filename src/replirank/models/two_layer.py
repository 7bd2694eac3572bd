"""A two-layer net (ranknet2005, Eq. 7): tanh hidden units and a linear output, whose offset changes no order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.models.base import Model


class Weights(NamedTuple):
    hidden: jax.Array  # (features, units)
    offsets: jax.Array  # (units,)
    output: jax.Array  # (units,)


@dataclass(frozen=True, eq=False)
class TwoLayer(Model):
    hidden: np.ndarray
    offsets: np.ndarray
    output: np.ndarray

    kind = "two_layer"

    def score(self, data: RankingData) -> np.ndarray:
        # Row by row in float64, as in models/linear.py.
        activation = np.einsum("nd,du->nu", data.features, self.hidden.astype(np.float64)) + self.offsets
        return np.einsum("nu,u->n", np.tanh(activation), self.output.astype(np.float64))

    @classmethod
    def of(cls, weights: Weights) -> TwoLayer:
        """The model with these parameters."""
        return cls(*map(np.asarray, weights))


def start(features: int, units: int, *, seed: int, spread: float | None = None) -> Weights:
    """Uniform within the spread; by default one that keeps the units out of saturation whatever the number of inputs.

    Drawn by NumPy, since JAX would compile its generator for seconds to draw these few numbers.
    """
    random = np.random.default_rng(seed)
    spread = (3 / features) ** 0.5 if spread is None else spread
    return Weights(
        hidden=random.uniform(-spread, spread, (features, units)).astype(np.float32),
        offsets=np.zeros(units, dtype=np.float32),
        output=random.uniform(-0.1, 0.1, units).astype(np.float32),
    )


def apply(weights: Weights, features: jax.Array) -> jax.Array:
    return jnp.tanh(features @ weights.hidden + weights.offsets) @ weights.output
