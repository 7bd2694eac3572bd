"""BoltzRank (Volkovs and Zemel 2009; energyndcg2011, section II.A): the expected NDCG of a Boltzmann distribution.

The sums over all orders of the documents are estimated from drawn ones. `where` masks padding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

LEAST_LOGIT = -30.0


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

    There, an expected rank falls with a document's score by 2 alpha / (m - 1) times the variance (m^2 - 1) / 12 of a
    rank in the one, and by m / 4 times the strength in the other.
    """
    count = jnp.sum(where).astype(scores.dtype)
    logits = jnp.where(where, 2 * alpha * (count + 1) / (3 * jnp.maximum(count, 1.0)) * scores, -jnp.inf)
    # Any model may draw. In this one no document is so unlikely that its chance would be rounded to nothing.
    logits = jnp.where(where, jnp.maximum(logits - jnp.max(logits), LEAST_LOGIT), -jnp.inf)
    chance = jax.random.gumbel(key, (draws, len(scores)), dtype=scores.dtype)
    keys = jnp.where(where[None, :], logits[None, :] + chance, -jnp.inf)
    # (draws, documents, documents): whether the document of the column is not before that of the row.
    from_there = where[None, None, :] & (keys[:, :, None] >= keys[:, None, :])
    left = jnp.sum(from_there, axis=-1)
    ranks = jnp.where(where[None, :], jnp.sum(where) + 1 - left, 0).astype(scores.dtype)
    total = from_there.astype(scores.dtype) @ jnp.where(where, jnp.exp(logits), 0.0)
    there = where[None, :]
    log_chances = jnp.where(there, logits[None, :] - jnp.log(jnp.where(there, total, 1.0)), 0.0)
    return Drawn(ranks, jnp.sum(log_chances, axis=-1))


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
