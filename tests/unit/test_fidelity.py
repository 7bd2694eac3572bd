"""FRank's search, against a double loop over all candidates and all pairs that follows frank2007, Figure 2.

What spares most candidates the sum over pairs is a bound: that it holds, and what it rests on, is tested by itself.
"""

import itertools
from dataclasses import replace
from math import exp, log, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines import fidelity
from replirank.engines.boosting import Ended
from replirank.engines.fidelity import FidelityBooster, GroupShape, best_alpha, common_groups, lower_bound, make_groups
from replirank.engines.weak_learners import make_weak_learners
from replirank.methods.base import Task
from replirank.methods.frank import FRank

LIMIT = 2.0
LENGTHS = (9, 5, 12, 6, 8, 10, 5)
WITHOUT_PAIRS = 1  # the second query
SHAPES = (GroupShape(8, 2), GroupShape(12, 3))  # the same in most tests: each is compiled once


def problem(seed=0, noise=1.0, digits=None):
    """Labels 0, 1 and 2 that four features explain in part; with `digits`, these have many equal values.

    The query without pairs has features of the first, so that no two weak learners split all pairs alike.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(sum(LENGTHS), 4)).astype(np.float32)
    labels = np.digitize(x[:, 0] - x[:, 1] / 2 + noise * random.normal(size=len(x)), [-0.5, 0.7])
    second = slice(LENGTHS[0], LENGTHS[0] + LENGTHS[1])
    labels[second], x[second] = 1, x[: LENGTHS[1]]
    return ranking(x if digits is None else np.round(x, digits), labels, LENGTHS)


def same_feature(values):
    """Four times, since a number of features is a shape, too."""
    return np.asarray(values, dtype=np.float32)[:, None].repeat(4, axis=1)


def booster_of(data, shapes=SHAPES, limit=LIMIT, thresholds=255):
    return FidelityBooster(data, make_weak_learners(data, thresholds), shapes, limit=limit)


def with_scores(data, scores, **rest):
    """A booster that has come to these scores."""
    booster = booster_of(data, **rest)
    booster.scores = np.asarray(scores, dtype=np.float64)
    return booster


# The paper's formulas, in Python's floats


class Pair(NamedTuple):
    better: int
    worse: int
    D: float  # Eq. 1


class Candidate(NamedTuple):
    alpha: float
    loss: float


def pairs_of(data):
    found = []
    for rows in data:
        both = itertools.permutations(range(rows.start, rows.stop), 2)
        here = [(i, j) for i, j in both if data.labels[i] > data.labels[j]]
        found += [Pair(i, j, 1 / len(here)) for i, j in here]
    return found


def fidelity_of(margin):
    return 1 - sqrt(1 / (1 + exp(-margin)))


def weight_of(margin):
    """Eq. 4 with P* = 1, but for D."""
    return exp(margin) ** 0.5 / (1 + exp(margin)) ** 1.5


def eq3(pairs, steps, margins, limit):
    """Half the logarithm of W where h_i - h_j is 1 over W where it is -1."""
    favour = sum(pair.D * weight_of(m) for pair, t, m in zip(pairs, steps, margins, strict=True) if t == 1)
    against = sum(pair.D * weight_of(m) for pair, t, m in zip(pairs, steps, margins, strict=True) if t == -1)
    if not favour or not against:
        return limit if favour else -limit if against else 0.0
    return max(-limit, min(limit, log(favour / against) / 2))


def eq2(pairs, steps, margins, alpha):
    return sum(pair.D * fidelity_of(m + alpha * t) for pair, t, m in zip(pairs, steps, margins, strict=True))


def by_double_loop(data, thresholds, scores, limit=LIMIT):
    """Figure 2, (a): alpha and loss of every candidate, by (feature, threshold's number)."""
    pairs = pairs_of(data)
    margins = [scores[pair.better] - scores[pair.worse] for pair in pairs]
    found = {}
    for feature, row in enumerate(thresholds.tolist()):
        values = data.features[:, feature].tolist()
        for number, threshold in enumerate(row):
            h = [int(value > threshold) for value in values]
            steps = [h[pair.better] - h[pair.worse] for pair in pairs]
            alpha = eq3(pairs, steps, margins, limit)
            found[feature, number] = Candidate(alpha, eq2(pairs, steps, margins, alpha))
    return found


def queries_with_pairs(data):
    return sum(len(set(data.labels[rows])) > 1 for rows in data)


def after(data, thresholds, scores, place, alpha):
    """The scores with one more weak learner."""
    feature, number = place
    return [
        score + alpha * (value > thresholds[feature, number])
        for score, value in zip(scores, data.features[:, feature], strict=True)
    ]


# Round by round


@pytest.mark.parametrize(("seed", "limit"), [(0, 2.0), (1, 2.0), (2, 0.3)])
def test_each_round_is_that_of_figure_2(seed, limit):
    data = problem(seed)
    assert set(data.labels) == {0, 1, 2}
    assert queries_with_pairs(data) == len(LENGTHS) - 1
    booster = booster_of(data, limit=limit)
    thresholds, scores = booster.learners.thresholds, [0.0] * data.documents
    for _ in range(20):
        candidates = by_double_loop(data, thresholds, scores, limit)
        best, second = sorted(candidates, key=lambda place, candidates=candidates: candidates[place].loss)[:2]
        # Or which of the two is chosen would be a matter of rounding.
        assert candidates[second].loss - candidates[best].loss > 1e-8
        found = booster.choose()
        assert (found.feature, found.threshold) == best
        assert_allclose(found.alpha, candidates[best].alpha, rtol=0, atol=1e-9)
        assert_allclose(found.loss, candidates[best].loss / (len(LENGTHS) - 1), rtol=1e-9)
        scores = after(data, thresholds, scores, best, candidates[best].alpha)


@pytest.mark.parametrize("digits", [0, 1])
def test_each_round_of_heavily_repeated_values_has_the_least_loss(digits):
    """Several candidates may split the pairs alike: any of them will do."""
    data = problem(3, digits=digits)
    booster = booster_of(data)
    thresholds, scores = booster.learners.thresholds, [0.0] * data.documents
    for _ in range(20):
        candidates = by_double_loop(data, thresholds, scores)
        found = booster.choose()
        chosen = candidates[found.feature, found.threshold]
        assert_allclose(chosen.loss, min(candidate.loss for candidate in candidates.values()), rtol=1e-12)
        assert_allclose(found.alpha, chosen.alpha, rtol=0, atol=1e-9)
        assert_allclose(found.loss, chosen.loss / (len(LENGTHS) - 1), rtol=1e-9)
        scores = after(data, thresholds, scores, (found.feature, found.threshold), found.alpha)


def test_few_thresholds_are_as_good_as_the_loop_over_them():
    data = problem(4)
    booster = booster_of(data, thresholds=5)
    assert booster.learners.thresholds.shape == (4, 5)
    candidates = by_double_loop(data, booster.learners.thresholds, [0.0] * data.documents)
    found = booster.choose()
    assert_allclose(found.loss, min(c.loss for c in candidates.values()) / (len(LENGTHS) - 1), rtol=1e-9)


def test_frank_fits_the_same():
    """As a method, with validation that keeps the last round."""
    data, count = problem(), itertools.count()
    shared = FRank.share(data, plan=SHAPES)
    task = Task(data, data, seed=1, validate=lambda s: float(next(count)), report=lambda text: None, shared=shared)
    fit = FRank(rounds=8, thresholds=20, limit=0.7).fit(task)
    thresholds, scores = make_weak_learners(data, 20).thresholds, [0.0] * data.documents
    for number, row in enumerate(fit.history.itertuples()):
        candidates = by_double_loop(data, thresholds, scores, limit=0.7)
        best = min(candidates, key=lambda place, candidates=candidates: candidates[place].loss)
        assert_allclose(row.loss, candidates[best].loss / (len(LENGTHS) - 1), rtol=1e-9)
        assert_allclose(fit.model.alphas[number], candidates[best].alpha, rtol=0, atol=1e-9)
        scores = after(data, thresholds, scores, best, candidates[best].alpha)
    assert_allclose(fit.model.score(data), scores, rtol=1e-9, atol=1e-9)


def test_frank_plans_its_shapes():
    data = [problem(0), problem(1)]
    assert FRank.plan(iter(data)) == common_groups(data)
    assert FRank.share(data[0], FRank.plan(data)) == common_groups(data)
    assert FRank.share(data[0]) == common_groups(data[:1])


@pytest.mark.parametrize("seed", range(3))
def test_most_candidates_are_spared_the_sum_over_pairs(seed, monkeypatch):
    booster, tried = booster_of(problem(seed)), []
    changes = booster.changes

    def counted(scores, alphas, places):
        tried.append(len(places))
        return changes(scores, alphas, places)

    monkeypatch.setattr(booster, "changes", counted)
    for _ in range(20):
        booster.choose()
    assert sum(tried) < 20 * booster.learners.thresholds.size / 5


# By arithmetic


def test_queries_have_the_same_say_by_arithmetic():
    """Three queries have one pair in favour of the feature, the fourth has four pairs against it."""
    lengths = [2, 2, 2, 4]
    data = ranking(same_feature([1, 0] * 3 + [0, 1, 0, 1]), [1, 0] * 3 + [1, 0, 1, 0], lengths)
    booster = booster_of(data)
    found = booster.choose()
    assert_allclose(found.alpha, log(3 / 1) / 2, rtol=1e-12)
    assert_allclose(found.loss, (3 * fidelity_of(log(3) / 2) + fidelity_of(-log(3) / 2)) / 4, rtol=1e-12)


def test_a_query_for_and_a_query_against_are_even():
    data = ranking(same_feature([1, 0, 0, 1, 0, 1]), [1, 0, 1, 0, 1, 0], [2, 4])
    assert booster_of(data).choose() == Ended(f"no weak learner lowers the fidelity loss of {1 - sqrt(1 / 2):.6g}")


def test_documents_that_come_twice_leave_their_query_its_say():
    """Each pair comes four times and weighs a quarter, and there are no new pairs, since copies have the same label.

    Thresholds are of distinct values. So all sums are the same, but for the order of adding.
    """
    data, twice = problem(), 3
    rows = [np.repeat(np.arange(r.start, r.stop), 2 if q == twice else 1) for q, r in enumerate(data)]
    order = np.concatenate(rows)
    doubled = ranking(data.features[order], data.labels[order], [len(each) for each in rows])
    assert len(pairs_of(doubled)) == len(pairs_of(data)) + 3 * sum(
        data.query_of[p.better] == twice for p in pairs_of(data)
    )
    one, other = booster_of(data), booster_of(doubled)
    for _ in range(12):
        found, expected = other.choose(), one.choose()
        assert (found.feature, found.threshold) == (expected.feature, expected.threshold)
        assert_allclose(found.alpha, expected.alpha, rtol=1e-9)
        assert_allclose(found.loss, expected.loss, rtol=1e-9)


def test_a_feature_that_is_better_when_low_has_a_negative_alpha():
    data = problem(noise=0.3)
    data = replace(data, features=same_feature(-data.features[:, 0]))
    found = booster_of(data).choose()
    candidates = by_double_loop(data, make_weak_learners(data, 255).thresholds, [0.0] * data.documents)
    best = min(candidates.values(), key=lambda candidate: candidate.loss)
    assert found.alpha < -0.2
    assert_allclose(found.alpha, best.alpha, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("values", "alpha"), [([1, 0], 0.7), ([0, 1], -0.7)])
def test_where_no_pair_speaks_against_alpha_is_the_limit(values, alpha):
    data = ranking(same_feature(values), [1, 0])
    found = booster_of(data, limit=0.7).choose()
    assert_allclose(found.alpha, alpha, rtol=1e-12)
    assert_allclose(found.loss, fidelity_of(0.7), rtol=1e-12)


# The end


def losses_until_it_ends(booster, most):
    losses = []
    for _ in range(most):
        found = booster.choose()
        if isinstance(found, Ended):
            return losses, found
        losses.append(found.loss)
    return losses, None


def test_the_loss_falls_in_every_round():
    losses, _ = losses_until_it_ends(booster_of(problem(noise=2.0)), 80)
    assert len(losses) == 80
    assert losses[0] < 1 - sqrt(1 / 2)
    assert (np.diff(losses) < 0).all()


def test_what_can_be_learned_by_heart_ends_with_next_to_no_loss():
    data = problem()
    data = replace(data, features=same_feature(data.labels))
    losses, ended = losses_until_it_ends(booster_of(data), 100)
    assert ended.why.startswith("no weak learner lowers the fidelity loss of ")
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < 1e-10


def test_constant_features_end_it_at_once():
    data = problem()
    booster = booster_of(replace(data, features=np.full_like(data.features, 0.7)))
    assert booster.choose() == Ended(f"no weak learner lowers the fidelity loss of {1 - sqrt(1 / 2):.6g}")


def test_features_that_are_the_same_within_a_query_end_it_at_once():
    data = problem()
    booster = booster_of(replace(data, features=same_feature(data.query_of)))
    assert booster.choose() == Ended(f"no weak learner lowers the fidelity loss of {1 - sqrt(1 / 2):.6g}")


@pytest.mark.parametrize(("levels", "values"), [(2, 2), (2, 5), (3, 4)])
def test_features_that_speak_for_both_sides_alike_end_it_at_once(levels, values):
    """Each label has each value once: for every pair there is one that says the opposite. Alpha is 0 but for rounding.

    A coefficient of 1e-16 would lower no loss, but it would rank.
    """
    data = ranking(same_feature(np.tile(np.arange(values), levels)), np.repeat(np.arange(levels), values))
    assert isinstance(booster_of(data).choose(), Ended)


@pytest.mark.parametrize("shapes", [SHAPES, ()])
def test_without_pairs_it_says_so(shapes):
    data = ranking(np.random.default_rng(0).normal(size=(9, 4)), [0] * 4 + [2] * 5, [4, 5])
    assert common_groups([data]) == ()
    assert booster_of(data, shapes=shapes).choose() == Ended("no query has two different labels")


# The bound


def with_digits(margin):
    """F = 1 - sqrt(P), P = 1 / (1 + e^-m), written so that its slopes keep their digits."""
    return 1 - jnp.exp(-jax.nn.softplus(-margin) / 2)


def slopes(order, margins):
    """F's derivative of this order, by jax."""
    f = with_digits
    for _ in range(order):
        f = jax.grad(f)
    return np.asarray(jax.jit(jax.vmap(f))(jnp.asarray(margins)))


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("x64")
def test_derivatives_are_those_of_one_minus_the_root_of_a_sigmoid():
    margins = np.linspace(-40, 40, 321)
    found = fidelity._derivatives(jnp.asarray(margins))
    plain = jax.jit(jax.vmap(jax.grad(lambda m: 1 - jnp.sqrt(jax.nn.sigmoid(m)))))(jnp.asarray(margins))
    assert_allclose(slopes(1, margins), plain, rtol=1e-10, atol=1e-15)  # which is what it is said to be
    for order in (1, 2, 3):
        assert_allclose(found[order - 1], -slopes(order, margins), rtol=1e-9, atol=1e-15)
    assert_allclose(found[3], 1 - np.sqrt(1 / (1 + np.exp(-margins))), rtol=1e-9, atol=1e-15)


@pytest.mark.usefixtures("x64")
def test_derivatives_of_hopeless_and_of_settled_pairs_are_nothing():
    """exp(800) is infinite."""
    first, second, third, value = map(np.asarray, fidelity._derivatives(jnp.array([-800.0, 800.0])))
    assert_allclose([first, second, third], np.zeros((3, 2)), atol=1e-100)
    assert_array_equal(value, [1, 0])


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("margin", [25.0, 40.0, 300.0])
def test_derivatives_of_large_margins_keep_their_digits(margin):
    """1 - P is e^-m / (1 + e^-m) there; taken as a difference, it is rounding, and from 37 on nothing."""
    first, second, third, value = map(float, fidelity._derivatives(jnp.asarray(margin)))
    assert_allclose([first, -second, third], np.full(3, exp(-margin) / 2), rtol=1e-8)
    assert_allclose(value, exp(-margin) / 2, rtol=1e-8)


@pytest.mark.usefixtures("x64")
def test_what_the_bound_rests_on():
    """-F' = f; the logarithm of f has slopes between -1 and 1/2, and |F''''| <= f."""
    margins = np.linspace(-40, 40, 321)
    f, slope, fourth = -slopes(1, margins), -slopes(2, margins), slopes(4, margins)
    assert (f > 0).all()
    ratio = slope / f
    assert ratio.min() >= -1 - 1e-12
    assert ratio.max() <= 1 / 2 + 1e-12
    assert_allclose([ratio[0], ratio[-1]], [1 / 2, -1], rtol=1e-12)  # both are reached
    assert (np.abs(fourth) <= f * (1 + 1e-12)).all()
    assert_allclose(np.abs(fourth[-1]) / f[-1], 1, rtol=1e-9)


class Pairs(NamedTuple):
    """Of many candidates: (candidates, pairs)."""

    D: np.ndarray
    margins: np.ndarray
    t: np.ndarray  # h_i - h_j

    def sums(self):
        """What `lower_bound` takes after alpha."""
        first, second, third, _ = map(np.asarray, fidelity._derivatives(jnp.asarray(self.margins)))
        terms = first * self.t, first * abs(self.t), second * abs(self.t), third * self.t
        return [np.sum(self.D * term, axis=1) for term in terms]

    def change(self, alpha):
        """Of the loss, pair by pair, of F with its digits."""
        before, then = (
            -np.expm1(-np.logaddexp(0, -m) / 2) for m in (self.margins, self.margins + alpha[:, None] * self.t)
        )
        return np.sum(self.D * (then - before), axis=1)

    def eq3(self):
        return best_alpha(*self.sums()[:2], LIMIT)


def random_pairs(candidates, seed=0, count=150):
    """Pairs that are undecided, hopeless or settled, of which half, most, few or all speak for the candidate."""
    random = np.random.default_rng(seed)
    size = candidates, count

    def each(choices):
        return random.choice(choices, (candidates, 1))

    margins = each([0.1, 1, 4, 20]) * random.normal(size=size) + each([0, 3, -3])
    t = np.where(random.random(size) < each([0.5, 0.5, 0.8, 0.1, 1.0]), 1.0, -1.0) * (random.random(size) < 0.7)
    return Pairs(random.random(size) * (random.random(size) < each([0.03, 1.0])), margins, t)


@pytest.mark.usefixtures("x64")
def test_the_bound_is_never_above_the_change():
    """Of any alpha, not only that of Eq. 3. Those are 16,000 candidates."""
    random = np.random.default_rng(0)
    pairs = random_pairs(1000)
    sums, zeros = pairs.sums(), np.zeros(1000)
    alphas = [pairs.eq3(), zeros + LIMIT, zeros - LIMIT, zeros]
    alphas += [
        random.uniform(-size, size, 1000) for size in (LIMIT, LIMIT, LIMIT, LIMIT, 1, 1, 0.3, 0.3, 0.1, 0.1, 6, 6)
    ]
    for alpha in alphas:
        assert (lower_bound(alpha, *sums) <= pairs.change(alpha) + 1e-15).all()


@pytest.mark.usefixtures("x64")
def test_the_bound_is_tight_for_a_small_alpha():
    """The change is at least alpha^2 a1 / 2, of which the remainder, twice alpha^4 / 24 e^|alpha| a1, is under 1%."""
    pairs = random_pairs(2000)
    alpha = pairs.eq3()
    bound, change = lower_bound(alpha, *pairs.sums()), pairs.change(alpha)
    small = (abs(alpha) > 1e-3) & (abs(alpha) <= 0.2)
    assert small.sum() > 200
    assert (change[small] < 0).all()
    assert (bound[small] >= 1.01 * change[small]).all()


@pytest.mark.usefixtures("x64")
def test_the_bound_is_tight_where_all_pairs_are_hopeless():
    """Far below a margin of 0, f grows by e^(u/2), whatever alpha is: 2 f (e^(alpha / 2) - 1) is gained."""
    alpha = np.array([2.0, -2.0, 1.0])
    pairs = Pairs(np.full((3, 5), 0.2), np.tile(np.linspace(-30, -20, 5), (3, 1)), np.sign(alpha)[:, None] * np.ones(5))
    assert_allclose(lower_bound(alpha, *pairs.sums()), pairs.change(alpha), rtol=1e-6)


@pytest.mark.parametrize("limit", [0.5, 2.0, 30.0])
def test_best_alpha_is_half_the_logarithm(limit):
    random = np.random.default_rng(0)
    favour, against = np.exp(random.uniform(-6, 6, (2, 50, 3)))
    expected = np.clip(np.log(favour / against) / 2, -limit, limit)
    assert_allclose(best_alpha(favour - against, favour + against, limit), expected, rtol=1e-6, atol=1e-12)


def test_best_alpha_of_one_side_is_the_limit_and_of_none_is_0():
    favour, against = np.array([2.0, 0.0, 0.0, 1e-300]), np.array([0.0, 3.0, 0.0, 0.0])
    found = best_alpha(favour - against, favour + against, LIMIT)
    assert_array_equal(found, [LIMIT, -LIMIT, 0, LIMIT])


@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
def test_of_every_candidate_alpha_bound_and_change_are_those_of_the_double_loop(spread):
    """Whatever the scores have come to."""
    data = problem(5)
    scores = spread * np.random.default_rng(0).normal(size=data.documents)
    booster = with_scores(data, scores)
    candidates = by_double_loop(data, booster.learners.thresholds, scores.tolist())
    pairs = pairs_of(data)
    loss = sum(pair.D * fidelity_of(scores[pair.better] - scores[pair.worse]) for pair in pairs)
    places = np.arange(booster.learners.thresholds.size).reshape(-1, 4)
    with jax.enable_x64(True):
        grouped = booster.grouped_scores()
        alphas, bounds, value = booster.bounds(grouped)
        changes = np.concatenate([booster.changes(grouped, alphas, tried) for tried in places])
    assert_allclose(value, loss, rtol=1e-12)
    expected = np.array(list(candidates.values())).reshape(*alphas.shape, 2)
    assert_allclose(alphas, expected[..., 0], rtol=0, atol=1e-9)
    assert_allclose(changes.reshape(alphas.shape), expected[..., 1] - loss, rtol=0, atol=1e-11)
    assert (bounds <= expected[..., 1] - loss + 1e-12).all()


# Groups


def rows_in(groups):
    """The row numbers of each query of these calls that has a weight."""
    for group in groups:
        for documents, labels, weight in zip(group.documents, group.labels, group.weight, strict=True):
            if weight:
                yield documents[np.isfinite(labels)]


@pytest.mark.parametrize(
    "shapes",
    [SHAPES, (GroupShape(12, 100),), (GroupShape(50, 1),), (GroupShape(5, 1), GroupShape(6, 1), GroupShape(12, 2))],
)
def test_every_query_with_pairs_is_in_one_group_once(shapes):
    data = problem()
    learners = make_weak_learners(data, 9)
    groups = make_groups(data, learners.bins, shapes)
    expected = [list(range(r.start, r.stop)) for q, r in enumerate(data) if q != WITHOUT_PAIRS]
    assert sorted(sorted(rows.tolist()) for rows in rows_in(groups)) == expected
    counts = {pair.better: pair.D for pair in pairs_of(data)}
    for group in groups:
        queries, length = group.documents.shape
        assert (length, queries) in shapes
        assert group.labels.shape == (queries, length)
        assert_array_equal(group.bins, learners.bins[group.documents])
        for labels, documents, better, weight in zip(
            group.labels, group.documents, group.better, group.weight, strict=True
        ):
            here = np.isfinite(labels)
            if not weight:  # a call that is not full
                assert not here.any()
                assert better == 0
                continue
            assert_array_equal(labels[here], data.labels[documents[here]])
            assert (np.diff(labels[here]) <= 0).all()
            assert better == sum(label > labels[here][-1] for label in labels[here])
            assert weight == counts[documents[0]]
            # The shortest shape that it fits into.
            assert length == min(shape.length for shape in shapes if shape.length >= here.sum())


@pytest.mark.parametrize("shapes", [(GroupShape(16, 7),), (GroupShape(12, 1),)])
def test_padding_does_not_count(shapes):
    """Longer lists, calls that are not full, and one query at a time."""
    data = problem()
    one, other = booster_of(data), booster_of(data, shapes=shapes)
    for _ in range(6):
        found, expected = other.choose(), one.choose()
        assert (found.feature, found.threshold) == (expected.feature, expected.threshold)
        assert_allclose(found.alpha, expected.alpha, rtol=1e-10)
        assert_allclose(found.loss, expected.loss, rtol=1e-12)


def test_the_document_that_padding_points_to_does_not_count():
    """Padding has the features and the score of the first document, however large."""
    data = problem()
    scores = np.zeros(data.documents)
    scores[0] = 1000.0  # of the first query; exp(1000) is infinite
    booster = with_scores(data, scores, shapes=(GroupShape(16, 7),))
    with jax.enable_x64(True):
        _, _, loss = booster.bounds(booster.grouped_scores())
    margins = [(pair.D, scores[pair.better] - scores[pair.worse]) for pair in pairs_of(data)]
    expected = sum(D * (fidelity_of(m) if abs(m) < 1000 else float(m < 0)) for D, m in margins)
    assert_allclose(loss, expected, rtol=1e-12)
    found = booster.choose()
    assert np.isfinite([found.alpha, found.loss]).all()


def folds(count=3, features=2):
    """Training sets with lists of many lengths."""
    random = np.random.default_rng(0)
    for _ in range(count):
        lengths = random.integers(1, 70, 40)
        documents = lengths.sum()
        yield ranking(random.normal(size=(documents, features)), random.integers(0, 3, documents), lengths)


@pytest.mark.parametrize("cells", [fidelity.CELLS_PER_CALL, 300])
def test_common_groups_hold_all_training_sets(cells, monkeypatch):
    monkeypatch.setattr(fidelity, "CELLS_PER_CALL", cells)
    shapes = common_groups(folds())
    assert len(shapes) <= fidelity.MOST_GROUPS
    assert list(shapes) == sorted(shapes)
    calls = {length: 0 for length, _ in shapes}
    for data in folds():
        groups = make_groups(data, make_weak_learners(data, 5).bins, shapes)
        assert len(list(rows_in(groups))) == queries_with_pairs(data)
        for length in calls:
            calls[length] = max(calls[length], sum(group.documents.shape[1] == length for group in groups))
    for length, queries in shapes:
        assert queries == 1 or queries * length * 2 <= cells
    if cells == 300:
        assert max(calls.values()) > 1
    else:
        assert set(calls.values()) == {1}  # there is room for all at once
