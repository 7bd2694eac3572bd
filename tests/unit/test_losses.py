"""The pairwise logistic loss, against arithmetic, a double loop, finite differences and rax."""

import itertools
from functools import partial
from math import exp, inf, log, nan

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rax
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.losses.pairwise import logistic


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@partial(jax.jit, static_argnames="preferred")  # so that a shape is compiled once
def value_and_slopes(scores, labels, where, preferred):
    def total(scores):
        values = logistic(scores, labels, where=where, preferred=preferred)
        return values.sum(), values

    (_, values), slopes = jax.value_and_grad(total, has_aux=True)(scores)
    return values, slopes


def both(scores, labels, where=None, preferred=None):
    scores, labels = jnp.asarray(scores, dtype=float), jnp.asarray(labels, dtype=float)
    where = jnp.ones(labels.shape, dtype=bool) if where is None else jnp.asarray(where)
    return value_and_slopes(scores, labels, where, preferred)


def loss(*query, **rest):
    return both(*query, **rest)[0]


def gradient(*query, **rest):
    return both(*query, **rest)[1]


def double_loop(scores, labels, where):
    """The value and the gradient, pair by pair in Python's floats."""
    value, slopes = 0.0, [0.0] * len(scores)
    for i, j in itertools.permutations(range(len(scores)), 2):
        if where[i] and where[j] and labels[i] > labels[j]:
            value += log(1 + exp(scores[j] - scores[i]))
            pull = 1 / (1 + exp(scores[i] - scores[j]))
            slopes[i] -= pull
            slopes[j] += pull
    return value, slopes


# Eight documents, of which any may be masked: score, label, where.
queries = st.lists(st.tuples(st.floats(-9, 9, width=32), st.integers(0, 4), st.booleans()), min_size=8, max_size=8)


# Closed forms


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([2, 1], [1, 0], log(1 + exp(-1))),
        ([1, 2], [1, 0], log(1 + exp(1))),
        ([1, 2], [0, 1], log(1 + exp(-1))),
        ([5, 5], [1, 0], log(2)),
        ([0, 0, 0], [2, 1, 0], 3 * log(2)),
        ([0, 0, 0], [1, 0, 0], 2 * log(2)),
        ([3, 2, 0], [2, 1, 0], log(1 + exp(-1)) + log(1 + exp(-3)) + log(1 + exp(-2))),
        ([3, 2, 0], [0, 1, 1], log(1 + exp(1)) + log(1 + exp(3))),
        ([3, 2, 0], [0, 4, 0], log(1 + exp(1)) + log(1 + exp(-2))),
    ],
)
def test_closed_form(scores, labels, expected):
    assert_allclose(loss(scores, labels), expected, rtol=1e-6)


def test_slope_of_one_pair_in_closed_form():
    assert_allclose(gradient([2, 1], [1, 0]), [-1 / (1 + exp(1)), 1 / (1 + exp(1))], rtol=1e-6)


def test_only_the_order_of_labels_counts_not_their_distance():
    assert loss([0.3, -1, 2], [9, 0.5, -3]) == loss([0.3, -1, 2], [2, 1, 0])


# Against other ways to compute it


@settings(max_examples=200, deadline=None)
@given(queries)
def test_is_the_double_loop(query):
    with jax.enable_x64(True):
        scores, labels, where = map(list, zip(*query, strict=True))
        for ours, theirs in zip(both(scores, labels, where), double_loop(scores, labels, where), strict=True):
            assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_the_finite_difference(seed):
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=9), random.integers(0, 3, 9), random.random(9) < 0.8
    step = 1e-5
    with jax.enable_x64(True):
        differences = [
            (loss(scores + step * e, labels, where) - loss(scores - step * e, labels, where)) / (2 * step)
            for e in np.eye(9)
        ]
        assert_allclose(gradient(scores, labels, where), differences, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_rax(seed):
    """rax with reduce_fn=sum adds up the pairs as this does; its mean would divide by the number of such pairs."""
    random = np.random.default_rng(seed)
    scores = jnp.asarray(random.normal(size=(4, 11)), dtype=jnp.float32)
    labels = jnp.asarray(random.integers(0, 3, (4, 11)), dtype=jnp.float32)
    where = jnp.asarray(random.random((4, 11)) < 0.7)

    def ours(scores):
        return logistic(scores, labels, where=where).sum()

    def theirs(scores, reduce=jnp.sum):
        return rax.pairwise_logistic_loss(scores, labels, where=where, reduce_fn=reduce)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        value, slopes = jax.value_and_grad(theirs)(scores)
        mean = theirs(scores, jnp.mean)
    assert_allclose(ours(scores), value, rtol=1e-6)
    assert_allclose(jax.grad(ours)(scores), slopes, rtol=1e-6, atol=1e-6)
    pairs = (labels[:, :, None] > labels[:, None, :]) & where[:, :, None] & where[:, None, :]
    assert_allclose(mean, float(value) / int(pairs.sum()), rtol=1e-6)


# The ends of its range


def test_large_scores_keep_value_and_gradient_finite():
    assert loss([1e4, -1e4], [1, 0]) == 0
    assert loss([-1e4, 1e4], [1, 0]) == 2e4
    assert_array_equal(gradient([1e4, -1e4], [1, 0]), [0, 0])
    assert_array_equal(gradient([-1e4, 1e4], [1, 0]), [-1, 1])


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        ([1], [True]),
        ([0], [True]),
        ([2, 2, 2], [True] * 3),
        ([0, 0, 0], [True] * 3),
        ([2, 1, 0], [False] * 3),
        ([2, 1, 0], [False, True, False]),
    ],
)
def test_query_without_a_pair_is_exactly_nothing(labels, where):
    scores = np.arange(len(labels)) * 3.0
    assert loss(scores, labels, where) == 0
    assert_array_equal(gradient(scores, labels, where), np.zeros(len(labels)))


