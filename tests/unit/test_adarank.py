"""AdaRank, round by round, against a plain loop over queries and features with metrics of its own."""

import itertools
from dataclasses import replace
from math import exp, log, log2

import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines.boosting import Ended
from replirank.methods.adarank_map import AdaRankMAP
from replirank.methods.adarank_map_once import AdaRankMAPOnce
from replirank.methods.adarank_ndcg import AdaRankNDCG
from replirank.methods.adarank_ndcg_once import AdaRankNDCGOnce
from replirank.methods.base import Task
from replirank.methods.families.adarank import QueryBooster

PAPERS, ONCE = [AdaRankMAP, AdaRankNDCG], [AdaRankMAPOnce, AdaRankNDCGOnce]
EVERY = pytest.mark.parametrize("method", [*PAPERS, *ONCE])
AS_IN_PAPER, EACH_ONCE = pytest.mark.parametrize("method", PAPERS), pytest.mark.parametrize("method", ONCE)
LENGTHS = (9, 12, 4, 1, 7, 10, 3, 8)
BARREN = 4  # the query without relevant documents


def problem(seed=0, features=16):
    """Labels 0, 1 and 2 to which every feature has something to say, some of them more."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, sum(LENGTHS))
    labels[sum(LENGTHS[:BARREN]) : sum(LENGTHS[: BARREN + 1])] = 0
    strength = np.linspace(0.2, 0.5, features)
    x = strength * labels[:, None] + random.normal(size=(len(labels), features))
    return ranking(x, labels, LENGTHS)


def task(data, vali=None, validate=None, report=lambda text: None):
    count = itertools.count()
    keep_last = validate or (lambda scores: float(next(count)))
    return Task(train=data, vali=data if vali is None else vali, seed=1, validate=keep_last, report=report)


# Xu and Li 2007, Figure 1, in Python's floats


def ranked(labels, scores):
    """Ties stand in file order."""
    return [labels[i] for i in sorted(range(len(labels)), key=lambda i: -scores[i])]


def average_precision(labels, scores):
    here = ranked(labels, scores)
    found = [sum(label > 0 for label in here[:rank]) / rank for rank, label in enumerate(here, 1) if label > 0]
    return sum(found) / len(found) if found else 0.0


def ndcg5(labels, scores):
    def gain(labels):
        return sum((2**label - 1) / log2(1 + rank) for rank, label in enumerate(labels[:5], 1))

    best = gain(sorted(labels, reverse=True))
    return gain(ranked(labels, scores)) / best if best else 0.0


MEASURES = {"burges.map": average_precision, "burges.ndcg@5": ndcg5}


def booster_of(method, data):
    return QueryBooster(task(data), method.measure, repeats=method.repeats)


def performances(data, measure, scores):
    """E of each query."""
    return [measure(data.labels[rows].tolist(), scores[rows]) for rows in data]


def by_loop(data, measure, rounds, repeats):
    """(feature, alpha, P of the round after, loss) of each round."""
    columns = data.features.astype(np.float64).T.tolist()
    E = [performances(data, measure, column) for column in columns]
    P = [1 / data.queries] * data.queries
    allowed, scores = set(range(len(columns))), [0.0] * data.documents
    for _ in range(rounds):
        weighted = {k: sum(p * e for p, e in zip(P, E[k], strict=True)) for k in sorted(allowed)}
        feature = max(weighted, key=weighted.get)
        others = [value for k, value in weighted.items() if k != feature]
        assert not others or weighted[feature] - max(others) > 1e-9  # or the choice would be a matter of rounding
        favour = sum(p * (1 + e) for p, e in zip(P, E[feature], strict=True))
        against = sum(p * (1 - e) for p, e in zip(P, E[feature], strict=True))
        alpha = log(favour / against) / 2
        scores = [score + alpha * x for score, x in zip(scores, columns[feature], strict=True)]
        costs = [exp(-e) for e in performances(data, measure, scores)]
        P = [cost / sum(costs) for cost in costs]
        if not repeats:
            allowed.remove(feature)
        yield feature, alpha, P, sum(costs) / len(costs)


# Round by round


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_each_round_is_that_of_a_plain_loop(seed, method):
    data = problem(seed)
    booster = booster_of(method, data)
    assert_array_equal(booster.distribution, np.full(8, 1 / 8))
    weights, chosen = np.zeros(16), []
    for feature, alpha, distribution, loss in by_loop(data, MEASURES[method.measure], 14, method.repeats):
        found = booster.choose()
        assert found[0] == feature
        assert_allclose(found[1], alpha, rtol=0, atol=1e-9)
        assert_allclose(booster.distribution, distribution, rtol=1e-9)
        assert_allclose(booster.loss, loss, rtol=1e-9)
        weights[feature] += alpha
        assert_allclose(booster.learned, weights, rtol=0, atol=1e-9)
        chosen.append(feature)
    assert len(set(chosen)) < 14 if method.repeats else len(set(chosen)) == 14


@EVERY
def test_fits_the_same(method):
    data = problem()
    fit = method(rounds=12).fit(task(data))
    weights, losses = np.zeros(16), []
    for feature, alpha, _, loss in by_loop(data, MEASURES[method.measure], 12, method.repeats):
        weights[feature] += alpha
        losses.append(loss)
    assert_allclose(fit.model.weights, weights, rtol=0, atol=1e-9)
    assert_allclose(fit.history["loss"], losses, rtol=1e-9)
    assert list(fit.history["round"]) == list(range(1, 13))


@EVERY
def test_its_scores_in_training_are_those_of_the_model(method):
    """In float64, as the model has them: what a round's queries weigh is decided by the ranking that is kept."""
    data = problem()
    booster = booster_of(method, data)
    for _ in range(12):
        booster.choose()
        expected = data.features.astype(np.float64) @ booster.learned
        assert_allclose(booster.scores, expected, rtol=1e-12, atol=1e-12)


