"""DiffRank against a plain loop over pairs, its theorems on many lists, and arithmetic."""

from __future__ import annotations

import itertools
from math import log, sqrt

import numpy as np
import pytest
from helpers import ranking
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from replirank.data.places import places_by_query, scaled_places
from replirank.methods.base import Task
from replirank.methods.diffrank import DiffRank
from replirank.models.places import WeightedPlaces


def lists(seed, lengths=(6, 4, 7, 1), features=4, graded=False):
    """Strict orders, or three levels, that the features tell in part; values repeat, as counts do."""
    random = np.random.default_rng(seed)
    documents = sum(lengths)
    x = random.integers(0, 5, (documents, features)) + 0.0
    worth = x @ random.normal(size=features) + random.normal(size=documents)
    labels = np.digitize(worth, [-1, 1]) if graded else worth.argsort().argsort()
    return ranking(x, labels, lengths)


def fit(data, **hyper):
    task = Task(data, data, 0, lambda scores: 0.0, lambda text: None, DiffRank.share(data))
    return DiffRank(**hyper).fit(task)


def plain(data, *, cumulated):
    """As the paper has it: D_ij and differences for every pair, in a dictionary."""
    pairs = [
        (i, j)
        for rows in data
        for i, j in itertools.permutations(range(rows.start, rows.stop), 2)
        if data.labels[i] > data.labels[j]
    ]
    D = {pair: 1 / len(pairs) for pair in pairs}
    H, product, rounds = [0.0] * data.documents, 1.0, []
    for feature in range(data.features.shape[1]):
        h = [0.0] * data.documents
        for rows in data:
            values = data.features[rows, feature]
            for i in range(rows.start, rows.stop):
                below, equal = np.sum(values < values[i - rows.start]), np.sum(values == values[i - rows.start])
                # The place from below over U_q, the largest difference of places in this list.
                h[i] = (below + (equal - 1) / 2) / max(len(values) - 1, 1)
        used = [H[i] + h[i] for i in range(data.documents)] if cumulated else h
        r = sum(D[i, j] * (used[i] - used[j]) for i, j in pairs)
        if abs(r) >= 1:
            break
        alpha = log((1 + r) / (1 - r)) / 2
        H = [H[i] + alpha * h[i] for i in range(data.documents)]
        used = H if cumulated else h
        weights = {(i, j): D[i, j] * np.exp(-alpha * (used[i] - used[j])) for i, j in pairs}
        Z = sum(weights.values())
        D = {pair: weight / Z for pair, weight in weights.items()}
        product *= Z
        wrong = sum((H[i] < H[j] - 1e-12) + (abs(H[i] - H[j]) <= 1e-12) / 2 for i, j in pairs) / len(pairs)
        rounds.append((alpha, product, wrong))
    return rounds


@pytest.mark.parametrize("cumulated", [False, True])
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_plain_loop_over_pairs(seed, graded, cumulated):
    data = lists(seed, graded=graded)
    history = fit(data, cumulated=cumulated).history
    expected = np.array(plain(data, cumulated=cumulated))
    assert_allclose(history[["alpha", "loss"]], expected[:, :2], rtol=1e-9, atol=1e-12)
    assert_allclose(history["error"], expected[:, 2], rtol=0, atol=1e-12)
    assert history["feature"].tolist() == list(range(1, len(expected) + 1))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(2, 12), min_size=1, max_size=4), st.booleans())
def test_theorem_1_the_error_is_at_most_the_product_of_the_z_in_every_round(seed, lengths, graded):
    """And each Z is at most sqrt(1 - r^2): the product falls in every round whose r is not 0."""
    history = fit(lists(seed, lengths, features=6, graded=graded)).history
    if history["round"].iloc[0] == 0:  # no pair, or no feature that orders any
        return
    assert np.all(history["error"] <= history["loss"] + 1e-12)
    r = np.tanh(history["alpha"])
    ratios = history["loss"] / history["loss"].shift(fill_value=1.0)
    assert np.all(ratios <= np.sqrt(1 - r**2) + 1e-12)
    assert np.all(ratios[np.abs(r) > 1e-6] < 1)


