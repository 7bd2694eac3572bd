"""The listwise losses, against arithmetic, finite differences, plain Python and rax."""

import itertools
from functools import partial
from math import exp, inf, log, nan, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rax
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.losses.listwise import cosine, listmle, listnet, squared, top_one_divergence

LOSSES = [listnet, top_one_divergence, listmle, cosine, squared]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@partial(jax.jit, static_argnames="loss")  # so that a shape is compiled once
def value_and_slopes(loss, scores, labels, where):
    def total(scores):
        values = loss(scores, labels, where=where)
        return values.sum(), values

    (_, values), slopes = jax.value_and_grad(total, has_aux=True)(scores)
    return values, slopes


def both(loss, scores, labels, where=None):
    scores, labels = jnp.asarray(scores, dtype=float), jnp.asarray(labels, dtype=float)
    where = jnp.ones(labels.shape, dtype=bool) if where is None else jnp.asarray(where)
    return value_and_slopes(loss, scores, labels, where)


def value(loss, *query):
    return both(loss, *query)[0]


def gradient(loss, *query):
    return both(loss, *query)[1]


# Eight documents, of which any may be masked: score, label, where. Scores by quarters, so that some are equal.
quarters = st.integers(-20, 20).map(lambda count: count / 4)
queries = st.lists(st.tuples(quarters, st.integers(0, 3), st.booleans()), min_size=8, max_size=8)


# Closed forms


@pytest.mark.parametrize(
    ("loss", "scores", "labels", "expected"),
    [
        (listnet, [0, 0], [1, 0], log(2)),
        (listnet, [0, 0, 0], [2, 1, 0], log(3)),
        (listnet, [2, 1], [1, 0], (exp(1) * log(1 + exp(-1)) + log(1 + exp(1))) / (exp(1) + 1)),
        (listnet, [1, 2], [1, 0], (exp(1) * log(1 + exp(1)) + log(1 + exp(-1))) / (exp(1) + 1)),
        (top_one_divergence, [7, 6], [1, 0], 0),
        (top_one_divergence, [0, 0], [log(3), 0], 3 / 4 * log(3 / 2) + 1 / 4 * log(1 / 2)),
        (top_one_divergence, [0, log(3)], [log(3), 0], 3 / 4 * log(3) - 1 / 4 * log(3)),
        (listmle, [0, 0, 0], [2, 1, 0], log(3) + log(2)),
        (listmle, [2, 1], [1, 0], log(1 + exp(-1))),
        (listmle, [3, 2, 0], [2, 1, 0], log(1 + exp(-1) + exp(-3)) + log(1 + exp(-2))),
        (listmle, [3, 2, 0], [0, 1, 2], log(1 + exp(3) + exp(2)) + log(1 + exp(1))),
        (listmle, [3, 2, 0], [1, 0, 0], log(1 + exp(-1) + exp(-3))),  # a tie at the bottom: no choice there
        (listmle, [3, 2, 0], [1, 1, 0], log(1 + exp(-3)) + log(1 + exp(-2))),  # a tie at the top: each before the last
        (cosine, [3, 4], [1, 0], (1 - 3 / 5) / 2),
        (cosine, [-3, 4], [1, 0], (1 + 3 / 5) / 2),
        (cosine, [2, 4], [1, 2], 0),
        (cosine, [-2, -4], [1, 2], 1),
        (cosine, [0, 0], [1, 2], 1 / 2),
        (cosine, [1, 2, 2], [2, 1, 0], (1 - (2 + 2) / (3 * sqrt(5))) / 2),
        (squared, [1, 2], [3, 1], 2**2 + 1**2),
        (squared, [0, 0, 0], [2, 1, 0], 2**2 + 1**2),
    ],
)
def test_closed_form(loss, scores, labels, expected):
    with jax.enable_x64(True):
        assert_allclose(value(loss, scores, labels), expected, rtol=1e-13, atol=1e-15)