def test_the_first_round_by_arithmetic():
    """Two queries of two documents: the first feature ranks both well, the second one of them."""
    data = ranking([[1, 1], [0, 0], [1, 0], [0, 1]], [1, 0, 1, 0], [2, 2])
    booster = QueryBooster(task(data), "burges.map", repeats=True)
    assert_allclose(booster.weak, [[1, 1], [1, 1 / 2]], rtol=1e-15)
    other = QueryBooster(task(replace(data, features=data.features[:, 1:])), "burges.map", repeats=True)
    feature, alpha = other.choose()
    assert feature == 0
    assert_allclose(alpha, log((2 + 3 / 2) / (0 + 1 / 2)) / 2, rtol=1e-12)
    # The query that stays wrong comes to weigh more.
    assert_allclose(other.distribution, np.array([exp(-1), exp(-1 / 2)]) / (exp(-1) + exp(-1 / 2)), rtol=1e-12)
    assert_allclose(other.loss, (exp(-1) + exp(-1 / 2)) / 2, rtol=1e-12)


# Which features may be chosen again


def three_queries():
    """Three queries of two documents. The first feature ranks two of them well, the second the other, the third none.

    A query that is ranked wrong has an E of 1/2 (average precision) or 1 / log2 3 (NDCG@5).
    """
    first, second, third = [1, 0, 1, 0, 0, 1], [0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1]
    return ranking(np.stack([first, second, third], axis=1), [1, 0, 1, 0, 1, 0], [2, 2, 2])


WRONG = {"burges.map": 1 / 2, "burges.ndcg@5": 1 / log2(3)}


@AS_IN_PAPER
def test_as_in_the_paper_one_feature_may_be_chosen_for_ever(method):
    """Two queries weigh exp(-1), the one that is wrong exp(-E). As 2 exp(-1) > exp(-E), the first feature stays the
    best; its ranking is that of the round before, and so is P: every round but the first is the same."""
    booster, wrong = booster_of(method, three_queries()), WRONG[method.measure]
    assert 2 * exp(-1) > exp(-wrong)
    assert_allclose(booster.weak, [[1, wrong, wrong], [1, wrong, wrong], [wrong, 1, wrong]], rtol=1e-15)
    right, other = 2 * exp(-1), exp(-wrong)
    mean = (2 + wrong) / 3, (right + other * wrong) / (right + other)  # of E, in the first round and in the others
    alphas = [log((1 + value) / (1 - value)) / 2 for value in mean]
    for number in range(20):
        feature, alpha = booster.choose()
        assert feature == 0
        assert_allclose(alpha, alphas[min(number, 1)], rtol=1e-12)
        assert_allclose(booster.distribution, np.array([exp(-1), exp(-1), other]) / (right + other), rtol=1e-12)
    assert_allclose(booster.learned, [alphas[0] + 19 * alphas[1], 0, 0], rtol=1e-12)


