"""LambdaRank (Burges et al. 2006): RankNet's cost, each pair weighted by what swapping its documents does to NDCG."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from replirank.losses.listwise import ends_of_runs
from replirank.losses.pairwise import weighted_cross_entropy

DEPTH = 10  # of NDCG


def lambdarank(scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None = None) -> jax.Array:
    """The weights are constants to the gradient, which thereby is the sum of the paper's lambdas.

    >>> cost = lambdarank(jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # (1 - 1 / log2(3)) log(1 + e)
    0.48469
    """
    weights = jax.lax.stop_gradient(ndcg_changes(scores, labels, where=where, preferred=preferred))
    return weighted_cross_entropy(scores, labels, weights, where=where, preferred=preferred)


def ndcg_changes(scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None = None) -> jax.Array:
    """(preferred or all documents, all documents): |change of NDCG@10| when two documents swap their ranks."""
    # Over 2^highest, which cancels: so the labels of strict orders, up to 1,830, do not overflow.
    highest = jnp.max(labels, axis=-1, where=where, initial=0.0, keepdims=True)
    gains = jnp.where(where, jnp.exp2(jnp.where(where, labels, 0.0) - highest) - jnp.exp2(-highest), 0.0)
    best = jnp.sum(-jnp.sort(-gains, axis=-1) * _discounts(labels), axis=-1)[..., None, None]
    discounts = current_discounts(scores, labels, where=where)
    first = slice(None, preferred)
    changes = (gains[..., first, None] - gains[..., None, :]) * (discounts[..., first, None] - discounts[..., None, :])
    return jnp.where(best > 0, jnp.abs(changes) / jnp.where(best > 0, best, 1.0), 0.0)


def current_discounts(scores: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """The discount of each document's rank by the scores.

    Of documents with equal scores those of lower label come first, since otherwise scores that are all 0 would teach
    nothing. Documents equal in both share the mean of their ranks' discounts, so that their order does not matter.
    """
    number = jnp.broadcast_to(jnp.arange(labels.shape[-1]), labels.shape)
    ranked, tied, number = jax.lax.sort((jnp.where(where, -scores, jnp.inf), labels, number), num_keys=2)
    first, last = ends_of_runs((ranked[..., 1:] != ranked[..., :-1]) | (tied[..., 1:] != tied[..., :-1]))
    sums = jnp.pad(jnp.cumsum(_discounts(labels), axis=-1), [(0, 0)] * (labels.ndim - 1) + [(1, 0)])
    span = jnp.take_along_axis(sums, last + 1, axis=-1) - jnp.take_along_axis(sums, first, axis=-1)
    shared = span / (last - first + 1).astype(scores.dtype)
    return jax.lax.sort((number, shared), num_keys=1)[1]


def _discounts(labels: jax.Array) -> jax.Array:
    ranks = jnp.arange(1, labels.shape[-1] + 1)
    discounts = jnp.where(ranks <= DEPTH, 1 / jnp.log2(1 + ranks.astype(labels.dtype)), 0.0)
    return jnp.broadcast_to(discounts, labels.shape)
