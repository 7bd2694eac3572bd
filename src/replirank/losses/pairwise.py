"""Losses on pairs of documents of one query.

A loss is a pure function `loss(scores, labels, *, where)` over the last axis; `where` masks padding. A query without a
pair contributes 0, in value and in gradient.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def logistic(scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None = None) -> jax.Array:
    """ranknet2005, Eq. 3 with target probability 1, summed over the pairs whose labels differ.

    `preferred`, where given, promises that only the first so many documents are ever the better one of a pair (the
    documents being sorted by decreasing label), so that only their rows of the matrix of pairs are computed.

    >>> cost = logistic(jnp.array([2.0, 1.0]), jnp.array([1.0, 0.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # log(1 + e^-1)
    0.31326
    """
    scores = jnp.where(where, scores, 0.0)
    better, worse = slice(None, preferred), slice(None)
    pairs = labels[..., better, None] > labels[..., None, worse]
    pairs &= where[..., better, None] & where[..., None, worse]
    margins = scores[..., better, None] - scores[..., None, worse]
    return jnp.sum(jnp.where(pairs, jax.nn.softplus(-margins), 0.0), axis=(-2, -1))
