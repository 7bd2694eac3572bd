"""The pseudo-likelihood of the optimal order in a Markov random field on ranks (energyndcg2011, sections II.B and IV).

An order of a query's documents has an energy: a sum over pairs, each of which counts by what a swap of its two
documents would change in a metric, times the difference of their scores. The pseudo-likelihood of the optimal order is
a product over the documents: of the probability of the document's own rank, given the ranks of its neighbours in the
optimal order (its Markov blanket).

In all functions here the documents stand in the optimal order: the first has rank 1. `where` masks padding at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Swaps(NamedTuple):
    """What swaps change in a metric, in two factors.

    A document moves to rank k while another keeps its rank r. A swap of the two then changes the metric by

        gap of the two * |value of rank k - value of rank r|

    where the values are those that ranks have for the better one of the two.
    """

    gaps: jax.Array  # (documents, documents), symmetric; 0 where a swap changes nothing
    values: jax.Array  # (ranks,), falling; or (documents, ranks) where they differ from document to document


Metric = Callable[..., Swaps]  # (labels, *, where, ranks), the last being the number of ranks


def optimal_order(labels: jax.Array, *, where: jax.Array, first: int, key: jax.Array) -> jax.Array:
    """The first documents of an optimal order. `labels` are in decreasing order; equals are put into a random one.

    >>> labels, there = jnp.array([2.0, 1.0, 0.0, 0.0]), jnp.array([True, True, True, False])
    >>> optimal_order(labels, where=there, first=3, key=jax.random.key(0)).tolist()
    [0, 1, 2]
    """
    level = jnp.cumsum(jnp.pad(labels[1:] < labels[:-1], (1, 0))).astype(labels.dtype)
    by_chance = level + jax.random.uniform(key, labels.shape, dtype=labels.dtype)
    return jax.lax.top_k(jnp.where(where, -by_chance, -jnp.inf), first)[1]


# Metrics


def ndcg_swaps(labels: jax.Array, *, where: jax.Array, ranks: int) -> Swaps:
    """Eq. 5: |2^l_u - 2^l_v| |1 / log2(1 + r_u) - 1 / log2(1 + r_v)|. As in the paper, nothing normalises it."""
    gains = jnp.exp2(jnp.where(where, labels, 0.0))
    places = jnp.arange(1, ranks + 1).astype(labels.dtype)
    return Swaps(jnp.abs(gains[:, None] - gains[None, :]), 1 / jnp.log2(1 + places))


def map_swaps(labels: jax.Array, *, where: jax.Array, ranks: int) -> Swaps:
    """Of average precision. Where a relevant and an irrelevant document swap, it is as if the relevant one moved.

    With a relevant document at rank k, and the others at their optimal ranks (some of 1..R, R being the number of
    relevant ones), the sum of precisions depends on k by (others up to k, and itself) / k, and by 1 / t for each other
    relevant document at a rank t from k on, which counts it.
    """
    dtype = labels.dtype
    relevant = where & (labels > 0)
    count = jnp.sum(relevant).astype(dtype)
    own = jnp.arange(1, len(labels) + 1).astype(dtype)[:, None]
    places = jnp.arange(1, ranks + 1).astype(dtype)[None, :]
    shares = jnp.where(places <= count, 1 / places, 0.0)  # 1 / t of all relevant documents
    up_to = jnp.minimum(places, count) - (own <= places).astype(dtype) + 1
    from_there = jnp.sum(shares) - jnp.cumsum(shares, axis=-1) + shares - jnp.where(own >= places, 1 / own, 0.0)
    values = up_to / places + from_there
    gaps = (relevant[:, None] != relevant[None, :]).astype(dtype)
    return Swaps(gaps, values / jnp.maximum(count, 1.0))


def rank_difference(labels: jax.Array, *, where: jax.Array, ranks: int) -> Swaps:
    """BoltzRank's energy (Eq. 3) in the place of a metric: every pair counts by the difference of its ranks."""
    count = jnp.sum(where).astype(labels.dtype)
    pairs = jnp.maximum(count * (count - 1) / 2, 1.0)
    gaps = jnp.ones((len(labels), len(labels)), dtype=labels.dtype) / pairs
    return Swaps(gaps, -jnp.arange(1, ranks + 1).astype(labels.dtype))


# Probabilities of ranks


def rank_logits(
    scores: jax.Array,
    labels: jax.Array,
    *,
    where: jax.Array,
    ranks: int,
    metric: Metric,
    width: jax.Array | float,
    alpha: jax.Array | float,
) -> jax.Array:
    """(documents, ranks): minus the energy of each document at each rank, up to a constant of the document.

    `minus_log_likelihood` has a faster form of it where all documents share the values of ranks.

    The blanket of a document are the `width` documents before and behind it in the optimal order; these keep their
    ranks. Of two documents the one at the better rank should have the higher score: minus the energy of a pair is what
    its swap changes times (the score above - the score below).
    """
    gaps, values = metric(labels, where=where, ranks=ranks)
    pairs = _pairs_of_neighbours(scores, gaps, where, width, alpha)
    if values.ndim == 1:
        return jnp.sum(pairs, axis=1)[:, None] * values[None, :]
    # The better one of two stands first. The values are its own: those of the row, or those of the column.
    place = jnp.arange(len(labels))
    row_is_better = place[:, None] < place[None, :]
    as_better = jnp.sum(jnp.where(row_is_better, pairs, 0.0), axis=1)
    return as_better[:, None] * values + jnp.where(row_is_better, 0.0, pairs) @ values


