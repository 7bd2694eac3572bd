"""BoltzRank (Volkovs and Zemel 2009; energyndcg2011, section II.A): the expected NDCG of a Boltzmann distribution.

The sums over all orders of the documents are estimated from drawn ones. `where` masks padding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

LEAST_LOGIT = -30.0
SORT_ABOVE = 300  # documents: sorting is then faster than comparing each with each


class Drawn(NamedTuple):
    """Orders that were drawn, and what is needed to weight them."""

    ranks: jax.Array  # (draws, documents): from 1; 0 for padding
    log_chances: jax.Array  # (draws,): the log probability of each order to be drawn


def energies(scores: jax.Array, ranks: jax.Array, *, where: jax.Array, alpha: jax.Array | float) -> jax.Array:
    """Eq. 3: 2 alpha / (m (m - 1)) times the sum over pairs of (r_u - r_v)(f_u - f_v), of one order or of many.

    The sum over pairs is m times the sum over documents of r_u (f_u - the mean score).

    >>> order = jnp.array([1.0, 2.0, 3.0])
    >>> energy = energies(jnp.array([3.0, 2.0, 0.0]), order, where=jnp.array([True] * 3), alpha=3.0)
    >>> round(float(energy), 5)  # 2 * 3 / (3 * 2) * (-1 * 1 - 2 * 3 - 1 * 2)
    -9.0
    """
    count = jnp.sum(where).astype(scores.dtype)
    mean = jnp.sum(jnp.where(where, scores, 0.0)) / jnp.maximum(count, 1.0)
    centred = jnp.where(where, scores - mean, 0.0)
    return 2 * alpha / jnp.maximum(count - 1, 1.0) * (ranks @ centred)


def draw(scores: jax.Array, *, where: jax.Array, alpha: jax.Array | float, draws: int, key: jax.Array) -> Drawn:
    """Orders from the Plackett-Luce model that is nearest to the Boltzmann distribution where that is nearly even.

    There, two documents whose scores differ by d differ in their expected ranks by 2 alpha m (m + 1) / (12 (m - 1)) d
    in the one, and by m / 4 times the difference of their logits in the other.
    """
    count = jnp.sum(where).astype(scores.dtype)
    logits = jnp.where(where, 2 * alpha * (count + 1) / (3 * jnp.maximum(count - 1, 1.0)) * scores, -jnp.inf)
    # Any model may draw. In this one no document is so unlikely that its chance would be rounded to nothing.
    logits = jnp.where(where, jnp.maximum(logits - jnp.max(logits), LEAST_LOGIT), -jnp.inf)
    chance = jax.random.gumbel(key, (draws, len(scores)), dtype=scores.dtype)
    keys = jnp.where(where[None, :], logits[None, :] + chance, -jnp.inf)
    ranks, left = (_by_sorting if len(scores) > SORT_ABOVE else _by_comparing)(keys, jnp.exp(logits))
    log_chances = jnp.where(where[None, :], logits[None, :] - jnp.log(jnp.where(where[None, :], left, 1.0)), 0.0)
    return Drawn(jnp.where(where[None, :], ranks, 0.0), jnp.sum(log_chances, axis=-1))


def _by_comparing(keys: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of each document in each draw: its rank, by decreasing key, and the sum of its weight and of all behind it."""
    not_before = (keys[:, :, None] >= keys[:, None, :]).astype(weights.dtype)  # the column's is not before the row's
    return keys.shape[1] + 1 - jnp.sum(not_before, axis=-1), not_before @ weights


def _by_sorting(keys: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same, faster for long lists."""
    number = jnp.broadcast_to(jnp.arange(keys.shape[1]), keys.shape)
    _, order = jax.lax.sort((-keys, number), num_keys=1)
    left = jax.lax.cumsum(weights[order], axis=1, reverse=True)
    _, ranks, left = jax.lax.sort((order, number + 1, left), num_keys=1)
    return ranks.astype(weights.dtype), left


def log_partition(energies: jax.Array, log_chances: jax.Array) -> jax.Array:
    """The logarithm of Eq. 2's Z, as the mean over drawn orders of e^-energy over the chance to be drawn."""
    return jax.nn.logsumexp(-energies - log_chances) - math.log(len(energies))


def expectation(values: jax.Array, energies: jax.Array, log_chances: jax.Array) -> jax.Array:
    """Eq. 4: the expected value of a metric, Z being estimated from the same orders."""
    return jnp.sum(values * jax.nn.softmax(-energies - log_chances))


def ndcg_of_ranks(ranks: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """NDCG of whole lists, `labels` being in decreasing order; 0 where nothing is relevant.

    >>> labels = jnp.array([1.0, 0.0])
    >>> values = ndcg_of_ranks(jnp.array([[1.0, 2.0], [2.0, 1.0]]), labels, where=jnp.array([True, True]))
    >>> [round(float(value), 5) for value in values]  # of the best order, and 1 / log2(3)
    [1.0, 0.63093]
    """
    gains = jnp.where(where, jnp.exp2(jnp.where(where, labels, 0.0)) - 1, 0.0)
    best = gains @ (1 / jnp.log2(2 + jnp.arange(len(labels)).astype(labels.dtype)))
    return (1 / jnp.log2(1 + jnp.maximum(ranks, 1.0))) @ gains / jnp.where(best > 0, best, 1.0)


def expected_ndcg(
    scores: jax.Array,
    labels: jax.Array,
    *,
    where: jax.Array,
    alpha: jax.Array | float,
    draws: int,
    key: jax.Array,
) -> jax.Array:
    """Estimated from orders that are drawn by the scores as they are; the drawing is a constant to the gradient."""
    ranks, log_chances = draw(jax.lax.stop_gradient(scores), where=where, alpha=alpha, draws=draws, key=key)
    values = ndcg_of_ranks(ranks, labels, where=where)
    return expectation(values, energies(scores, ranks, where=where, alpha=alpha), log_chances)
