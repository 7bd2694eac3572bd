"""A quadratic scoring function: the features and all their products. An offset would change no order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class Quadratic(Model):
    weights: np.ndarray  # (features,)
    products: np.ndarray  # (features, features): of x_i x_j; those of x_i x_j and x_j x_i add up

    kind = "quadratic"

    def score(self, data: RankingData) -> np.ndarray:
        # x'Px + w'x as (P'x + w) . x, row by row in float64, as in models/linear.py.
        x = data.features.astype(np.float64)
        slopes = np.einsum("nd,de->ne", x, self.products.astype(np.float64)) + self.weights
        return np.einsum("ne,ne->n", slopes, x)


def expand(x: jax.Array) -> jax.Array:
    """The features and every product of two, each once.

    A whole data set of these may not fit into memory: expand a row where it is used.

    >>> print(expand(jnp.array([2.0, 3.0])))
    [2. 3. 4. 6. 9.]
    """
    i, j = np.triu_indices(len(x))
    return jnp.concatenate([x, x[i] * x[j]])


def from_expanded(weights: np.ndarray) -> Quadratic:
    """The scoring function with these weights of what `expand` gives."""
    # d features become D = d + d (d + 1) / 2, so that 2 D lies between (d + 1)^2 and (d + 2)^2.
    features = math.isqrt(2 * len(weights)) - 1
    products = np.zeros((features, features), dtype=weights.dtype)
    products[np.triu_indices(features)] = weights[features:]
    return Quadratic(weights[:features], products)
