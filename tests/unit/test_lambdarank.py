"""LambdaRank's weights and slopes, against NDCG itself, arithmetic and a double loop."""

import itertools
from dataclasses import replace
from math import exp, log, log2

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ranking
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.losses.lambdarank import DEPTH, current_discounts, lambdarank, ndcg_changes
from replirank.methods.base import Task
from replirank.methods.lambdarank import LambdaRank
from replirank.methods.lambdarank_linear import LambdaRankLinear
from replirank.metrics.per_query import Judge


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.enable_x64(True):
        yield


def arrays(scores, labels, where=None):
    where = np.ones(len(labels), dtype=bool) if where is None else where
    return jnp.asarray(scores, dtype=float), jnp.asarray(labels, dtype=float), {"where": jnp.asarray(where)}


def ndcg(scores, labels):
    """NDCG@10 as the metrics have it (burges: gain 2^label - 1, discount log2(1 + rank))."""
    return Judge(np.asarray(labels), np.array([0, len(labels)]), f"burges.ndcg@{DEPTH}")(np.asarray(scores))[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("documents", [2, 7, 10, 25])
def test_a_weight_is_what_swapping_the_two_does_to_ndcg(seed, documents):
    random = np.random.default_rng(seed)
    scores, labels = random.permutation(documents) / 3, random.integers(0, 4, documents)
    labels[0] = 3  # something is relevant
    scores_, labels_, rest = arrays(scores, labels)
    changes = np.asarray(ndcg_changes(scores_, labels_, **rest))
    for i, j in itertools.combinations(range(documents), 2):
        swapped = scores.copy()
        swapped[[i, j]] = scores[[j, i]]
        assert_allclose(changes[i, j], abs(ndcg(swapped, labels) - ndcg(scores, labels)), atol=1e-12)
    assert_array_equal(changes, changes.T)


def test_two_documents_by_arithmetic():
    """The relevant one is second: |1 - 0| |1 / log2(3) - 1 / log2(2)| / 1, times log(1 + e^1)."""
    scores, labels, rest = arrays([0, 1], [1, 0])
    assert_allclose(lambdarank(scores, labels, **rest), (1 - 1 / log2(3)) * log(1 + exp(1)))


def test_the_gradient_is_the_sum_of_lambdas():
    """Of each pair: -|change| / (1 + e^(s_i - s_j)) for the better document, the opposite for the other."""
    random = np.random.default_rng(3)
    scores, labels, rest = arrays(random.normal(size=12), random.integers(0, 3, 12))
    changes, expected = np.asarray(ndcg_changes(scores, labels, **rest)), np.zeros(12)
    for i, j in itertools.permutations(range(12), 2):
        if labels[i] > labels[j]:
            lambda_ij = -changes[i, j] / (1 + exp(scores[i] - scores[j]))
            expected[i] += lambda_ij
            expected[j] -= lambda_ij
    assert_allclose(jax.grad(lambdarank)(scores, labels, **rest), expected, rtol=1e-12, atol=1e-14)


def test_the_gradient_by_finite_differences_while_no_rank_changes():
    """The weights are constants to the gradient, and constant where a step is too small to change the order."""
    random = np.random.default_rng(4)
    scores, labels, rest = arrays(random.permutation(9).astype(float), random.integers(0, 3, 9))
    gradient = jax.grad(lambdarank)(scores, labels, **rest)
    for place, step in enumerate(1e-5 * np.eye(9)):
        above, below = (lambdarank(scores + sign * step, labels, **rest) for sign in (1, -1))
        assert_allclose(gradient[place], (above - below) / 2e-5, rtol=1e-6, atol=1e-9)


def test_scores_that_are_all_equal_still_teach():
    """The relevant documents are taken to be last, and share their ranks' discounts."""
    scores, labels, rest = arrays([0, 0, 0, 0], [1, 0, 1, 0])
    first, last = (1 + 1 / log2(3)) / 2, (1 / log2(4) + 1 / log2(5)) / 2
    assert_allclose(current_discounts(scores, labels, **rest), [last, first, last, first])
    assert_array_equal(np.sign(jax.grad(lambdarank)(scores, labels, **rest)), [-1, 1, -1, 1])


# Of two lengths only: JAX compiles anew for each.
queries = st.sampled_from([2, 11]).flatmap(
    lambda n: st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=n, max_size=n)
)