def test_slope_in_closed_form():
    with jax.enable_x64(True):
        top, share = exp(1) / (exp(1) + 1), exp(3) / (exp(3) + 1)  # what the labels and the scores give the first
        assert_allclose(gradient(listnet, [3, 0], [1, 0]), [share - top, top - share], rtol=1e-12)
        assert_allclose(gradient(listmle, [3, 0], [1, 0]), [share - 1, 1 - share], rtol=1e-12)
        # -1/2 (label / |label| - cosine * score / |score|) / |score|
        slope = [-(1 - 3 / 5 * 3 / 5) / 5 / 2, (3 / 5 * 4 / 5) / 5 / 2]
        assert_allclose(gradient(cosine, [3, 4], [1, 0]), slope, rtol=1e-12)
        assert_allclose(gradient(squared, [1, 2], [3, 1]), [-4, 2], rtol=1e-12)


def test_cosine_can_begin_at_zero():
    """The slope is that of scores of length 1 which are orthogonal to the labels."""
    assert_allclose(gradient(cosine, [0, 0], [3, 4]), [-3 / 5 / 2, -4 / 5 / 2], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e3])
def test_cosine_has_no_scale(scale):
    scores, labels = np.array([0.5, -1, 2]), [2, 0, 1]
    with jax.enable_x64(True):
        assert_allclose(value(cosine, scale * scores, labels), value(cosine, scores, labels), rtol=1e-13)
        assert_allclose(np.dot(gradient(cosine, scores, labels), scores), 0, atol=1e-15)


@pytest.mark.parametrize("loss", [listnet, top_one_divergence, listmle], ids=lambda loss: loss.__name__)
def test_a_constant_on_all_scores_changes_nothing(loss):
    scores, labels = np.array([0.5, -1, 2, 0.5]), [2, 0, 1, 0]
    with jax.enable_x64(True):
        assert_allclose(value(loss, scores + 64, labels), value(loss, scores, labels), rtol=1e-12)
        assert_allclose(gradient(loss, scores + 64, labels), gradient(loss, scores, labels), rtol=0, atol=1e-12)


def test_listnet_is_least_where_scores_are_labels():
    with jax.enable_x64(True):
        assert_allclose(gradient(listnet, [2, 1, 0, 0], [2, 1, 0, 0]), np.zeros(4), atol=1e-15)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_top_one_divergence_is_listnet_less_its_least_value(alpha):
    scores, labels = np.random.default_rng(0).normal(size=6), np.array([2, 0, 1, 1, 0, 2])
    with jax.enable_x64(True):
        ours = both(partial(top_one_divergence, alpha=alpha), scores, labels)
        (loss, slopes), least = both(listnet, scores, alpha * labels), value(listnet, alpha * labels, alpha * labels)
        assert_allclose(ours[0], loss - least, rtol=0, atol=1e-12)
        assert_allclose(ours[1], slopes, rtol=0, atol=1e-12)


# Against other ways to compute it


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_the_finite_difference(loss, seed):
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=8), random.integers(0, 3, 8), random.random(8) < 0.8
    step = 1e-5

    def at(moved):
        return value(loss, moved, labels, where)

    with jax.enable_x64(True):
        differences = [(at(scores + step * e) - at(scores - step * e)) / (2 * step) for e in np.eye(8)]
        assert_allclose(gradient(loss, scores, labels, where), differences, rtol=0, atol=1e-8)


def in_float64(loss):
    """Theirs, which mixes types."""

    def value_and_slopes(scores, labels, where):
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            query = jnp.asarray(labels, dtype=float), jnp.asarray(where)
            run = jax.value_and_grad(lambda scores: loss(scores, query[0], where=query[1]))
            return jax.jit(run)(jnp.asarray(scores))

    return value_and_slopes


