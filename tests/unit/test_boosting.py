"""Boosting: rounds, curves and what is kept, of a booster that follows a script; and RankBoost, against plain loops.

The loops have Freund et al. (2003): all candidates, all pairs, one after the other, in Python's floats.
"""

import itertools
from dataclasses import replace
from math import exp, log, log2
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import ranking
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.data.pairs import pair_counts
from replirank.engines.boosting import Choice, Curves, Ended, boost
from replirank.engines.levels import Levels
from replirank.engines.weak_learners import make_weak_learners
from replirank.methods.base import Task
from replirank.methods.rankboost import ExponentialBooster, RankBoost
from replirank.models.linear import Linear
from replirank.models.stumps import Stumps


def problem(seed=0, lengths=(9, 5, 12, 2, 7, 4), features=3, noise=1.0):
    """Labels 0, 1 and 2 that the features explain in part.

    The second query has no pair. It has features of the first, so that no two weak learners split all pairs alike.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(sum(lengths), features)).astype(np.float32)
    labels = np.digitize(x[:, 0] - x[:, -1] / 2 + noise * random.normal(size=len(x)), [-0.5, 0.7])
    second = slice(lengths[0], lengths[0] + lengths[1])
    labels[second], x[second] = 1, x[: lengths[1]]
    return ranking(x, labels, lengths)


def task(train, vali=None, validate=lambda scores: 0.0, report=lambda text: None):
    return Task(train=train, vali=train if vali is None else vali, seed=1, validate=validate, report=report)


def steadily_better():
    """A validation that keeps the last round."""
    count = itertools.count()
    return lambda scores: float(next(count))


class Scripted:
    """A booster that chooses what it was told. Whoever asks once more fails."""

    def __init__(self, *script):
        self.script = iter(script)

    def choose(self):
        return next(self.script)


def some_choices(learners, count, seed=0):
    """Random ones."""
    random = np.random.default_rng(seed)
    numbers = [np.flatnonzero(np.isfinite(row)) for row in learners.thresholds]
    return [
        Choice(feature, int(random.choice(numbers[feature])), float(random.normal()), loss=1 / (1 + number))
        for number, feature in enumerate(random.integers(0, len(numbers), count).tolist())
    ]


def scores_of(data, learners, choices):
    """What these come to, document by document."""
    return [
        sum(c.alpha for c in choices if row[c.feature] > learners.thresholds[c.feature, c.threshold])
        for row in data.features
    ]


def ndcg10(data, scores):
    """The mean over all queries; ties stand in file order, a query without relevant documents has 0."""

    def gain(labels):
        return sum((2**label - 1) / log2(1 + rank) for rank, label in enumerate(labels[:10], 1))

    values = []
    for rows in data:
        labels, here = data.labels[rows].tolist(), scores[rows]
        ranked = [labels[i] for i in sorted(range(len(labels)), key=lambda i, here=here: -here[i])]
        best = gain(sorted(labels, reverse=True))
        values.append(gain(ranked) / best if best else 0.0)
    return sum(values) / len(values)


# Rounds and curves


@pytest.mark.parametrize(
    ("values", "kept"), [([0.1, 0.3, 0.2], 2), ([0.1, 0.2, 0.2], 2), ([0.3, 0.1, 0.3], 1), ([-3.0, -2.0, -1.0], 3)]
)
def test_keeps_the_best_validating_round_the_first_of_equals(values, kept):
    data, script = problem(), iter(values)
    learners = make_weak_learners(data, 255)
    choices = some_choices(learners, 3)
    fit = boost(Scripted(*choices), learners, task(data, validate=lambda scores: next(script)), rounds=3)
    assert_allclose(fit.model.score(data), scores_of(data, learners, choices[:kept]), rtol=1e-14, atol=1e-15)
    assert len(fit.model.alphas) == kept
    assert list(fit.history["validation"]) == values


def test_a_row_of_history_for_each_round():
    train, vali = problem(0), problem(1, lengths=(13, 6, 8))
    learners = make_weak_learners(train, 20)
    choices = some_choices(learners, 8)
    chooses = {}

    def validate(scores):
        chooses[len(chooses)] = scores.copy()
        return float(scores[3] - scores[0])

    history = boost(Scripted(*choices), learners, task(train, vali, validate), rounds=8).history
    assert list(history.columns) == ["round", "loss", "training_ndcg", "validation"]
    assert list(history["round"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert list(history["loss"]) == [choice.loss for choice in choices]
    for row in history.itertuples():
        on_train, on_vali = (scores_of(data, learners, choices[: row.round]) for data in (train, vali))
        assert_allclose(chooses[row.Index], on_vali, rtol=1e-13, atol=1e-14)
        assert_allclose(row.training_ndcg, ndcg10(train, on_train), rtol=1e-12)
        assert_allclose(row.validation, on_vali[3] - on_vali[0], rtol=1e-12, atol=1e-13)
    assert history["training_ndcg"].nunique() > 4  # so that a round is not another's


def test_the_kept_model_scores_validation_as_it_was_scored_in_training():
    """To the last bit: what was chosen by is what comes out."""
    train, vali = problem(0), problem(1, lengths=(40, 30, 20))
    learners = make_weak_learners(train, 7)
    for kept in (1, 17, 40):
        seen = []

        def validate(scores, seen=seen, kept=kept):
            seen.append(scores.tobytes())
            return float(len(seen) == kept)

        fit = boost(Scripted(*some_choices(learners, 40)), learners, task(train, vali, validate), rounds=40)
        assert fit.model.score(vali).tobytes() == seen[kept - 1]
        assert len(set(seen)) > 30  # hardly two rounds are alike


def test_rounds_are_at_most_so_many():
    data = problem()
    learners = make_weak_learners(data, 255)
    booster = Scripted(*some_choices(learners, 5))
    assert len(boost(booster, learners, task(data), rounds=3).history) == 3
    assert len(list(booster.script)) == 2


def test_every_tenth_round_and_the_last_are_reported():
    data, said = problem(), []
    learners = make_weak_learners(data, 255)
    work = task(data, validate=lambda scores: 0.25, report=said.append)
    boost(Scripted(*some_choices(learners, 23)), learners, work, rounds=23)
    assert said == [f"round {n}/23, loss {1 / n:.6g}, validation 0.2500" for n in (10, 20, 23)]


def test_an_end_is_reported_with_its_reason_and_stops():
    data, said = problem(), []
    learners = make_weak_learners(data, 255)
    booster = Scripted(*some_choices(learners, 4), Ended("nothing is left"))
    fit = boost(booster, learners, task(data, validate=steadily_better(), report=said.append), rounds=300)
    assert list(fit.history["round"]) == [1, 2, 3, 4]
    assert len(fit.model.alphas) == 4
    assert said == ["ended after round 4: nothing is left"]


def test_an_end_before_the_first_round_leaves_a_model_that_scores_0():
    train, vali, said, seen = problem(0), problem(1, lengths=(13, 6, 8)), [], []

    def validate(scores):
        seen.append(scores)
        return 0.4

    learners = make_weak_learners(train, 255)
    work = task(train, vali, validate, report=said.append)
    fit = boost(Scripted(Ended("there was nothing")), learners, work, rounds=300)
    assert said == ["ended after round 0: there was nothing"]
    for data in (train, vali):
        assert_array_equal(fit.model.score(data), np.zeros(data.documents))
    assert fit.history.to_dict("records") == [
        {
            "round": 0,
            "loss": 0.0,
            "training_ndcg": pytest.approx(ndcg10(train, [0.0] * train.documents), rel=1e-12),  # in file order
            "validation": 0.4,
        }
    ]
    assert_array_equal(seen, [np.zeros(vali.documents)])


def test_curves_are_of_any_model():
    """As AdaRank has them: the number of the best round, from 1, and 0 where there was none."""
    data, values = problem(), iter([0.2, 0.5, 0.4, 0.5])
    work = task(data, validate=lambda scores: next(values))
    curves = Curves(work, rounds=3)
    for n in (1, 2, 3):
        curves.add(10.0 / n, n * data.labels.astype(float), -data.labels.astype(float))
    fit = curves.fit(lambda best: Linear(np.array([best])))
    assert_array_equal(fit.model.weights, [2])
    assert list(fit.history["loss"]) == [10, 5, 10 / 3]
    without_relevant = np.mean([data.labels[rows].max() == 0 for rows in data])
    assert_allclose(fit.history["training_ndcg"], 1 - without_relevant, rtol=1e-12)
    assert_array_equal(Curves(work, rounds=3).fit(lambda best: Linear(np.array([best]))).model.weights, [0])


# Pairs


def pairs_of(data):
    """(better, worse) of every pair with different labels."""
    return [
        (i, j)
        for rows in data
        for i, j in itertools.permutations(range(rows.start, rows.stop), 2)
        if data.labels[i] > data.labels[j]
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([-1, 0, 0.5, 2]), min_size=1, max_size=8), min_size=1, max_size=5))
def test_pair_counts_are_those_of_a_double_loop(queries):
    data = ranking(np.zeros((sum(map(len, queries)), 1)), np.concatenate(queries), [len(query) for query in queries])
    of_query = [int(data.query_of[i]) for i, _ in pairs_of(data)]
    assert_array_equal(pair_counts(data), [of_query.count(q) for q in range(len(queries))])


# Stumps


def test_stumps_by_arithmetic():
    model = Stumps(
        features=np.array([0, 1, 0]),
        thresholds=np.array([0.5, 2.0, -1.0], dtype=np.float32),
        alphas=np.array([1.0, -0.25, 3.0]),
    )
    x = [[0.6, 3], [0.5, 2], [-1, 2.5], [-1.5, 9], [7, -4]]
    # On a threshold is not above it.
    assert_array_equal(model.score(ranking(x, np.zeros(5))), [1 - 0.25 + 3, 3, -0.25, -0.25, 1 + 3])


def test_stumps_compare_in_float32():
    """0.1 in float32 is above 0.1: a value is on its threshold only as long as both are of the same kind."""
    model = Stumps(np.array([0]), np.array([0.1], dtype=np.float32), np.array([1.0]))
    assert_array_equal(model.score(ranking([[0.1], [np.nextafter(np.float32(0.1), np.float32(1))]], [0, 0])), [0, 1])


def test_no_stumps_score_0():
    model = Stumps(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32), np.zeros(0))
    assert_array_equal(model.score(problem()), np.zeros(39))


# RankBoost, round by round


def freund(data, thresholds, rounds):
    """(feature, threshold's number, alpha, loss) of each round, and by how much the choice was clear."""
    pairs = pairs_of(data)
    outputs = {
        (feature, number): [1.0 if x > threshold else 0.0 for x in data.features[:, feature].tolist()]
        for feature, row in enumerate(thresholds.tolist())
        for number, threshold in enumerate(row)
    }
    scores = [0.0] * data.documents
    for _ in range(rounds):
        weights = [exp(scores[j] - scores[i]) for i, j in pairs]
        total = sum(weights)
        r = {
            candidate: sum(w / total * (h[i] - h[j]) for w, (i, j) in zip(weights, pairs, strict=True))
            for candidate, h in outputs.items()
        }
        second, best = sorted(r, key=lambda candidate: abs(r[candidate]))[-2:]
        alpha = log((1 + r[best]) / (1 - r[best])) / 2
        scores = [score + alpha * h for score, h in zip(scores, outputs[best], strict=True)]
        loss = sum(exp(scores[j] - scores[i]) for i, j in pairs) / len(pairs)
        yield SimpleNamespace(choice=Choice(*best, alpha, loss), clear=abs(r[best]) - abs(r[second]))


@pytest.mark.parametrize(("seed", "thresholds"), [(5, 255), (8, 255), (10, 255), (2, 6)])
def test_rankboost_is_freunds_double_loop(seed, thresholds):
    data = problem(seed)
    assert pair_counts(data)[1] == 0
    assert set(data.labels) == {0, 1, 2}
    learners = make_weak_learners(data, thresholds)
    booster = ExponentialBooster(data, learners)
    for expected, clear in ((found.choice, found.clear) for found in freund(data, learners.thresholds, rounds=20)):
        assert clear > 1e-6  # or which of the two is chosen would be a matter of rounding
        found = booster.choose()
        assert (found.feature, found.threshold) == (expected.feature, expected.threshold)
        assert_allclose(found.alpha, expected.alpha, rtol=0, atol=1e-9)
        assert_allclose(found.loss, expected.loss, rtol=1e-9)


def test_rankboost_fits_the_same():
    data = problem(5)
    fit = RankBoost(rounds=12).fit(task(data, validate=steadily_better()))
    thresholds = make_weak_learners(data, 255).thresholds
    expected = [found.choice for found in freund(data, thresholds, rounds=12)]
    assert_array_equal(fit.model.features, [choice.feature for choice in expected])
    assert_array_equal(fit.model.thresholds, [thresholds[choice.feature, choice.threshold] for choice in expected])
    assert_allclose(fit.model.alphas, [choice.alpha for choice in expected], rtol=0, atol=1e-9)
    assert_allclose(fit.history["loss"], [choice.loss for choice in expected], rtol=1e-9)


def test_rankboost_keeps_to_its_number_of_thresholds():
    fit = RankBoost(rounds=30, thresholds=1).fit(task(problem(), validate=steadily_better()))
    assert_array_equal(fit.model.thresholds, problem().features.min(axis=0)[fit.model.features])


def test_rankboost_lowers_its_loss_in_every_round():
    losses = RankBoost(rounds=150).fit(task(problem(noise=2.0))).history["loss"]
    assert losses[0] < 1
    assert (np.diff(losses) < 0).all()


def test_rankboost_finds_a_feature_that_is_better_when_low():
    data = problem(noise=0.0, features=1)
    data = replace(data, features=-data.features)
    choice = ExponentialBooster(data, make_weak_learners(data, 255)).choose()
    assert choice.alpha < 0
    assert choice.loss < 1


# RankBoost where the formula ends


def test_rankboost_where_all_pairs_agree():
    """4 pairs; as if one more did not: r = 1 - 1/5, alpha = ln(9) / 2, and each round has a third of the loss."""
    data, said = ranking([[1], [0], [0], [1]], [1, 0, 0, 1]), []
    fit = RankBoost(rounds=300).fit(task(data, validate=steadily_better(), report=said.append))
    losses = fit.history["loss"].to_numpy()
    assert_allclose(fit.model.alphas, np.full(26, log(9) / 2), rtol=1e-12)  # 3^-25 > 1e-12 > 3^-26
    assert_allclose(losses, 3.0 ** -np.arange(1, 27), rtol=1e-3)
    assert_allclose(fit.model.score(data), [26 * log(9) / 2, 0, 0, 26 * log(9) / 2], rtol=1e-12)
    assert said[-1] == "ended after round 26: no pair is left to be ordered"


def test_rankboost_where_all_pairs_agree_that_low_is_good():
    data = ranking([[0], [1], [1], [0]], [1, 0, 0, 1])
    assert_allclose(ExponentialBooster(data, make_weak_learners(data, 255)).choose().alpha, -log(9) / 2, rtol=1e-12)


def test_rankboost_ends_where_no_weak_learner_has_a_side():
    said = []
    fit = RankBoost(rounds=300).fit(task(ranking(np.full((4, 2), 0.3), [0, 1, 2, 1]), report=said.append))
    assert said == ["ended after round 0: no weak learner has more weight on one side than on the other"]
    assert list(fit.history["round"]) == [0]


def test_rankboost_ends_where_features_speak_for_both_sides_alike():
    """Each label has each of five values once: for every pair there is one that says the opposite."""
    said = []
    data = ranking(np.tile(np.arange(5), 3)[:, None], np.repeat([0, 1, 2], 5))
    RankBoost(rounds=300).fit(task(data, report=said.append))
    assert said == ["ended after round 0: no weak learner has more weight on one side than on the other"]


def test_rankboost_ends_without_pairs():
    said = []
    fit = RankBoost(rounds=300).fit(task(ranking(np.arange(4)[:, None], [1, 1, 0, 0], [2, 2]), report=said.append))
    assert said == ["ended after round 0: no query has two different labels"]
    assert_array_equal(fit.model.score(problem(features=1)), np.zeros(39))


# RankBoost's weights of pairs, as potentials of documents


def potentials_by_loop(data, scores):
    """(potential of each document, mean weight of the pairs)"""
    found, pairs = np.zeros(data.documents), pairs_of(data)
    for i, j in pairs:
        weight = exp(scores[j] - scores[i])
        found[i] += weight
        found[j] -= weight
    return found, sum(exp(scores[j] - scores[i]) for i, j in pairs) / len(pairs)


def with_scores(data, scores):
    """A booster that has come to these scores."""
    booster = ExponentialBooster(data, make_weak_learners(data, 255))
    booster.scores = np.asarray(scores, dtype=np.float64)
    booster.potentials, booster.loss = booster.weights.weigh(booster.scores)
    return booster


@pytest.mark.parametrize("seed", range(5))
def test_potentials_are_those_of_a_double_loop(seed):
    data = problem(seed)
    scores = 2 * np.random.default_rng(seed).normal(size=data.documents)
    booster = with_scores(data, scores)
    potentials, loss = potentials_by_loop(data, scores)
    assert_allclose(booster.potentials, potentials, rtol=1e-9, atol=1e-9)
    assert_allclose(booster.loss, loss, rtol=1e-12)


def test_a_query_that_is_far_off_changes_nothing():
    """Only differences within a query count. Scores are multiples of 1/8, so that the sums are exact."""
    data = problem()
    scores = np.random.default_rng(0).integers(-16, 17, data.documents) / 8
    far = scores + np.array([1e6, -1e6, 3e5, -2e4, 700, -5000])[data.query_of]
    near, other = with_scores(data, scores), with_scores(data, far)
    assert_allclose(other.potentials, near.potentials, rtol=1e-12, atol=1e-12)
    assert_allclose(other.loss, near.loss, rtol=1e-12)


@pytest.mark.parametrize("spread", [300.0, -300.0])
def test_large_scores_do_not_overflow(spread):
    """Labels 0 and 1 are 600 apart, in the right order or in the wrong one: a weight of e^-600 or e^600."""
    data = ranking(np.arange(6)[:, None], [1, 0, 1, 0, 0, 1], [4, 2])
    booster = with_scores(data, np.where(data.labels == 1, spread, -spread))
    assert np.isfinite(booster.potentials).all()
    if spread > 0:
        assert booster.loss < 1e-12
        assert booster.choose() == Ended("no pair is left to be ordered")
    else:
        assert_allclose(log(booster.loss), 600, rtol=1e-9)
        # Alike, the five pairs have r = -2/5 at the first step of the feature: two against, none in favour.
        choice = booster.choose()
        assert_allclose(choice.alpha, log((1 - 2 / 5) / (1 + 2 / 5)) / 2, rtol=1e-9)
        assert np.isfinite(choice.loss)


@pytest.mark.parametrize("high", [20.0, 40.0, 80.0])
def test_a_document_far_above_leaves_the_weights_of_others_of_its_label_alone(high):
    """Labels 1, 1, 0 with scores high, 0 and -1: the second pair has weight e^-1, however high the first stands."""
    data = ranking(np.arange(3)[:, None], [1, 1, 0])
    booster = with_scores(data, [high, 0.0, -1.0])
    assert_allclose(booster.potentials, [exp(-1 - high), exp(-1), -exp(-1) - exp(-1 - high)], rtol=1e-9, atol=1e-12)
    assert_allclose(booster.loss, (exp(-1) + exp(-1 - high)) / 2, rtol=1e-9)


@pytest.mark.parametrize("low", [-20.0, -40.0, -80.0])
def test_a_document_far_below_leaves_the_weights_of_others_of_its_label_alone(low):
    data = ranking(np.arange(3)[:, None], [1, 0, 0])
    booster = with_scores(data, [1.0, 0.0, low])
    assert_allclose(booster.potentials, [exp(-1) + exp(low - 1), -exp(-1), -exp(low - 1)], rtol=1e-9, atol=1e-12)


def test_rankboost_is_freunds_to_the_last_of_300_rounds():
    """Of data that it learns by heart: scores of a query come to be 60 apart, and every pair still has its weight."""
    data = problem(3, lengths=(9, 5, 7, 12, 10), features=4, noise=0.3)
    better, worse = np.array(pairs_of(data)).T
    learners = make_weak_learners(data, 255)
    h = (data.features[:, :, None] > learners.thresholds).astype(float)
    booster, scores = ExponentialBooster(data, learners), np.zeros(data.documents)
    for _ in range(300):
        weights = np.exp(scores[worse] - scores[better])
        r = np.tensordot(weights / weights.sum(), h[better] - h[worse], axes=1)
        choice = booster.choose()
        of_choice = r[choice.feature, choice.threshold]
        assert_allclose(abs(of_choice), np.abs(r).max(), rtol=0, atol=1e-9)
        assert_allclose(choice.alpha, log((1 + of_choice) / (1 - of_choice)) / 2, rtol=0, atol=1e-9)
        scores += choice.alpha * h[:, choice.feature, choice.threshold]
        assert_allclose(choice.loss, np.exp(scores[worse] - scores[better]).mean(), rtol=1e-9)
    assert max(np.ptp(scores[rows]) for rows in data) > 60
    assert choice.loss > 1e-11


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_lower_and_higher_labels_are_a_double_loop(seed):
    data = problem(seed)
    levels, weights = Levels(data), np.random.default_rng(seed).random(data.documents)
    below, above = np.zeros((2, data.documents))
    for i, j in pairs_of(data):
        below[i] += weights[j]
        above[j] += weights[i]
    assert_allclose(levels.below(weights), below, rtol=0, atol=1e-13)
    assert_allclose(levels.above(weights), above, rtol=0, atol=1e-13)
    middle = [(weights[rows].min() + weights[rows].max()) / 2 for rows in data]
    assert_allclose(levels.middle(weights), middle, rtol=1e-14)