def minus_log_likelihood(
    scores: jax.Array,
    labels: jax.Array,
    *,
    where: jax.Array,
    documents: jax.Array | int,
    ranks: int,
    metric: Metric,
    width: jax.Array | float,
    alpha: jax.Array | float,
) -> jax.Array:
    """Minus the log pseudo-likelihood of the optimal order (Eq. 8 and 12), summed over the documents given.

    These may be only the first documents of the optimal order. `documents` is how many the query has, and so how many
    ranks are possible; `ranks` is that number with padding.

    >>> two = jnp.array([1.0, 0.0])
    >>> both = {"where": jnp.array([True, True]), "documents": 2, "ranks": 2, "metric": ndcg_swaps, "width": 1}
    >>> cost = minus_log_likelihood(two, two, **both, alpha=2.0)
    >>> round(float(cost), 5)  # 2 log(1 + e^-(2 (1 - 1 / log2(3))))
    0.78138
    """
    gaps, values = metric(labels, where=where, ranks=ranks)
    if values.ndim > 1:
        logits = rank_logits(scores, labels, where=where, ranks=ranks, metric=metric, width=width, alpha=alpha)
        return minus_log_diagonal(logits, where=where, documents=documents)
    # All logits of a document are one strength times the values of the ranks.
    strengths = jnp.sum(_pairs_of_neighbours(scores, gaps, where, width, alpha), axis=1)
    costs = _log_total(strengths, values, jnp.arange(ranks) < documents) - strengths * values[: len(labels)]
    return jnp.sum(jnp.where(where, costs, 0.0))


def minus_log_diagonal(logits: jax.Array, *, where: jax.Array, documents: jax.Array | int) -> jax.Array:
    """Minus the sum over documents of the log probability of their own ranks, of (documents, ranks) logits.

    >>> round(float(minus_log_diagonal(jnp.zeros((2, 2)), where=jnp.array([True, True]), documents=2)), 5)  # 2 log 2
    1.38629
    """
    there = (jnp.arange(logits.shape[1]) < documents)[None, :]
    costs = jax.nn.logsumexp(jnp.where(there, logits, -jnp.inf), axis=1) - jnp.diagonal(logits)
    return jnp.sum(jnp.where(where, costs, 0.0))


def _pairs_of_neighbours(scores, gaps, where, width, alpha) -> jax.Array:
    place = jnp.arange(len(scores)).astype(scores.dtype)
    near = where[:, None] & where[None, :] & (jnp.abs(place[:, None] - place[None, :]) <= width)
    return alpha * jnp.where(near, gaps * (scores[:, None] - scores[None, :]), 0.0)


@jax.custom_jvp
def _log_total(strengths: jax.Array, values: jax.Array, there: jax.Array) -> jax.Array:
    """log of the sum of e^(strength * value) over the ranks that are there, for each strength. Values fall."""
    return _log_total_and_slope(strengths, values, there)[0]


@_log_total.defjvp
def _log_total_jvp(primals, tangents):
    # The slope is the mean value of the ranks. Both come from one pass: half the time of differentiating through it.
    total, slope = _log_total_and_slope(*primals)
    return total, slope * tangents[0]


def _log_total_and_slope(strengths: jax.Array, values: jax.Array, there: jax.Array) -> tuple[jax.Array, jax.Array]:
    largest = jnp.maximum(strengths * values[0], strengths * jnp.min(jnp.where(there, values, values[0])))
    shares = jnp.where(there[None, :], jnp.exp(strengths[:, None] * values[None, :] - largest[:, None]), 0.0)
    total = jnp.sum(shares, axis=1)
    return jnp.log(total) + largest, (shares @ values) / total


# Other readings of the equations


def rank_logits_of_reading(
    scores: jax.Array,
    labels: jax.Array,
    *,
    where: jax.Array,
    width: jax.Array | float,
    alpha: jax.Array | float,
    signed: bool,
    moving: bool,
) -> jax.Array:
    """`rank_logits` with NDCG and another reading of Eq. 5 and 12; a table of the paper's room shows what these do.

    `signed`: Eq. 5's difference without absolute value. `moving`: the blanket of a document at rank k are the documents
    within `width` of k, as the sums of Eq. 12 run, and not those around its own rank. Both at once are the equations to
    the letter.
    """
    place = jnp.arange(len(labels)).astype(scores.dtype)
    gaps, values = ndcg_swaps(labels, where=where, ranks=len(labels))
    gains = jnp.exp2(jnp.where(where, labels, 0.0))
    gaps = gains[None, :] - gains[:, None] if signed else gaps  # minus Eq. 5's, since minus the energy is asked for
    near = where[None, :] & (jnp.abs(place[:, None] - place[None, :]) <= width)
    pairs = alpha * jnp.where(where[None, :], gaps * (scores[:, None] - scores[None, :]), 0.0)
    if not moving:
        return jnp.sum(jnp.where(near, pairs, 0.0), axis=1)[:, None] * values[None, :]
    counted = near.astype(scores.dtype).T
    return (pairs @ counted) * values[None, :] - pairs @ (counted * values[:, None])