@settings(deadline=None, max_examples=25)
@given(queries, st.integers(0, 2**31), st.sampled_from([0, 3]))
def test_neither_the_order_of_documents_nor_padding_changes_anything(query, seed, padding):
    """Many equal scores and labels. Padding has scores and labels of its own, which must not be seen."""
    scores, labels = np.array(query, dtype=float).T
    order = np.random.default_rng(seed).permutation(len(scores))
    where = np.arange(len(scores) + padding) < len(scores)
    padded = [np.append(values[order], 9.0 * np.ones(padding)) for values in (scores, labels)]
    plain, moved = arrays(scores, labels), arrays(*padded, where)
    (value, slopes), (other, others) = (
        jax.value_and_grad(lambdarank)(scores, labels, **rest) for scores, labels, rest in (plain, moved)
    )
    assert_allclose(other, value, rtol=1e-12, atol=1e-14)
    assert_allclose(others[: len(scores)], slopes[order], rtol=1e-12, atol=1e-14)
    assert_array_equal(others[len(scores) :], 0)


def test_preferred_leaves_out_rows_that_are_never_better():
    labels = np.array([2, 1, 0, 0, 0.0])
    scores, labels, rest = arrays([0.3, 1, -1, 2, 0], labels)
    assert_allclose(lambdarank(scores, labels, preferred=2, **rest), lambdarank(scores, labels, **rest), rtol=1e-12)


def test_a_query_without_relevant_documents_or_pairs_is_nothing():
    for labels in ([0, 0, 0], [2, 2, 2]):
        scores, labels, rest = arrays([1, 2, 3], labels)
        value, slopes = jax.value_and_grad(lambdarank)(scores, labels, **rest)
        assert value == 0
        assert_array_equal(slopes, 0)


@pytest.mark.parametrize("method", [LambdaRankLinear, LambdaRank])
def test_it_learns_what_ndcg_asks_for(method):
    """Feature 0 finds the best document of each query, feature 1 orders the many others: NDCG@10 wants the former."""
    random = np.random.default_rng(0)
    labels = np.tile([3, *[1] * 10, *[0] * 10], 30)
    best, some = (labels == 3).astype(float), (labels == 1).astype(float)
    features = np.stack([best + 0.3 * random.normal(size=len(labels)), some - best], axis=1)
    data = ranking(features, labels, lengths=[21] * 30)

    judge = Judge(data.labels, data.offsets, "burges.ndcg@10")

    def validate(scores):
        return float(np.mean(judge(scores)))

    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        task = Task(data, data, 1, validate, report=lambda text: None)
        task = replace(task, shared=method.share(data, method.plan([data])))
        fit = method(learning_rate=0.01, epochs=40).fit(task)
    # By feature 0 alone the best document is first but for noise; by feature 1 it is last.
    alone = [validate(data.features[:, column].astype(float)) for column in (0, 1)]
    assert validate(fit.model.score(data)) > max(alone)


def test_strict_orders_of_long_lists_do_not_overflow():
    """In float32, where 2^1800 is infinite: only the best few documents have a gain, and these are moved."""
    labels = np.random.default_rng(0).permutation(1800)
    with jax.enable_x64(False):
        scores = jnp.asarray(np.random.default_rng(1).normal(size=1800), dtype=jnp.float32)
        where = jnp.ones(1800, dtype=bool)
        value, slopes = jax.value_and_grad(lambdarank)(scores, jnp.asarray(labels, dtype=jnp.float32), where=where)
    assert 0 < value < np.inf
    assert np.isfinite(slopes).all()
    assert slopes[labels.argmax()] == slopes.min() < 0


def test_scaled_gains_are_the_gains():
    """The weights do not depend on a shift of scale: NDCG's gains are over the best, whatever the highest label."""
    scores, labels, rest = arrays([0.0, 2.0, 1.0], [1, 0, 2])
    best = (2**2 - 1) * 1 + (2**1 - 1) / log2(3)
    expected = abs((2**1 - 1) - 0) * abs(1 / log2(4) - 1) / best  # the first is third, the second is first
    assert_allclose(ndcg_changes(scores, labels, **rest)[0, 1], expected, rtol=1e-12)
