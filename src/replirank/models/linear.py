"""Linear scoring functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.models.base import Array, Model, namespace


@dataclass(frozen=True, eq=False)
class Linear(Model):
    """It has no offset: adding one changes no order."""

    weights: Array

    def score_query(self, features: Array) -> Array:
        # NumPy's einsum takes one row at a time: a document's score must not depend on the rows around it, as it may
        # where a matrix product is cut into blocks.
        return namespace(features).einsum("nd,d->n", features, self.weights)


@dataclass(frozen=True, eq=False)
class Affine(Model):
    """Linear with an offset, for losses that compare scores with labels."""

    weights: Array
    offset: Array  # ()

    def score_query(self, features: Array) -> Array:
        return namespace(features).einsum("nd,d->n", features, self.weights) + self.offset


def start(features: int, value: float = 0.0) -> Linear:
    """Where training starts. Zero is as good as any where the loss is convex in the weights."""
    return Linear(np.full(features, value, dtype=np.float32))
