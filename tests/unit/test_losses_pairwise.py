"""The pairwise losses, against arithmetic, a double loop, finite differences and rax."""

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

from replirank.losses.pairwise import (
    combine,
    cross_entropy,
    cross_entropy_ties,
    pair_cost,
    pair_fidelity,
    weighted_cross_entropy,
)

LOSSES = [cross_entropy, cross_entropy_ties]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@partial(jax.jit, static_argnames=("loss", "preferred"))  # so that a shape is compiled once
def value_and_slopes(loss, scores, labels, where, preferred):
    def total(scores):
        values = loss(scores, labels, where=where, preferred=preferred)
        return values.sum(), values

    (_, values), slopes = jax.value_and_grad(total, has_aux=True)(scores)
    return values, slopes


def both(loss, scores, labels, where=None, preferred=None):
    scores, labels = jnp.asarray(scores, dtype=float), jnp.asarray(labels, dtype=float)
    where = jnp.ones(labels.shape, dtype=bool) if where is None else jnp.asarray(where)
    return value_and_slopes(loss, scores, labels, where, preferred)


def value(loss, *query, **rest):
    return both(loss, *query, **rest)[0]


def gradient(loss, *query, **rest):
    return both(loss, *query, **rest)[1]


# The formulas of the papers, in Python's floats: the value and its slope in the margin.


def entropy_of(margin, target):
    return -target * margin + log(1 + exp(margin)), 1 / (1 + exp(-margin)) - target


def fidelity_of(margin, target):
    yes, no = 1 / (1 + exp(-margin)), 1 / (1 + exp(margin))
    slope = -sqrt(target * yes) * no / 2 + sqrt((1 - target) * no) * yes / 2
    return 1 - sqrt(target * yes) - sqrt((1 - target) * no), slope


def double_loop(loss, scores, labels, where):
    """The value and the gradient, pair by pair."""
    total, slopes = 0.0, [0.0] * len(scores)
    for i, j in itertools.permutations(range(len(scores)), 2):
        tie = loss is cross_entropy_ties and labels[i] == labels[j] and i < j
        if where[i] and where[j] and (labels[i] > labels[j] or tie):
            cost, slope = entropy_of(scores[i] - scores[j], 0.5 if tie else 1.0)
            total += cost
            slopes[i] += slope
            slopes[j] -= slope
    return total, slopes


# Eight documents, of which any may be masked: score, label, where.
queries = st.lists(st.tuples(st.floats(-9, 9, width=32), st.integers(0, 3), st.booleans()), min_size=8, max_size=8)


# One pair


