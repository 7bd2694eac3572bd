"""Losses on the whole list of documents of one query.

A loss is a pure function `loss(scores, labels, *, where)` over the last axis; `where` masks padding. A query without a
pair of different labels contributes 0, in value and in gradient. Where a paper maps the labels
first (bayesopt2010's psi), the caller does so.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def listnet(scores: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """ListNet (Cao et al. 2007): the cross entropy of the top-one probabilities that labels and scores imply.

    >>> cost = listnet(jnp.array([0.0, 0.0]), jnp.array([1.0, 0.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # log 2
    0.69315
    """
    target = jax.nn.softmax(_mask_out(labels, where), axis=-1, where=where)
    modelled = jax.nn.log_softmax(_mask_out(scores, where), axis=-1, where=where)
    costs = -target * jnp.where(where, modelled, 0.0)
    return jnp.where(_has_pair(labels, where), jnp.sum(costs, axis=-1, where=where), 0.0)


def top_one_divergence(
    scores: jax.Array,
    labels: jax.Array,
    *,
    where: jax.Array,
    alpha: jax.Array | float = 1.0,
) -> jax.Array:
    """bayesopt2010, Eq. 11, for the first place alone, with psi(r) = alpha r (section 6.1).

    It is ListNet's loss less its least value, which for a small alpha is nearly all of it and would drown the rest.

    >>> two = jnp.array([1.0, 0.0])
    >>> cost = top_one_divergence(jnp.zeros(2), two, where=jnp.array([True, True]), alpha=jnp.log(3.0))
    >>> round(float(cost), 5)  # 3/4 log(3/4 / (1/2)) + 1/4 log(1/4 / (1/2))
    0.13081
    """
    target, chance = (jax.nn.log_softmax(jnp.where(where, each, -1e30), axis=-1) for each in (alpha * labels, scores))
    divergence = jnp.sum(jnp.where(where, jnp.exp(target) * (target - chance), 0.0), axis=-1)
    return jnp.where(_has_pair(labels, where), divergence, 0.0)


def listmle(scores: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """ListMLE (Xia et al. 2008): minus the log likelihood of the order of the labels in the Plackett-Luce model.

    Each document in turn is chosen before all that follow. Of documents with equal labels none is meant to be first,
    so none follows another: each is chosen before those of lower label only. Without ties this is ListMLE itself;
    with ties, no arbitrary order of the documents enters.

    >>> cost = listmle(jnp.array([0.0, 0.0, 0.0]), jnp.array([2.0, 1.0, 0.0]), where=jnp.array([True] * 3))
    >>> round(float(cost), 5)  # log 3 + log 2
    1.79176
    """
    # By increasing label, so that those which follow come before; padding is last and precedes nobody.
    labels, scores = jax.lax.sort((jnp.where(where, labels, jnp.inf), _mask_out(scores, where)), num_keys=1)
    return _listmle_of_sorted(scores, jax.lax.stop_gradient(labels))


@jax.custom_jvp
def _listmle_of_sorted(scores: jax.Array, labels: jax.Array) -> jax.Array:
    return _listmle_and_slopes(scores, labels)[0]


@_listmle_of_sorted.defjvp
def _listmle_of_sorted_jvp(primals, tangents):
    # To differentiate through the cumulative sum takes several times as long, above all to compile.
    value, slopes = _listmle_and_slopes(*primals)
    return value, jnp.sum(slopes * tangents[0], axis=-1)


def _listmle_and_slopes(scores: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
    axis, end = scores.ndim - 1, scores.shape[-1] - 1
    first, last = ends_of_runs(labels[..., 1:] != labels[..., :-1])
    up_to = jax.lax.cumlogsumexp(scores, axis=axis)
    lower = jnp.take_along_axis(up_to, jnp.maximum(first - 1, 0), axis=-1)
    chosen = (first > 0) & (labels < jnp.inf)
    gap = lower - scores
    value = jnp.sum(jnp.where(chosen, jax.nn.softplus(gap), 0.0), axis=-1)  # log(e^score + e^lower) - score
    # A document is drawn up by the chance that it is not chosen, and is pushed down by its share in that chance of each
    # document of higher label, e^(score - lower): again a sum that runs along the list, now from its end.
    missed = jnp.where(chosen, jax.nn.log_sigmoid(gap), -jnp.inf)
    pushes = jax.lax.cumlogsumexp(jnp.where(chosen, missed - lower, -jnp.inf), axis=axis, reverse=True)
    above = jnp.take_along_axis(pushes, jnp.minimum(last + 1, end), axis=-1)
    pushed = jnp.where((last < end) & (labels < jnp.inf), jnp.exp(scores + above), 0.0)
    return value, pushed - jnp.exp(missed)


def cosine(scores: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """RankCosine (Qin et al. 2008; bayesopt2010, Eq. 10): (1 - cosine of scores and labels) / 2.

    Scores that are all 0 have no direction: they count as orthogonal to the labels, with the slope towards these that
    scores of length 1 would have, so that learning can begin there. Labels that are all 0 teach nothing.

    >>> cost = cosine(jnp.array([1.0, 1.0]), jnp.array([1.0, 0.0]), where=jnp.array([True, True]))
    >>> round(float(cost), 5)  # (1 - sqrt(1/2)) / 2
    0.14645
    """
    scores, labels = _mask_out(scores, where), _mask_out(labels, where)
    product = jnp.sum(scores * labels, axis=-1) / (_length(scores) * _length(labels))
    return jnp.where(_has_pair(labels, where), (1 - product) / 2, 0.0)


def squared(scores: jax.Array, labels: jax.Array, *, where: jax.Array) -> jax.Array:
    """bayesopt2010, Eq. 14: the sum of squared differences of scores and labels.

    As with the other losses, a query whose labels are all equal counts for nothing, though it could fix their level:
    a level ranks nothing.

    >>> cost = squared(jnp.array([1.0, 2.0]), jnp.array([3.0, 1.0]), where=jnp.array([True, True]))
    >>> float(cost)  # 2^2 + 1^2
    5.0
    """
    errors = _mask_out(scores, where) - _mask_out(labels, where)
    return jnp.where(_has_pair(labels, where), jnp.sum(errors**2, axis=-1), 0.0)


def _mask_out(values: jax.Array, where: jax.Array) -> jax.Array:
    return jnp.where(where, values, 0.0)


def _has_pair(labels: jax.Array, where: jax.Array) -> jax.Array:
    highest = jnp.max(labels, axis=-1, where=where, initial=-jnp.inf)
    return highest > jnp.min(labels, axis=-1, where=where, initial=jnp.inf)


def _length(values: jax.Array) -> jax.Array:
    """The Euclidean norm; 1 for zeros, where its slope would not be finite."""
    square = jnp.sum(values**2, axis=-1)
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))


def ends_of_runs(differs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """For each of a sequence of values the index of the first and of the last in its run of equals.

    `differs` says of each but the first whether it is not the one before.

    >>> [ends.tolist() for ends in ends_of_runs(jnp.array([False, True, False, False]))]
    [[0, 0, 2, 2, 2], [1, 1, 4, 4, 4]]
    """
    edge = jnp.ones((*differs.shape[:-1], 1), dtype=bool)
    axis = differs.ndim - 1
    index = jnp.broadcast_to(jnp.arange(differs.shape[-1] + 1), (*differs.shape[:-1], differs.shape[-1] + 1))
    starts, stops = jnp.concatenate([edge, differs], axis=-1), jnp.concatenate([differs, edge], axis=-1)
    first = jax.lax.cummax(jnp.where(starts, index, 0), axis=axis)
    last = jax.lax.cummin(jnp.where(stops, index, differs.shape[-1]), axis=axis, reverse=True)
    return first, last
