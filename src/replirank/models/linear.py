"""A linear scoring function. It has no offset: adding one changes no order."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from replirank.data.arrays import RankingData
from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class Linear(Model):
    weights: np.ndarray

    kind = "linear"

    def score(self, data: RankingData) -> np.ndarray:
        # One row at a time and in float64: the score of a document must not depend on the rows around it, as it may
        # where a matrix product is cut into blocks.
        return np.einsum("nd,d->n", data.features, self.weights.astype(np.float64))

    @classmethod
    def of(cls, weights: jax.Array) -> Linear:
        """The model with these parameters."""
        return cls(np.asarray(weights))


def start(features: int, value: float = 0.0) -> np.ndarray:
    """The parameters to start from. Zero is as good as any where the loss is convex in the weights."""
    return np.full(features, value, dtype=np.float32)


def apply(weights: jax.Array, features: jax.Array) -> jax.Array:
    return features @ weights