@EACH_ONCE
def test_with_each_feature_once_the_next_best_follows(method):
    booster = booster_of(method, three_queries())
    assert [booster.choose()[0] for _ in range(3)] == [0, 1, 2]
    assert isinstance(booster.choose(), Ended)


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_a_feature_is_chosen_again_in_the_papers_method_only(seed, method):
    found = method(rounds=16).fit(task(problem(seed))).model.weights
    assert (np.count_nonzero(found) < 16) == method.repeats


# What it keeps, and how it ends


@pytest.mark.parametrize(("values", "kept"), [([0.1, 0.3, 0.2], 2), ([0.1, 0.2, 0.2], 2), ([0.3, 0.1, 0.3], 1)])
def test_keeps_the_best_validating_round_the_first_of_equals(values, kept):
    train, vali, seen, script = problem(0), problem(1), [], iter(values)

    def validate(scores):
        seen.append(scores)
        return next(script)

    fit = AdaRankMAPOnce(rounds=3).fit(task(train, vali, validate))
    assert len({scores.tobytes() for scores in seen}) == 3
    assert fit.model.score(vali).tobytes() == seen[kept - 1].tobytes()
    assert np.count_nonzero(fit.model.weights) == kept
    assert list(fit.history["validation"]) == values


@EACH_ONCE
def test_with_each_feature_once_it_ends_when_all_were_chosen(method):
    said = []
    fit = method(rounds=300).fit(task(problem(features=5), report=said.append))
    assert list(fit.history["round"]) == [1, 2, 3, 4, 5]
    assert said == ["ended after round 5: every feature that ranks anything was chosen"]
    assert (fit.model.weights > 0).all()


def test_with_each_feature_once_one_that_ranks_nothing_is_left_out():
    """NDCG@5 of the second feature is 0: six others stand before the only relevant document."""
    labels = [0, 0, 0, 0, 0, 0, 1]
    said = []
    fit = AdaRankNDCGOnce(rounds=300).fit(
        task(ranking(np.stack([np.array(labels) * 0.5, [7, 6, 5, 4, 3, 2, 1]], axis=1), labels), report=said.append)
    )
    assert said == ["ended after round 1: every feature that ranks anything was chosen"]
    assert fit.model.weights[0] > 0
    assert fit.model.weights[1] == 0


@AS_IN_PAPER
def test_as_in_the_paper_it_goes_on(method):
    assert len(method(rounds=40).fit(task(problem(features=5))).history) == 40


@EVERY
def test_a_perfect_feature_has_a_finite_weight(method):
    """And all the say: the logarithm of 2 over next to nothing."""
    data = ranking(np.stack([[2, 1, 0, 1, 0], [0, 3, 1, 0, 1]], axis=1), [2, 1, 0, 1, 0], [3, 2])
    booster = booster_of(method, data)
    feature, alpha = booster.choose()
    assert feature == 0
    assert 10 < alpha < 20
    assert_allclose(booster.loss, exp(-1), rtol=1e-12)
    fit = method(rounds=30).fit(task(data))
    assert np.isfinite(fit.model.weights).all()
    assert np.isfinite(fit.history.to_numpy(dtype=float)).all()


@EVERY
def test_queries_without_relevant_documents_have_a_performance_of_0(method):
    """Nothing ranks them well, so that they come to weigh most; but that is the same for all features."""
    data = problem()
    assert not data.labels[data.offsets[BARREN] : data.offsets[BARREN + 1]].any()
    booster = booster_of(method, data)
    for _ in range(5):
        booster.choose()
        assert booster.distribution[BARREN] == booster.distribution.max()
        assert_allclose(booster.distribution.sum(), 1, rtol=1e-12)
    assert_array_equal(booster.weak[BARREN], np.zeros(16))


@EVERY
def test_without_any_relevant_document_nothing_is_learned(method):
    data, said = problem(), []
    data = replace(data, labels=np.zeros_like(data.labels))
    assert isinstance(booster_of(method, data).choose(), Ended)
    fit = method().fit(task(data, report=said.append))
    assert_array_equal(fit.model.score(data), np.zeros(data.documents))
    assert list(fit.history["round"]) == [0]
    assert len(said) == 1
    assert said[0].startswith("ended after round 0: ")