@pytest.mark.parametrize("seed", range(2))
def test_listnet_agrees_with_rax(seed):
    """rax takes the labels themselves as target probabilities."""
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=8), random.integers(0, 3, 8), random.random(8) < 0.8
    with jax.enable_x64(True):
        target = np.where(where, np.exp(labels), 0) / np.sum(np.exp(labels[where]))
        theirs = in_float64(rax.softmax_loss)(scores, target, where)
        for ours, other in zip(both(listnet, scores, labels, where), theirs, strict=True):
            assert_allclose(ours, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_listmle_without_ties_agrees_with_rax(seed):
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=8), random.permutation(8), random.random(8) < 0.8
    with jax.enable_x64(True):
        theirs = in_float64(partial(rax.listmle_loss, reduce_fn=jnp.sum))(scores, labels, where)
        for ours, other in zip(both(listmle, scores, labels, where), theirs, strict=True):
            assert_allclose(ours, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_squared_agrees_with_rax(seed):
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=8), random.integers(0, 3, 8), random.random(8) < 0.8
    with jax.enable_x64(True):
        theirs = in_float64(partial(rax.pointwise_mse_loss, reduce_fn=jnp.sum))(scores, labels, where)
        for ours, other in zip(both(squared, scores, labels, where), theirs, strict=True):
            assert_allclose(ours, other, rtol=0, atol=1e-12)


def listmle_in_python(scores, labels, where):
    """Each document's chance to be chosen before all of lower label, and its slopes."""
    total, slopes = 0.0, np.zeros(len(scores))
    for i in np.flatnonzero(where):
        lower = [j for j in np.flatnonzero(where) if labels[j] < labels[i]]
        weights = {j: exp(scores[j] - scores[i]) for j in lower}
        everything = 1 + sum(weights.values())
        total += log(everything)
        slopes[i] += 1 / everything - 1
        for j in lower:
            slopes[j] += weights[j] / everything
    return total, slopes


@settings(max_examples=30, deadline=None)
@given(queries)
def test_listmle_is_its_definition(query):
    scores, labels, where = map(np.array, zip(*query, strict=True))
    with jax.enable_x64(True):
        expected = listmle_in_python(scores, labels, where)
        for ours, theirs in zip(both(listmle, scores, labels, where), expected, strict=True):
            # Eight logarithms below 13 of sums of terms below e^10, each exact to some eps = 2e-16 of itself.
            assert_allclose(ours, theirs, rtol=0, atol=1e-12)


# What the descent on it does


