"""A quadratic scoring function: the features and all their products. An offset would change no order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from replirank.models.base import Array, Model, namespace


@dataclass(frozen=True, eq=False)
class Quadratic(Model):
    weights: Array  # (features,)
    products: Array  # (features, features): of x_i x_j; those of x_i x_j and x_j x_i add up

    def score_query(self, features: Array) -> Array:
        # x'Px + w'x as (P'x + w) . x. NumPy's einsum goes row by row, as in models/linear.py.
        xp = namespace(features)
        slopes = xp.einsum("nd,de->ne", features, self.products) + self.weights
        return xp.einsum("ne,ne->n", slopes, features)


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