@pytest.mark.parametrize("garbage", [nan, inf, -inf, 1e38, -7.0])
@pytest.mark.parametrize("what", ["scores", "labels", "both"])
def test_whatever_is_masked_counts_for_nothing(garbage, what):
    scores, labels = [0.5, 2, -1], [1, 0, 2]
    padded_scores = [*scores, garbage if what != "labels" else 0.0, garbage if what != "labels" else 0.0]
    padded_labels = [*labels, garbage if what != "scores" else 0.0, garbage if what != "scores" else 0.0]
    where = [True, True, True, False, False]
    value, slopes = both(padded_scores, padded_labels, where)
    assert_allclose(value, loss(scores, labels), rtol=1e-6)
    assert_allclose(slopes[:3], gradient(scores, labels), rtol=1e-6)
    assert_array_equal(slopes[3:], [0, 0])


# Only the rows of preferred documents


@settings(max_examples=100, deadline=None)
@given(queries, st.integers(0, 3))
def test_preferred_changes_no_value_and_no_gradient(query, more):
    """Sorted by decreasing label, those above the lowest label come first; padding is last."""
    query = sorted(query, key=lambda document: (-document[2], -document[1]))
    scores, labels, where = map(list, zip(*query, strict=True))
    shown = [label for label, here in zip(labels, where, strict=True) if here]
    preferred = sum(label > min(shown) for label in shown) + more
    with jax.enable_x64(True):
        few, every = both(scores, labels, where, preferred), both(scores, labels, where)
        for ours, theirs in zip(few, every, strict=True):
            assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_preferred_computes_only_those_rows():
    """What the promise is for: a better document beyond it is not seen."""
    assert_allclose(loss([0, 0, 0], [2, 1, 0], preferred=1), 2 * log(2), rtol=1e-6)


# Many queries at once


def test_leading_axes_are_queries():
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(2, 3, 7)), random.integers(0, 3, (2, 3, 7))
    where = random.random((2, 3, 7)) < 0.8
    together, slopes = loss(scores, labels, where), gradient(scores, labels, where)
    assert together.shape == (2, 3)
    for place in np.ndindex(2, 3):
        assert_allclose(together[place], loss(scores[place], labels[place], where[place]), rtol=1e-6)
        assert_allclose(slopes[place], gradient(scores[place], labels[place], where[place]), rtol=1e-6, atol=1e-7)


def test_vmap_and_jit_give_the_same():
    random = np.random.default_rng(1)
    scores = jnp.asarray(random.normal(size=(5, 6)), dtype=jnp.float32)
    labels = jnp.asarray(random.integers(0, 3, (5, 6)), dtype=jnp.float32)
    where = jnp.asarray(random.random((5, 6)) < 0.8)
    mapped = jax.jit(jax.vmap(lambda s, y, m: logistic(s, y, where=m, preferred=None)))(scores, labels, where)
    assert_allclose(mapped, logistic(scores, labels, where=where), rtol=1e-6)


def test_keeps_the_precision_it_is_given():
    assert loss([2, 1], [1, 0]).dtype == jnp.float32
    with jax.enable_x64(True):
        assert loss([2, 1], [1, 0]).dtype == jnp.float64