@every_loss
@pytest.mark.parametrize("start", ["zero", "random"])
def test_descent_learns_the_order(loss, start):
    """Labels that are a linear function of the features: all pairs come out right, from zero weights too."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, (4, 8)).astype(np.float32)
    noise = random.normal(size=(4, 8, 2))
    turned, _ = np.linalg.qr(random.normal(size=(3, 3)))  # so that no feature is the label by itself
    features = jnp.asarray(np.concatenate([labels[..., None], noise], axis=-1) @ turned, dtype=jnp.float32)
    weights = jnp.asarray(0.01 * random.normal(size=3) * (start == "random"), dtype=jnp.float32)

    @jax.jit
    def descend(weights):
        def total(weights):
            return loss(features @ weights, jnp.asarray(labels), where=jnp.ones(labels.shape, dtype=bool)).sum()

        return jax.lax.fori_loop(0, 2000, lambda _, weights: weights - 0.005 * jax.grad(total)(weights), weights)

    scores = np.asarray(features @ descend(weights))
    better = labels[:, :, None] > labels[:, None, :]
    assert (scores[:, :, None] > scores[:, None, :])[better].all()


# The ends of its range


@every_loss
@pytest.mark.parametrize("scores", [[1e4, -1e4, 0, 1e4], [-1e4, 1e4, -1e4, 0], [1e4] * 4, [-1e4] * 4, [0] * 4])
def test_large_and_equal_scores_keep_value_and_gradient_finite(loss, scores):
    for labels, where in itertools.product([[2, 1, 0, 0], [0, 0, 0, 1], [3, 3, 3, 3]], [[True] * 4, [True, False] * 2]):
        total, slopes = both(loss, scores, labels, where)
        assert np.isfinite(total)
        assert np.isfinite(slopes).all()


def test_large_scores_in_closed_form():
    assert value(listnet, [-1e4, 1e4], [1, 0]) == pytest.approx(2e4 * exp(1) / (1 + exp(1)), rel=1e-6)
    assert value(listmle, [-1e4, 1e4], [1, 0]) == 2e4
    assert value(listmle, [1e4, -1e4], [1, 0]) == 0
    assert_array_equal(gradient(listmle, [-1e4, 1e4], [1, 0]), [-1, 1])
    assert value(cosine, [1e4, 0], [1, 0]) == 0
    assert value(squared, [1e4, 0], [1, 0]) == pytest.approx(9999**2, rel=1e-6)


@every_loss
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
def test_query_without_a_pair_is_exactly_nothing(loss, labels, where):
    scores = np.arange(len(labels)) * 3.0
    assert value(loss, scores, labels, where) == 0
    assert_array_equal(gradient(loss, scores, labels, where), np.zeros(len(labels)))


@every_loss
@pytest.mark.parametrize("garbage", [nan, inf, -inf, 1e308, -7.0])
def test_whatever_is_masked_counts_for_nothing(loss, garbage):
    scores, labels, where = [0.5, 2, -1], [1, 0, 2], [True, False, True, True, False]
    with jax.enable_x64(True):
        expected, expected_slopes = both(loss, scores, labels)
        for score, label in itertools.product([0.0, garbage], repeat=2):
            spread_scores, spread_labels = [0.5, score, 2, -1, score], [1, label, 0, 2, label]
            total, slopes = both(loss, spread_scores, spread_labels, where)
            assert_allclose(total, expected, rtol=1e-13)
            assert_allclose(slopes[np.array(where)], expected_slopes, rtol=0, atol=1e-13)
            assert_array_equal(slopes[~np.array(where)], [0, 0])


@every_loss
@settings(max_examples=30, deadline=None)
@given(query=queries, order=st.permutations(range(8)))
def test_order_of_the_documents_does_not_matter(loss, query, order):
    scores, labels, where = map(np.array, zip(*query, strict=True))
    order = np.array(order)
    with jax.enable_x64(True):
        total, slopes = both(loss, scores, labels, where)
        again, others = both(loss, scores[order], labels[order], where[order])
        # Values are below 8 x 8^2, exact to some eps = 2e-16 of that.
        assert_allclose(again, total, rtol=0, atol=1e-11)
        assert_allclose(others, slopes[order], rtol=0, atol=1e-11)


# Many queries at once


@every_loss
def test_leading_axes_are_queries(loss):
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(2, 3, 8)), random.integers(0, 3, (2, 3, 8))
    where = random.random((2, 3, 8)) < 0.8
    with jax.enable_x64(True):
        together, slopes = both(loss, scores, labels, where)
        assert together.shape == (2, 3)
        for place in np.ndindex(2, 3):
            total, of_query = both(loss, scores[place], labels[place], where[place])
            assert_allclose(together[place], total, rtol=1e-13)
            assert_allclose(slopes[place], of_query, rtol=0, atol=1e-13)
        one = jnp.asarray(scores[0]), jnp.asarray(labels[0], dtype=float), jnp.asarray(where[0])
        mapped = jax.vmap(partial(value_and_slopes, loss))(*one)
        assert_allclose(mapped[0], together[0], rtol=1e-13)
        assert_allclose(mapped[1], slopes[0], rtol=0, atol=1e-13)


@every_loss
def test_keeps_the_precision_it_is_given(loss):
    assert value(loss, [2, 1], [1, 0]).dtype == jnp.float32
    with jax.enable_x64(True):
        assert value(loss, [2, 1], [1, 0]).dtype == jnp.float64