def test_with_the_cumulated_differences_of_figure_1_the_product_is_no_bound_and_need_not_fall():
    above = rises = 0
    for seed in range(60):
        history = fit(lists(seed, features=40), cumulated=True).history
        above += bool(np.any(history["error"] > history["loss"]))
        rises += bool(np.any(history["loss"].diff() > 1e-9))
    assert above >= 5
    assert rises >= 50


def test_with_the_cumulated_differences_there_may_be_no_coefficient():
    """Thirty copies of a feature that is right: the cumulated differences go beyond 1."""
    x = np.repeat(np.array([[4.0], [3.0], [2.0], [1.0], [0.0]]), 30, axis=1)
    said = []
    data = ranking(x, [4, 3, 2, 1, 0])
    task = Task(data, data, 0, lambda scores: 0.0, said.append, DiffRank.share(data))
    history = DiffRank(cumulated=True).fit(task).history
    assert len(history) < 30
    assert "there is no coefficient for feature" in said[-1]
    assert len(DiffRank().fit(task).history) == 30


def test_by_arithmetic():
    """Two documents, one feature that has the pair right: r = 1 would be an infinite weight, so one more pair is not.

    Three documents, of whose pairs a feature has one of difference 1, one of 1/2 right and one of 1/2 wrong.
    """
    right = fit(ranking([[3.0], [1.0]], [1, 0])).history.iloc[0]
    assert right["alpha"] == pytest.approx(log((1 + 1 / 2) / (1 - 1 / 2)) / 2)
    history = fit(ranking([[3.0], [1.0], [2.0]], [2, 1, 0])).history.iloc[0]
    r = (1 + 1 / 2 - 1 / 2) / 3
    alpha = log((1 + r) / (1 - r)) / 2
    assert history["alpha"] == pytest.approx(alpha)
    Z = (np.exp(-alpha) + np.exp(-alpha / 2) + np.exp(alpha / 2)) / 3
    assert history["loss"] == pytest.approx(Z)
    assert sqrt(1 - r**2) > Z
    assert history["error"] == pytest.approx(1 / 3)


def test_theorem_2_minimises_a_bound_of_z_and_not_z_itself():
    """Only where differences are -1, 0 or 1, as in lists of two, are both the same."""
    data = lists(3, (9,), features=1)
    places = places_by_query(data.features, data)[:, 0]
    i, j = np.nonzero(data.labels[:, None] > data.labels)
    gaps = places[i] - places[j]
    best = minimize_scalar(lambda alpha: np.mean(np.exp(-alpha * gaps)), bounds=(-3, 3), method="bounded")
    first = fit(data).history.iloc[0]
    assert best.fun < first["loss"] - 1e-4
    assert abs(best.x) > abs(first["alpha"])


def test_a_feature_that_orders_the_wrong_way_round_is_turned():
    history = fit(ranking([[1.0], [2.0], [3.0]], [2, 1, 0])).history
    assert history["alpha"].item() < 0
    assert history["error"].item() == 0


def test_a_feature_that_is_the_same_in_each_list_takes_no_round():
    data = ranking([[7, 1, 3], [7, 1, 1], [8, 1, 2], [8, 1, 0]], [1, 0, 1, 0], [2, 2])
    assert fit(data).history["feature"].tolist() == [3]


def test_rounds_takes_the_first_features_only():
    data = lists(1, features=5)
    assert fit(data, rounds=2).history["feature"].tolist() == [1, 2]


def test_what_the_model_scores_is_what_was_trained():
    data = lists(2)
    found = fit(data)
    assert_allclose(found.model.score(data), places_by_query(data.features, data) @ found.model.alphas, atol=1e-14)


def test_places_are_scaled_with_equals_in_the_middle():
    assert_array_equal(scaled_places(np.array([[3.0], [9.0], [3.0], [1.0], [3.0]])), [[0.5], [1], [0.5], [0], [0.5]])
    assert_array_equal(scaled_places(np.array([[4.0, 2.0]])), [[0.5, 0.5]])
    model = WeightedPlaces(np.array([2.0, -1.0]))
    scores = model.score(ranking([[1, 5], [2, 4], [7, 7]], [0, 0, 0], [2, 1]))
    assert_array_equal(scores, [2 * 0 - 1, 2 * 1 - 0, 2 * 0.5 - 0.5])
