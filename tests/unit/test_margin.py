"""Large margins, against scipy, liblinear, a quadratic program over the pairs and arithmetic.

Two solutions of the same problem can be held to a bound that is not a matter of taste: the objective is curved at
least as ||w||^2 / 2 is, so that ||w - optimum||^2 / 2 is never above the gap between the objectives.
"""

import itertools
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from replirank.data.pairs import pairs_of
from replirank.engines.margin import Planes, maximise_margin, simplex_quadratic
from replirank.engines.pair_hinge import ListedPairHinge
from replirank.errors import ReplirankError

labels_of_queries = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=5)


def problem(seed=0, queries=4, documents=5, features=3, levels=3, noise=1.0):
    """A few queries whose labels the features explain in part."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(queries * documents, features))
    utility = x @ np.arange(1, features + 1) + noise * random.normal(size=len(x))
    labels = np.digitize(utility, np.quantile(utility, np.arange(1, levels) / levels)).astype(float)
    return ListedPairHinge(x, labels, np.arange(0, len(x) + 1, documents))


def one_pair(difference, queries=1):
    """Two documents that differ by `difference` in the first query; the other queries have one document each."""
    difference = np.asarray(difference, dtype=float)
    features = np.vstack([difference + 7, np.full((queries, len(difference)), 7.0)])
    labels = np.array([1] + [0] * queries)
    return ListedPairHinge(features, labels, np.array([0, *range(2, queries + 2)]))


def differences(risk):
    return risk.features[risk.better] - risk.features[risk.worse]


def objective(risk, w, C):
    return w @ w / 2 + C * sum(max(0.0, 1 - d @ w) for d in differences(risk)) / risk.queries


def solve(risk, C, planes=None, **rest):
    return maximise_margin(risk, C, planes or Planes(risk.features.shape[1]), **rest)


class Reference(NamedTuple):
    w: np.ndarray
    above: float  # its objective, and below it that of the dual problem: the optimum is between the two
    below: float


def over_pairs(risk, C):
    """By the dual problem, a multiplier for each pair: maximise sum a - |sum a_p d_p|^2 / 2, 0 <= a <= C / queries."""
    d = differences(risk)
    a = minimize(
        lambda a: (a @ d) @ (a @ d) / 2 - a.sum(),
        np.zeros(len(d)),
        jac=lambda a: d @ (a @ d) - 1,
        bounds=[(0, C / risk.queries)] * len(d),
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    ).x.clip(0, C / risk.queries)
    w = a @ d
    return Reference(w, above=objective(risk, w, C), below=a.sum() - w @ w / 2)


# The quadratic problem of the planes


def quadratic(seed, planes, features):
    """(gram, linear) of random planes, the first being R >= 0."""
    random = np.random.default_rng(seed)
    gradients = np.vstack([np.zeros(features), random.normal(size=(planes - 1, features))])
    return gradients @ gradients.T, np.append(0, random.normal(size=planes - 1))


def value(gram, linear, a):
    return linear @ a - a @ gram @ a / 2


def all_on_first(count, total):
    return total * np.eye(1, count)[0]


def assert_optimal(gram, linear, a, total, tolerance=1e-8):
    """Feasible, and no plane would gain by weight: all that have some share the largest slack (KKT)."""
    assert (a >= 0).all()
    assert_allclose(a.sum(), total, rtol=1e-10)
    slack = linear - gram @ a
    size = np.abs(linear).max() + np.abs(gram).max() * total
    assert_allclose(slack[a > 1e-9 * total], slack.max(), rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("total", [0.01, 1.0, 50.0])
@pytest.mark.parametrize(("planes", "features"), [(2, 1), (4, 6), (8, 3), (12, 2)])
def test_simplex_quadratic_is_scipys(planes, features, total):
    for seed in range(4):
        gram, linear = quadratic(seed, planes, features)
        a = simplex_quadratic(gram, linear, all_on_first(planes, total))
        found = minimize(
            lambda b, gram=gram, linear=linear: -value(gram, linear, total * b) / total,
            np.full(planes, 1 / planes),
            jac=lambda b, gram=gram, linear=linear: gram @ b * total - linear,
            bounds=[(0, 1)] * planes,
            constraints={"type": "eq", "fun": lambda b: b.sum() - 1, "jac": np.ones_like},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        assert found.success, found.message
        assert_allclose(value(gram, linear, a), value(gram, linear, total * found.x), rtol=1e-6, atol=1e-9 * total)
        assert_optimal(gram, linear, a, total)


@pytest.mark.parametrize("seed", range(20))
def test_simplex_quadratic_from_any_start_has_the_same_value(seed):
    gram, linear = quadratic(seed, 10, 4)
    starts = np.random.default_rng(seed).dirichlet(np.full(10, 0.3), size=5)
    reached = [simplex_quadratic(gram, linear, start) for start in starts]
    for a in reached:
        assert_optimal(gram, linear, a, 1.0)
    assert_allclose([value(gram, linear, a) for a in reached], value(gram, linear, reached[0]), rtol=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.floats(1e-3, 1e3))
def test_simplex_quadratic_of_small_whole_numbers(seed, planes, features, total):
    """Many planes alike, parallel or meeting in one point."""
    random = np.random.default_rng(seed)
    gradients = random.integers(-1, 2, (planes, features)).astype(float)
    linear = random.integers(-1, 2, planes).astype(float)
    gram = gradients @ gradients.T
    assert_optimal(gram, linear, simplex_quadratic(gram, linear, all_on_first(planes, total)), total)


def test_simplex_quadratic_of_two_planes_by_arithmetic():
    # b (2 - b / 2 * 4) - 0 over 0 <= b <= total is largest at b = 2 / 4.
    gram, linear = np.diag([0.0, 4.0]), np.array([0.0, 2.0])
    assert_allclose(simplex_quadratic(gram, linear, np.array([3.0, 0])), [3 - 2 / 4, 2 / 4], rtol=1e-9)
    assert_allclose(simplex_quadratic(gram, linear, np.array([0.1, 0])), [0, 0.1], atol=1e-12)


def test_simplex_quadratic_with_repeated_planes():
    gram, linear = quadratic(1, 6, 3)
    again = np.tile(np.arange(6), 4)
    a = simplex_quadratic(gram[np.ix_(again, again)], linear[again], all_on_first(24, 2.0))
    assert_optimal(gram[np.ix_(again, again)], linear[again], a, 2.0)
    once = simplex_quadratic(gram, linear, all_on_first(6, 2.0))
    assert_allclose(value(gram, linear, np.bincount(again, a)), value(gram, linear, once), rtol=1e-9)


def test_simplex_quadratic_of_a_zero_gram_takes_the_highest_plane():
    linear = np.array([0.0, 3, 1, 3, -2])
    a = simplex_quadratic(np.zeros((5, 5)), linear, all_on_first(5, 2.0))
    assert_allclose(linear @ a, 2.0 * 3, rtol=1e-12)
    assert_array_equal(a[[0, 2, 4]], 0)


def test_simplex_quadratic_of_one_plane_leaves_all_on_it():
    assert_allclose(simplex_quadratic(np.array([[5.0]]), np.array([-3.0]), np.array([0.7])), [0.7], rtol=1e-12)


def test_simplex_quadratic_leaves_its_arguments_alone():
    gram, linear = quadratic(0, 6, 3)
    given = gram.copy(), linear.copy(), all_on_first(6, 1.0)
    simplex_quadratic(*given)
    for after, before in zip(given, (gram, linear, all_on_first(6, 1.0)), strict=True):
        assert_array_equal(after, before)


# Pairs


@settings(max_examples=60, deadline=None)
@given(labels_of_queries)
def test_pairs_are_those_of_a_double_loop(queries):
    offsets = np.cumsum([0, *map(len, queries)])
    labels = np.concatenate(queries)
    expected = [
        (i, j)
        for first, last in itertools.pairwise(offsets)
        for i, j in itertools.permutations(range(first, last), 2)
        if labels[i] > labels[j]
    ]
    better, worse = pairs_of(labels, offsets)
    assert sorted(zip(better, worse, strict=True)) == sorted(expected)
    assert better.dtype == worse.dtype == np.int32


# The risk


@pytest.mark.parametrize("seed", range(5))
def test_risk_is_the_sum_over_pairs_by_query(seed):
    risk = problem(seed)
    w = np.random.default_rng(seed).normal(size=3)
    assert_allclose(risk.tangent(w)[0], (objective(risk, w, 1.0) - w @ w / 2), rtol=1e-12)


def test_risk_at_zero_is_the_number_of_pairs_by_query():
    risk = problem(queries=4)
    assert risk.tangent(np.zeros(3))[0] == len(risk.better) / 4


@pytest.mark.parametrize("whole", [False, True])
def test_tangent_never_lies_above_the_risk(whole):
    """With whole numbers many margins are exactly 1, where any slope between the two sides' would do."""
    random = np.random.default_rng(0)
    risk = problem(1)
    if whole:
        risk.features = np.round(risk.features)
    points = random.integers(-2, 3, (40, 3)).astype(float) if whole else random.normal(size=(40, 3))
    if whole:
        assert any((differences(risk) @ w == 1).any() for w in points)
    tangents = [risk.tangent(w) for w in points]
    for (height, gradient), w in zip(tangents, points, strict=True):
        for (there, _), v in zip(tangents, points, strict=True):
            assert there >= height + gradient @ (v - w) - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_tangent_is_the_finite_difference(seed):
    risk = problem(seed)
    w = np.random.default_rng(seed).normal(size=3)
    step = 1e-7
    slopes = [(risk.tangent(w + step * e)[0] - risk.tangent(w - step * e)[0]) / (2 * step) for e in np.eye(3)]
    assert_allclose(risk.tangent(w)[1], slopes, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_slope_along_a_direction_is_the_finite_difference(seed):
    risk = problem(seed)
    random = np.random.default_rng(seed)
    w, direction, step = random.normal(size=3), random.normal(size=3), 1e-7
    slope = risk.slope(w, direction)
    for t in (0.0, 0.3, 1.0, 4.0):
        ends = [risk.tangent(w + (t + s) * direction)[0] for s in (-step, step)]
        assert_allclose(slope(t), (ends[1] - ends[0]) / (2 * step), atol=1e-6)
        assert_allclose(slope(t), risk.tangent(w + t * direction)[1] @ direction, atol=1e-12)


# The margin


def test_planes_keep_their_products():
    planes, random = Planes(3), np.random.default_rng(0)
    points = random.normal(size=(4, 3))
    risk = problem()
    for w in points:
        planes.add(*risk.tangent(w), w)
    assert_array_equal(planes.gradients[0], 0)
    assert planes.offsets[0] == 0
    assert_allclose(planes.gram, planes.gradients @ planes.gradients.T, rtol=1e-12)
    for w, height in zip(points, (planes.offsets[1:] + (planes.gradients[1:] * points).sum(axis=1)), strict=True):
        assert_allclose(height, risk.tangent(w)[0], rtol=1e-12)


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_is_the_dual_problem_over_pairs(seed, C):
    risk = problem(seed, queries=3, documents=4)
    reference = over_pairs(risk, C)
    assert reference.above - reference.below <= 1e-5 * reference.above  # it is one
    found = solve(risk, C, gap=1e-7)
    assert reference.below <= found.objective * (1 + 1e-12)
    assert found.objective <= reference.above * (1 + 1e-7)
    from_optimum = sqrt(2 * 1e-7 * found.objective) + sqrt(2 * (reference.above - reference.below))
    assert np.linalg.norm(found.w - reference.w) <= from_optimum


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_is_liblinears(C):
    """liblinear minimises ||w||^2 / 2 + C' sum of hinges: C' is C over the number of queries.

    It wants two classes: every other pair is turned round, with its label.
    """
    risk = problem(5, queries=20, documents=8, features=6)
    signs = np.where(np.arange(len(risk.better)) % 2, 1, -1)
    machine = LinearSVC(C=C / 20, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6, random_state=0)
    exact = machine.fit(signs[:, None] * differences(risk), signs).coef_[0]
    optimum = objective(risk, exact, C)
    found = solve(risk, C, gap=1e-6)
    assert found.objective >= optimum * (1 - 1e-7)
    assert found.objective <= optimum * (1 + 1e-6)
    assert np.linalg.norm(found.w - exact) <= 2 * sqrt(2 * 1e-6 * optimum)


@pytest.mark.parametrize("gap", [0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_bounds_hold_the_optimum_between_them(C, gap):
    risk = problem(2, queries=3, documents=4)
    reference = over_pairs(risk, C)
    assert reference.above - reference.below <= 1e-5 * reference.above
    found = solve(risk, C, gap=gap)
    assert found.lower_bound <= reference.above * (1 + 1e-12)
    assert found.objective >= reference.below * (1 - 1e-12)
    assert found.objective - found.lower_bound <= gap * found.objective
    assert_allclose(found.objective, objective(risk, found.w, C), rtol=1e-12)


def test_a_path_of_C_may_share_its_planes():
    risk, planes, gap = problem(3, queries=10, documents=8, features=5), Planes(5), 1e-5
    rounds = []
    for C in (0.01, 0.1, 1.0, 10.0, 0.03):  # and back again
        shared, alone = solve(risk, C, planes, gap=gap), solve(risk, C, gap=gap)
        assert_allclose(shared.objective, alone.objective, rtol=gap)
        assert shared.lower_bound <= alone.objective * (1 + 1e-9)
        assert np.linalg.norm(shared.w - alone.w) <= 2 * sqrt(2 * gap * alone.objective)
        rounds.append((shared.rounds, alone.rounds))
    assert sum(shared for shared, _ in rounds) < sum(alone for _, alone in rounds)  # which is what it is for


@pytest.mark.parametrize(("C", "queries"), [(0.01, 1), (0.02, 3), (0.04, 1), (0.1, 1), (50.0, 7)])
def test_one_pair_by_arithmetic(C, queries):
    """w = a d, where a is 1 / |d|^2 (a margin of 1) or, if that is dearer, C / queries."""
    difference = np.array([3.0, 0.0, -4.0])
    found = solve(one_pair(difference, queries), C, gap=1e-9)
    multiplier = min(1 / (3**2 + 4**2), C / queries)
    assert_allclose(found.w, multiplier * difference, rtol=1e-4, atol=1e-12)
    assert_allclose(
        found.objective, 25 * multiplier**2 / 2 + C / queries * max(0, 1 - 25 * multiplier), rtol=1e-8, atol=1e-15
    )


def test_C_may_be_an_integer():
    risk = problem(3)
    assert_array_equal(solve(risk, 1).w, solve(risk, 1.0).w)


def test_separable_by_arithmetic():
    """Documents on a line at 0, 1 and 3: the nearest pair, 1 apart, has margin 1 when w = 1."""
    risk = ListedPairHinge(np.array([[0.0], [1], [3]]), np.array([0, 1, 2]), np.array([0, 3]))
    found = solve(risk, 1000.0, gap=1e-9)
    assert_allclose(found.w, [1], rtol=1e-6)
    assert_allclose(found.objective, 1 / 2, rtol=1e-6)


def test_conflicting_pairs_cancel():
    risk = ListedPairHinge(np.array([[1.0], [0], [0], [1]]), np.array([1, 0, 1, 0]), np.array([0, 2, 4]))
    found = solve(risk, 5.0, gap=1e-9)
    assert_allclose(found.w, [0], atol=1e-4)
    assert_allclose(found.objective, 5.0 * (1 + 1) / 2, rtol=1e-8)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [1, 1, 2, 2]])
def test_without_pairs_nothing_is_learned(labels):
    features = np.arange(8.0).reshape(4, 2)
    found = solve(ListedPairHinge(features, np.array(labels), np.array([0, 2, 4])), 10.0)
    assert_array_equal(found.w, [0, 0])
    assert found.objective == found.lower_bound == 0


def test_a_constant_feature_gets_no_weight():
    risk = problem(4)
    risk.features[:, 1] = 3.0
    found = solve(risk, 1.0, gap=1e-6)
    assert_allclose(found.w[1], 0, atol=1e-12)
    assert np.abs(found.w[[0, 2]]).min() > 0.1


def test_repeated_documents_and_features():
    """Half the tangents repeat each other, and the weight of a feature that is there twice is split evenly."""
    risk = problem(6)
    twice = ListedPairHinge(np.tile(risk.features, 2), np.zeros(len(risk.features)), np.array([0, len(risk.features)]))
    twice.better, twice.worse, twice.queries = risk.better, risk.worse, risk.queries
    found = solve(twice, 1.0, gap=1e-6)
    assert_allclose(found.w[:3], found.w[3:], rtol=1e-9)
    # w.x + w.x with weights w costs half of what (2w).x costs: C twice as large does the same.
    alone = solve(risk, 2.0, gap=1e-6)
    assert_allclose(2 * found.objective, alone.objective, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scale_of_the_features_only_scales_C(scale, seed):
    """With features s x and C / s^2 the solution is w / s."""
    risk, scaled = problem(seed), problem(seed)
    scaled.features *= scale
    w, there = solve(risk, 0.5, gap=1e-6), solve(scaled, 0.5 / scale**2, gap=1e-6)
    assert_allclose(there.objective * scale**2, w.objective, rtol=2e-6)
    assert_allclose(there.w * scale, w.w, atol=2 * sqrt(2e-6 * w.objective))


def test_too_few_rounds_say_so():
    with pytest.raises(ReplirankError, match="no margin found in 2 rounds for C = 10: objective") as caught:
        solve(problem(7, queries=20, features=9), 10.0, gap=1e-9, most_rounds=2)
    assert "C" in caught.value.remedy


def test_many_documents_in_one_query():
    """All pairs of 150 documents: their number, and the weights of a noiseless line."""
    count = 150
    x = np.linspace(0, 1, count)[:, None]
    risk = ListedPairHinge(x, np.arange(count), np.array([0, count]))
    assert len(risk.better) == count * (count - 1) // 2
    found = solve(risk, 1e6, gap=1e-6)
    # Every step of 1 / 149 gets a margin of 1.
    assert_allclose(found.w, [count - 1], rtol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_features_of_very_uneven_scale_are_no_obstacle(seed):
    """Seed 0 is a draw on which a larger ridge in the quadratic problem kept the bounds apart for ever."""
    random = np.random.default_rng([5, seed])
    features = random.normal(size=(7, 9)) * 10 ** random.uniform(-2, 4, size=9)
    risk = ListedPairHinge(features, random.integers(0, 3, 7).astype(float), np.array([0, 7]))
    margin = maximise_margin(risk, 800.0, Planes(9), gap=1e-3)
    assert margin.lower_bound <= margin.objective <= margin.lower_bound / (1 - 1e-3)