@pytest.mark.parametrize("target", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize(("ours", "formula"), [(pair_cost, entropy_of), (pair_fidelity, fidelity_of)])
def test_pair_is_the_formula_of_the_paper(ours, formula, target):
    margins = [-5.0, -1.0, 0.0, 0.25, 3.0]
    with jax.enable_x64(True):
        values, slopes = jax.vmap(jax.value_and_grad(partial(ours, target=target)))(jnp.array(margins))
    expected = np.array([formula(margin, target) for margin in margins])
    assert_allclose(values, expected[:, 0], rtol=1e-12, atol=1e-15)
    assert_allclose(slopes, expected[:, 1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("target", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("of_pair", [pair_cost, pair_fidelity])
def test_turning_a_pair_round_changes_nothing(of_pair, target):
    margins = jnp.array([-1e4, -40.0, -2.0, 0.0, 0.5, 7.0, 1e4])
    assert_allclose(of_pair(margins, target), of_pair(-margins, 1 - target), rtol=1e-6)


def test_pair_cost_grows_like_the_margin_at_most():
    assert_array_equal(pair_cost(jnp.array([-1e4, 1e4]), 1.0), [1e4, 0])
    assert_array_equal(pair_cost(jnp.array([-1e4, 1e4]), 0.0), [0, 1e4])
    assert_array_equal(pair_cost(jnp.array([-1e4, 1e4]), 0.5), [5e3, 5e3])


def test_pair_fidelity_is_between_0_and_1():
    margins = jnp.array([-1e4, -50.0, -1.0, 0.0, 1.0, 50.0, 1e4])
    for target in (0.0, 0.5, 1.0):
        assert np.all((pair_fidelity(margins, target) >= 0) & (pair_fidelity(margins, target) <= 1))
    assert_array_equal(pair_fidelity(jnp.array([-1e4, 1e4]), 1.0), [1, 0])


@pytest.mark.parametrize("target", [0.1, 0.5, 0.8])
def test_each_target_is_where_its_pair_costs_least(target):
    """And the fidelity loss is 0 there, as the cross entropy is not (frank2007, section 3.2)."""
    with jax.enable_x64(True):
        best = jnp.array(log(target / (1 - target)))
        assert_allclose(jax.grad(pair_cost)(best, target), 0, atol=1e-15)
        assert_allclose(jax.grad(pair_fidelity)(best, target), 0, atol=1e-15)
        assert_allclose(pair_fidelity(best, target), 0, atol=1e-30)
        assert_allclose(pair_cost(best, target), -target * log(target) - (1 - target) * log(1 - target), rtol=1e-13)


@pytest.mark.parametrize("margin", [20.0, 30.0, 60.0])
def test_small_costs_keep_their_digits(margin):
    """In float32, of which 1 + e^-20 shows nothing: log(1 + e) is e, and 1 - 1/sqrt(1 + e) is e/2, to 1e-8 of it."""
    assert_allclose(pair_cost(jnp.array(margin), 1.0), exp(-margin), rtol=1e-5)
    assert_allclose(pair_cost(jnp.array(-margin), 0.0), exp(-margin), rtol=1e-5)
    assert_allclose(pair_fidelity(jnp.array(margin), 1.0), exp(-margin) / 2, rtol=1e-5)
    assert_allclose(jax.grad(pair_cost)(jnp.array(margin), 1.0), -exp(-margin), rtol=1e-5)
    assert_allclose(jax.grad(pair_fidelity)(jnp.array(margin), 1.0), -exp(-margin) / 2, rtol=1e-5)


@pytest.mark.parametrize("margin", [-1e4, -3.0, 0.0, 3.0, 1e4])
def test_second_derivative_of_a_pair(margin):
    """P (1 - P) for the cross entropy, at 0 as elsewhere."""
    with jax.enable_x64(True):
        yes = 1 / (1 + exp(-margin)) if margin > -100 else 0.0
        assert_allclose(jax.grad(jax.grad(pair_cost))(margin, 1.0), yes * (1 - yes), rtol=1e-12)
        # The slope of -sqrt(P) (1 - P) / 2, which is -sqrt(P) (1 - P) (1 - 3 P) / 4.
        assert_allclose(
            jax.grad(jax.grad(pair_fidelity))(margin, 1.0), -sqrt(yes) * (1 - yes) * (1 - 3 * yes) / 4, rtol=1e-10
        )


# Combining probabilities (ranknet2005, section 3.1). Away from 0 and 1 float64 has digits to spare: a probability in
# [.001, .999] has its log odds to 1000 eps, and sums of a few such to 1e-11.

probabilities = st.floats(0.001, 0.999)


def log_odds(p):
    return np.log(np.float64(p)) - np.log1p(-np.float64(p))


def test_combined_probability_in_closed_form():
    assert_allclose(combine(0.6, 0.7), 0.42 / (1 + 2 * 0.42 - 0.6 - 0.7), rtol=1e-12)  # Eq. 5 as printed


@settings(max_examples=30, deadline=None)
@given(probabilities, probabilities)
def test_combining_adds_log_odds(p, q):
    combined = combine(p, q)
    assert 0 < combined < 1
    # The log odds of a probability within 1e-6 of 0 or 1 are exact to 1e6 eps = 2e-10.
    assert_allclose(log_odds(combined), log_odds(p) + log_odds(q), rtol=0, atol=2e-9)


@settings(max_examples=30, deadline=None)
@given(probabilities, probabilities)
def test_order_does_not_matter_and_turning_round_is_consistent(p, q):
    assert combine(p, q) == combine(q, p)
    assert_allclose(combine(1 - p, 1 - q), 1 - combine(p, q), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_complete_uncertainty_and_certainty_propagate(p):
    assert combine(p, p) == p


@settings(max_examples=30, deadline=None)
@given(probabilities)
def test_even_odds_say_nothing(p):
    assert_allclose(combine(p, 0.5), p, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.501, 0.999), st.floats(0.501, 0.999))
def test_confidence_builds(p, q):
    assert combine(p, q) > max(p, q)
    assert combine(1 - p, 1 - q) < min(1 - p, 1 - q)


@settings(max_examples=30, deadline=None)
@given(probabilities, st.floats(0.001, 0.99), st.floats(0.001, 0.009))
def test_combining_is_monotone(p, q, more):
    assert combine(p, q + more) > combine(p, q)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_adjacency_posteriors_settle_every_pair_whatever_the_path(outputs):
    """The theorem: from those of neighbours, the posterior of any pair follows, and each way of combining gives it.

    Outputs in [-3, 3] keep every posterior within 1 / (1 + e^6) = .0025 of 0 and 1, and log odds exact to 1e-12.
    """
    posterior = {(i, j): 1 / (1 + exp(outputs[j] - outputs[i])) for i in range(4) for j in range(4)}
    a, b, c = posterior[0, 1], posterior[1, 2], posterior[2, 3]
    for found in (combine(combine(a, b), c), combine(a, combine(b, c)), combine(posterior[0, 2], c), posterior[0, 3]):
        assert_allclose(log_odds(found), outputs[0] - outputs[3], rtol=0, atol=1e-11)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("p", [0.3, 0.6])
def test_equal_adjacency_posteriors(p, steps):
    """P_i,i+n = D^n / (1 + D^n) with the odds ratio D."""
    combined = p
    for _ in range(steps - 1):
        combined = combine(combined, p)
    odds = (p / (1 - p)) ** steps
    assert_allclose(combined, odds / (1 + odds), rtol=1e-12)


def test_certainties_that_contradict_each_other_have_no_answer():
    assert np.isnan(combine(jnp.array(1.0), jnp.array(0.0)))


# Closed forms of a query


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
def test_cross_entropy_in_closed_form(scores, labels, expected):
    assert_allclose(value(cross_entropy, scores, labels), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([2, 1], [1, 1], -1 / 2 + log(1 + exp(1))),
        ([2, 1], [1, 0], log(1 + exp(-1))),
        ([0, 0, 0], [1, 0, 0], 3 * log(2)),
        ([3, 2, 0], [1, 0, 0], log(1 + exp(-1)) + log(1 + exp(-3)) + (-2 / 2 + log(1 + exp(2)))),
        ([3, 2, 0], [4, 4, 4], -1 / 2 + log(1 + exp(1)) - 3 / 2 + log(1 + exp(3)) - 2 / 2 + log(1 + exp(2))),
    ],
)
def test_cross_entropy_with_ties_in_closed_form(scores, labels, expected):
    assert_allclose(value(cross_entropy_ties, scores, labels), expected, rtol=1e-6)


def test_slope_of_one_pair_in_closed_form():
    yes, no = 1 / (1 + exp(-1)), 1 / (1 + exp(1))
    assert_allclose(gradient(cross_entropy, [2, 1], [1, 0]), [-no, no], rtol=1e-6)
    assert_allclose(gradient(cross_entropy_ties, [2, 1], [1, 1]), [yes - 1 / 2, 1 / 2 - yes], rtol=1e-6)


@every_loss
def test_only_the_order_of_labels_counts_not_their_distance(loss):
    assert value(loss, [0.3, -1, 2], [9, 0.5, -3]) == value(loss, [0.3, -1, 2], [2, 1, 0])


# Against other ways to compute it


@every_loss
@settings(max_examples=30, deadline=None)
@given(query=queries)
def test_is_the_double_loop(loss, query):
    with jax.enable_x64(True):
        scores, labels, where = map(list, zip(*query, strict=True))
        for ours, theirs in zip(
            both(loss, scores, labels, where), double_loop(loss, scores, labels, where), strict=True
        ):
            # 28 pairs whose costs and slopes are below 20, each exact to some eps = 2e-16 of that.
            assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_the_finite_difference(loss, seed):
    random = np.random.default_rng(seed)
    scores, labels, where = random.normal(size=8), random.integers(0, 3, 8), random.random(8) < 0.8
    step = 1e-5
    with jax.enable_x64(True):
        differences = [
            (value(loss, scores + step * e, labels, where) - value(loss, scores - step * e, labels, where)) / (2 * step)
            for e in np.eye(8)
        ]
        assert_allclose(gradient(loss, scores, labels, where), differences, rtol=0, atol=1e-8)


@every_loss
def test_forward_and_second_derivatives(loss):
    """The slopes are given in closed form: these too must be those of the loss, also where scores are equal."""
    with jax.enable_x64(True):
        scores, labels = jnp.array([0.5, -1.0, 2.0, 0.5]), jnp.array([2.0, 1.0, 0.0, 0.0])

        def total(scores):
            return loss(scores, labels, where=jnp.ones(4, dtype=bool))

        slopes_at = jax.jit(jax.grad(total))
        assert_allclose(jax.jit(jax.jacfwd(total))(scores), slopes_at(scores), rtol=0, atol=1e-14)
        step = 1e-5
        differences = [(slopes_at(scores + step * e) - slopes_at(scores - step * e)) / (2 * step) for e in np.eye(4)]
        assert_allclose(jax.jit(jax.hessian(total))(scores), differences, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_cross_entropy_agrees_with_rax(seed):
    """rax with reduce_fn=sum adds up the pairs as this does; its mean would divide by the number of such pairs."""
    random = np.random.default_rng(seed)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        scores, labels = jnp.asarray(random.normal(size=(4, 11))), jnp.asarray(random.integers(0, 3, (4, 11))) * 1.0
        where = jnp.asarray(random.random((4, 11)) < 0.7)

        def theirs(scores, reduce=jnp.sum):
            return rax.pairwise_logistic_loss(scores, labels, where=where, reduce_fn=reduce)

        total, slopes = jax.jit(jax.value_and_grad(theirs))(scores)
        values, our_slopes = value_and_slopes(cross_entropy, scores, labels, where, None)
        assert_allclose(values.sum(), total, rtol=1e-12)
        assert_allclose(our_slopes, slopes, rtol=0, atol=1e-12)
        pairs = (labels[:, :, None] > labels[:, None, :]) & where[:, :, None] & where[:, None, :]
        assert_allclose(theirs(scores, jnp.mean), values.sum() / pairs.sum(), rtol=1e-12)


@every_loss
def test_order_of_the_documents_does_not_matter(loss):
    random = np.random.default_rng(0)
    scores, labels, where = random.normal(size=8), random.integers(0, 3, 8), random.random(8) < 0.8
    order = random.permutation(8)
    with jax.enable_x64(True):
        total, slopes = both(loss, scores, labels, where)
        again, others = both(loss, scores[order], labels[order], where[order])
        assert_allclose(again, total, rtol=1e-13)
        assert_allclose(others, slopes[order], rtol=0, atol=1e-13)


# The ends of its range


def test_large_scores_keep_value_and_gradient_finite():
    assert value(cross_entropy, [1e4, -1e4], [1, 0]) == 0
    assert value(cross_entropy, [-1e4, 1e4], [1, 0]) == 2e4
    assert_array_equal(gradient(cross_entropy, [1e4, -1e4], [1, 0]), [0, 0])
    assert_array_equal(gradient(cross_entropy, [-1e4, 1e4], [1, 0]), [-1, 1])
    assert value(cross_entropy_ties, [-1e4, 1e4], [1, 1]) == 1e4
    assert_array_equal(gradient(cross_entropy_ties, [-1e4, 1e4], [1, 1]), [-1 / 2, 1 / 2])


@pytest.mark.parametrize("loss", [cross_entropy], ids=lambda loss: loss.__name__)
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


@pytest.mark.parametrize(("labels", "where"), [([1], [True]), ([1, 1], [True, False]), ([1, 1], [False, False])])
def test_one_document_is_no_tie(labels, where):
    assert value(cross_entropy_ties, [3.0] * len(labels), labels, where) == 0
    assert_array_equal(gradient(cross_entropy_ties, [3.0] * len(labels), labels, where), np.zeros(len(labels)))


@every_loss
@pytest.mark.parametrize("garbage", [nan, inf, -inf, 1e308, -7.0])
def test_whatever_is_masked_counts_for_nothing(loss, garbage):
    scores, labels, where = [0.5, 2, -1], [1, 0, 1], [True, True, True, False, False]
    with jax.enable_x64(True):
        expected, expected_slopes = both(loss, scores, labels)
        for score, label in itertools.product([0.0, garbage], repeat=2):
            total, slopes = both(loss, [*scores, score, score], [*labels, label, label], where)
            assert_allclose(total, expected, rtol=1e-13)
            assert_allclose(slopes[:3], expected_slopes, rtol=1e-13)
            assert_array_equal(slopes[3:], [0, 0])


# Only the rows of preferred documents


@every_loss
@settings(max_examples=30, deadline=None)
@given(query=queries, preferred=st.sampled_from([2, 5, 8]))
def test_preferred_changes_no_value_and_no_gradient(loss, query, preferred):
    """Where the promise holds: nobody from there on is better than anybody."""
    scores, labels, where = map(list, zip(*query, strict=True))
    labels = sorted(labels, reverse=True)[:preferred] + [0] * (8 - preferred)
    with jax.enable_x64(True):
        few, every = both(loss, scores, labels, where, preferred), both(loss, scores, labels, where)
        for ours, theirs in zip(few, every, strict=True):
            assert_allclose(ours, theirs, rtol=0, atol=1e-12)  # as for the double loop


@every_loss
def test_preferred_computes_only_those_rows(loss):
    """What the promise is for: a better document beyond it is not seen."""
    assert_allclose(value(loss, [0, 0, 0], [2, 1, 0], preferred=1), 2 * log(2), rtol=1e-6)


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
        mapped = jax.vmap(partial(value_and_slopes, loss, preferred=None))(*one)
        assert_allclose(mapped[0], together[0], rtol=1e-13)
        assert_allclose(mapped[1], slopes[0], rtol=0, atol=1e-13)


@every_loss
def test_keeps_the_precision_it_is_given(loss):
    assert value(loss, [2, 1], [1, 0]).dtype == jnp.float32
    with jax.enable_x64(True):
        assert value(loss, [2, 1], [1, 0]).dtype == jnp.float64


# Weights of pairs


@settings(deadline=None, max_examples=30)
@given(queries, st.integers(0, 2**31))
def test_each_pair_counts_by_its_weight(query, seed):
    """Against the double loop over pairs, the weights being between 0 and 2, some of them 0."""
    scores, labels, where = (list(column) for column in zip(*query, strict=True))
    weights = np.maximum(np.random.default_rng(seed).uniform(-0.5, 2, (8, 8)), 0)
    total, slopes = 0.0, np.zeros(8)
    for i, j in itertools.permutations(range(8), 2):
        if where[i] and where[j] and labels[i] > labels[j]:
            cost, slope = entropy_of(scores[i] - scores[j], 1.0)
            total += weights[i, j] * cost
            slopes[[i, j]] += weights[i, j] * slope * np.array([1, -1])
    with jax.enable_x64(True):
        arrays = jnp.asarray(scores, dtype=float), jnp.asarray(labels, dtype=float), jnp.asarray(weights)
        found, gradient = jax.value_and_grad(weighted_cross_entropy)(*arrays, where=jnp.asarray(where))
    assert_allclose(found, total, rtol=1e-12, atol=1e-12)
    assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-12)


def test_a_score_that_is_not_finite_is_not_hidden_by_a_weight_of_nothing():
    """What is not a number stops a training, as it should."""
    scores, labels = jnp.array([0.0, inf, 0.0]), jnp.array([0.0, 1.0, 2.0])
    assert np.isnan(weighted_cross_entropy(scores, labels, jnp.zeros((3, 3)), where=jnp.ones(3, dtype=bool)))
