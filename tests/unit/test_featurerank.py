"""FeatureRank's reconstruction: clusters, weak rankers, correlations, boosting."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines.weak_learners import make_weak_learners
from replirank.methods.base import Task
from replirank.methods.featurerank import Clusters, FeatureRank, ListBooster, cluster_bins, cluster_line
from replirank.models.steps import Steps


def lists(seed=0, lengths=(12, 9, 15, 6), features=3):
    random = np.random.default_rng(seed)
    x = random.normal(size=(sum(lengths), features))
    return ranking(x, np.argsort(np.argsort(x[:, 0] ** 2 + 0.3 * random.normal(size=len(x)))), lengths)


def fit(data, **hyper):
    task = Task(data, data, 0, lambda scores: 0.0, lambda text: None, FeatureRank.share(data))
    return FeatureRank(**hyper).fit(task)


def test_values_in_two_heaps_are_two_clusters():
    values, counts = np.array([0.0, 0.1, 0.2, 5.0, 5.1]), np.array([3, 1, 1, 2, 9])
    assert_array_equal(cluster_line(values, counts, 2), [3])
    assert_array_equal(cluster_line(values, counts, 5), [1, 2, 3, 4])


def test_values_of_many_orders_of_magnitude_have_no_more_clusters_than_asked_for():
    for seed in range(20):
        values = np.sort(np.exp(8 * np.random.default_rng(seed).normal(size=200)))
        assert len(cluster_line(values, np.ones(200), 20)) < 20


def test_clusters_do_not_depend_on_the_order_of_documents():
    data = lists()
    order = np.concatenate([np.arange(rows.start, rows.stop)[::-1] for rows in data])
    turned = ranking(data.features[order], data.labels[order], data.lengths)
    for one, other in zip(*(cluster_bins(d, make_weak_learners(d, 255), 4) for d in (data, turned)), strict=True):
        assert_array_equal(one, other)


def test_a_documents_cluster_in_training_is_the_step_that_the_model_puts_it_on():
    data = lists(1, (40, 60))
    clusters = Clusters(data, 5)
    for feature, edges in enumerate(clusters.edges):
        assert_array_equal(np.searchsorted(edges, data.features[:, feature]), clusters.cluster[feature])
    assert len(np.unique(clusters.cluster)) == 5


def test_a_weak_ranker_gives_the_weighted_mean_place_of_a_cluster():
    """Two lists of two and three; the feature has two values. A list counts by its weight, whatever its length."""
    data = ranking([[1], [0], [1], [1], [0]], [1, 0, 2, 1, 0], [2, 3])
    means = Clusters(data, 2).mean_places(np.array([0.25, 0.75]))
    high = (0.25 / 2 * 1 + 0.75 / 3 * (1 + 1 / 2)) / (0.25 / 2 + 0.75 / 3 * 2)
    assert_allclose(means, [[0, high]])


def test_correlations_are_numpys():
    data = lists(2)
    clusters = Clusters(data, 4)
    values = np.random.default_rng(0).normal(size=(3, 4))
    for feature in range(3):
        scores = values[feature][clusters.cluster[feature]]
        expected = [np.corrcoef(scores[rows], clusters.places[rows])[0, 1] for rows in data]
        assert_allclose(clusters.correlations(values)[feature], expected, atol=1e-12)
        assert_allclose(clusters.correlation(scores), expected, atol=1e-12)


def test_scores_or_labels_that_are_all_equal_have_no_correlation():
    clusters = Clusters(ranking([[1], [2], [1], [2]], [1, 1, 0, 1], [2, 2]), 2)
    assert_array_equal(clusters.correlation(np.array([1.0, 2.0, 3.0, 3.0])), [0, 0])


def test_a_round_chooses_weighs_and_adds_as_adarank_does():
    data = lists(3)
    clusters = Clusters(data, 4)
    booster = ListBooster(clusters, repeats=True)
    fitted = clusters.mean_places(np.full(4, 1 / 4))
    performance = clusters.correlations(fitted).mean(axis=1)
    feature, alpha = booster.choose()
    best = performance.max()
    assert feature == np.argmax(performance)
    assert alpha == pytest.approx(log((1 + best) / (1 - best)) / 2)
    scores = alpha * fitted[feature][clusters.cluster[feature]]
    assert_allclose(booster.scores, scores)
    costs = [exp(-np.corrcoef(scores[rows], clusters.places[rows])[0, 1]) for rows in data]
    assert booster.loss == pytest.approx(np.mean(costs))
    assert_allclose(booster.weights, costs / np.sum(costs))


def test_a_list_whose_labels_are_all_equal_weighs_nothing():
    data = lists(7)
    data.labels[data.offsets[1] : data.offsets[2]] = 3
    booster = ListBooster(Clusters(data, 4), repeats=True)
    assert_allclose(booster.weights, [1 / 3, 0, 1 / 3, 1 / 3])
    booster.choose()
    assert booster.weights[1] == 0
    assert booster.weights.sum() == pytest.approx(1)


def test_the_model_scores_as_training_did():
    data = lists(4)
    booster = ListBooster(Clusters(data, 5), repeats=True)
    for _ in range(6):
        booster.choose()
    assert_allclose(Steps(booster.clusters.edges, booster.learned).score(data), booster.scores, atol=1e-12)


def test_it_learns_what_no_linear_function_can():
    """The order is by the square of a feature."""
    data = lists(5, (60, 60, 60))
    scores = fit(data, rounds=5, clusters=20).model.score(data)
    booster = Clusters(data, 2)
    assert booster.correlation(scores).mean() > 0.85
    assert abs(booster.correlation(data.features[:, 0].astype(float)).mean()) < 0.4


def test_without_repeats_each_feature_is_chosen_once():
    data = lists(6, features=3)
    booster = ListBooster(Clusters(data, 5), repeats=False)
    chosen = [booster.choose() for _ in range(3)]
    assert sorted(feature for feature, _ in chosen) == [0, 1, 2]
    assert "no feature is left" in booster.choose().why


def test_steps_by_arithmetic():
    model = Steps(
        np.array([[0.5, np.inf], [1.0, 2.0]], dtype=np.float32), np.array([[1.0, 2.0, 9.0], [0.0, 10.0, 20.0]])
    )
    assert_array_equal(model.score(ranking([[0.5, 1.5], [0.6, 3.0], [0.0, 1.0]], [0, 0, 0])), [11, 22, 1])
