"""Losses on pairs of documents of one query.

A loss is a pure function `loss(scores, labels, *, where)` over the last axis; `where` masks padding. A query without a
pair contributes 0, in value and in gradient. `preferred`, where given, promises that only the first so many documents
are ever the better one of a pair (the documents being sorted by decreasing label): only their rows of the matrix of
pairs are then computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

# One pair


def pair_cost(margin: jax.Array, target: jax.Array | float) -> jax.Array:
    """ranknet2005, Eq. 3: the cross entropy of a pair with margin o_ij and target probability P_ij.

    >>> [round(float(pair_cost(jnp.array(1.0), target)), 5) for target in (0.0, 0.5, 1.0)]
    [1.31326, 0.81326, 0.31326]
    """
    # The same as -target * margin + log(1 + e^margin), of which large margins would leave no digits.
    return target * _softplus(-margin) + (1 - target) * _softplus(margin)


def pair_fidelity(margin: jax.Array, target: jax.Array | float) -> jax.Array:
    """frank2007, section 3.2: 1 - sqrt(P* P) - sqrt((1 - P*)(1 - P)), where P is the logistic function of the margin.

    >>> [round(float(pair_fidelity(jnp.array(0.0), target)), 5) for target in (0.0, 0.5, 1.0)]
    [0.29289, 0.0, 0.29289]
    """
    # Half the squared distance of the unit vectors (sqrt P, sqrt(1 - P)): no difference from 1, so exact near 0.
    yes, no = _roots_of_logistic(margin)
    return ((jnp.sqrt(target) - yes) ** 2 + (jnp.sqrt(1 - target) - no) ** 2) / 2


def combine(p: jax.Array, q: jax.Array) -> jax.Array:
    """ranknet2005, Eq. 5: the probability of i before k that those of i before j and of j before k imply.

    Log odds add up. A certain yes and a certain no (1 and 0) contradict each other: nan.

    >>> round(float(combine(0.6, 0.6)), 5)  # .36 / (.36 + .16)
    0.69231
    """
    both, neither = p * q, (1 - p) * (1 - q)
    return both / (both + neither)


# All pairs of a query


def cross_entropy(scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None = None) -> jax.Array:
    """ranknet2005, Eq. 3 with target probability 1, summed over the pairs whose labels differ.

    >>> cost = cross_entropy(jnp.array([2.0, 1.0]), jnp.array([1.0, 0.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # log(1 + e^-1)
    0.31326
    """
    return weighted_cross_entropy(scores, labels, jnp.ones((), scores.dtype), where=where, preferred=preferred)


def weighted_cross_entropy(
    scores: jax.Array, labels: jax.Array, weights: jax.Array, *, where: jax.Array, preferred: int | None = None
) -> jax.Array:
    """The same with a weight for each pair: (preferred or all documents, all documents), or one for all of them.

    >>> two, both = jnp.array([2.0, 1.0]), jnp.array([True, True])
    >>> cost = weighted_cross_entropy(two, two, jnp.array([[0.0, 3.0], [0.0, 0.0]]), where=both)
    >>> round(float(cost), 5)  # 3 log(1 + e^-1)
    0.93979
    """
    pairs = _ordered(labels, where, preferred)
    return _over_pairs(_certain_cost, jnp.where(where, scores, 0.0), jnp.where(pairs, weights, 0.0))


def cross_entropy_ties(
    scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None = None
) -> jax.Array:
    """The same, and each pair of equal labels once, with target probability 1/2 (ranknet2005, section 3).

    `preferred` says nothing of pairs of equal labels: these are all computed.

    >>> cost = cross_entropy_ties(jnp.array([2.0, 1.0]), jnp.array([1.0, 1.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # -1/2 + log(1 + e)
    0.81326
    """
    once = jnp.triu(jnp.ones(labels.shape[-1:] * 2, dtype=bool), k=1)
    ties = (labels[..., :, None] == labels[..., None, :]) & where[..., :, None] & where[..., None, :]
    ties = jnp.where(jnp.broadcast_to(once, ties.shape), ties, False)
    differ = cross_entropy(scores, labels, where=where, preferred=preferred)
    return differ + _over_pairs(_even_cost, jnp.where(where, scores, 0.0), ties.astype(scores.dtype))


def _ordered(labels: jax.Array, where: jax.Array, preferred: int | None) -> jax.Array:
    """Whether the document of the row is better than that of the column."""
    better, worse = slice(None, preferred), slice(None)
    pairs = labels[..., better, None] > labels[..., None, worse]
    return pairs & where[..., better, None] & where[..., None, worse]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _over_pairs(cost: Callable[[jax.Array], jax.Array], scores: jax.Array, weights: jax.Array) -> jax.Array:
    """The weighted sum of `cost(margin)` over the (first rows x all) pairs. The weights are constants to the slopes."""
    return jnp.sum(weights * cost(_margins(scores, weights)), axis=(-2, -1))


@_over_pairs.defjvp
def _over_pairs_jvp(cost, primals, tangents):
    # A document's slope is the sum of its row minus that of its column. Value and slopes come from one pass, which
    # leaves nothing but a vector to the backward pass: half the time of differentiating through the matrix.
    scores, weights = primals
    change, _ = tangents
    margins = _margins(scores, weights)
    costs, slopes = jax.jvp(cost, (margins,), (jnp.ones_like(margins),))
    slopes = weights * slopes
    as_better = jnp.sum(jnp.sum(slopes, axis=-1) * change[..., : weights.shape[-2]], axis=-1)
    as_worse = jnp.sum(jnp.sum(slopes, axis=-2) * change, axis=-1)
    return jnp.sum(weights * costs, axis=(-2, -1)), as_better - as_worse


def _margins(scores: jax.Array, weights: jax.Array) -> jax.Array:
    return scores[..., : weights.shape[-2], None] - scores[..., None, :]


def _certain_cost(margin: jax.Array) -> jax.Array:
    return _softplus(-margin)  # pair_cost of target 1


def _even_cost(margin: jax.Array) -> jax.Array:
    return _softplus(-margin) + margin / 2  # pair_cost of target 1/2, with one exponential instead of two


# Functions of a margin with their slopes in closed form, which share the exponential.


@jax.custom_jvp
def _softplus(x: jax.Array) -> jax.Array:
    """log(1 + e^x), to the last digits also of a value near 0."""
    tail = jnp.exp(-_size(x))
    total = 1 + tail
    # log1p in terms of the faster log: the second term is what rounding took away from 1 + tail.
    return jnp.maximum(x, 0.0) + (jnp.log(total) + (tail - (total - 1)) / total)


@_softplus.defjvp
def _softplus_jvp(primals, tangents):
    (x,), (change,) = primals, tangents
    tail = jnp.exp(-_size(x))
    return _softplus(x), change * jnp.where(x >= 0, 1.0, tail) / (1 + tail)


@jax.custom_jvp
def _roots_of_logistic(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The square roots of P = 1 / (1 + e^-x) and of 1 - P, whose slopes as square roots would be infinite at 0."""
    tail = jnp.exp(-_size(x) / 2)
    larger = jax.lax.rsqrt(1 + tail * tail)
    smaller = tail * larger
    return jnp.where(x >= 0, larger, smaller), jnp.where(x >= 0, smaller, larger)


@_roots_of_logistic.defjvp
def _roots_of_logistic_jvp(primals, tangents):
    (x,), (change,) = primals, tangents
    yes, no = _roots_of_logistic(x)
    return (yes, no), (change * yes * no**2 / 2, -change * no * yes**2 / 2)


def _size(x: jax.Array) -> jax.Array:
    """|x| with a slope of 1 at 0, where the formulas for x >= 0 hold: so second derivatives are right there too."""
    return jnp.where(x >= 0, x, -x)
