"""SortNet: its comparator, sorting by it, and the choice of pairs to learn from."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import pytest
from helpers import ranking
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines.comparisons import learn_to_compare, wrongly_compared
from replirank.engines.task import Task
from replirank.errors import ReplirankError
from replirank.methods.sortnet import SortNet
from replirank.metrics.per_query import Judge
from replirank.models import comparator
from replirank.models.comparator import Comparator, cyclic_triples, sort_by

CIRCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])


def by_first_feature(features: int = 2) -> Comparator:
    """It prefers the document with more of the first feature."""
    first = np.zeros((features, 1))
    first[0] = 1.0
    return Comparator(first, np.zeros((features, 1)), np.zeros(1), np.ones(1))


def intransitive() -> tuple[Comparator, np.ndarray]:
    """A net that prefers three documents, or some of forty, in a circle."""
    for seed in range(100):
        random = np.random.default_rng(seed)
        model = Comparator(*3 * random.normal(size=(2, 4, 6)), random.normal(size=6), random.normal(size=6))
        features = random.normal(size=(40, 4))
        if cyclic_triples(model.preferences(features)):
            return model, features
    raise AssertionError("none found")


# The comparator


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 5))
def test_the_comparator_is_antisymmetric_to_the_last_bit(seed, documents, units):
    random = np.random.default_rng(seed)
    for dtype in (np.float32, np.float64):
        model = jax.tree.map(lambda array, dtype=dtype: array.astype(dtype), comparator.start(7, units, seed=seed))
        preferences = model.preferences(random.normal(size=(documents, 7)).astype(dtype))
        assert preferences.dtype == dtype
        assert_array_equal(preferences, -preferences.T)


def test_in_training_too():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 50, 7)).astype(np.float32)
    preference = jax.jit(lambda model, x, y: model.preference(x, y))
    model = comparator.start(7, 5, seed=0)
    assert_array_equal(preference(model, x, y), -preference(model, y, x))


def test_a_preference_by_arithmetic():
    """v (tanh(a x + b y + c) - tanh(a y + b x + c)), summed over two units."""
    model = Comparator(np.array([[1.0, 0.5]]), np.array([[-2.0, 0.1]]), np.array([0.2, -0.3]), np.array([1.5, -1.0]))
    x, y = 0.7, -0.4
    expected = 1.5 * (np.tanh(x - 2 * y + 0.2) - np.tanh(y - 2 * x + 0.2))
    expected -= np.tanh(0.5 * x + 0.1 * y - 0.3) - np.tanh(0.5 * y + 0.1 * x - 0.3)
    assert_allclose(model.preference(np.array([[x]]), np.array([[y]])), [expected])
    assert_allclose(model.preferences(np.array([[x], [y]])), [[0, expected], [-expected, 0]])


# Sorting


@given(st.integers(0, 10_000), st.integers(1, 25))
def test_where_preferences_are_transitive_every_start_gives_the_one_order(seed, documents):
    random = np.random.default_rng(seed)
    strengths = random.permutation(documents)
    preferences = (strengths[:, None] - strengths[None, :]).astype(float)
    assert cyclic_triples(preferences) == 0
    for start in (np.arange(documents), random.permutation(documents)):
        assert_array_equal(sort_by(preferences, start), np.argsort(-strengths))


def test_where_they_are_not_the_start_decides_and_the_circle_is_counted():
    orders = {tuple(sort_by(CIRCLE, list(start))) for start in itertools.permutations(range(3))}
    assert len(orders) > 1
    assert cyclic_triples(CIRCLE) == 1


@given(st.integers(0, 10_000), st.integers(3, 12))
def test_circles_are_counted_as_a_triple_loop_counts_them(seed, documents):
    random = np.random.default_rng(seed)
    upper = np.triu(random.choice([-1.0, 1.0], (documents, documents)), k=1)
    preferences = upper - upper.T
    circles = [
        i for i in itertools.combinations(range(documents), 3)
        if len({sum(preferences[one, other] > 0 for other in i) for one in i}) == 1
    ]  # fmt: skip
    assert cyclic_triples(preferences) == len(circles)


def test_scores_follow_the_documents_even_where_preferences_go_in_circles():
    model, features = intransitive()
    scores = model.score_query(features)
    order = np.random.default_rng(1).permutation(len(features))
    assert_array_equal(model.score_query(features[order]), scores[order])
    assert_array_equal(np.sort(scores), np.arange(40))


def test_scores_are_places_and_equal_documents_share_one():
    features = np.array([[3.0, 0], [1.0, 0], [2.0, 0], [1.0, 0]])
    assert by_first_feature().score_query(features).tolist() == [2.0, 0.0, 1.0, 0.0]
    assert by_first_feature().score_query(features[:1]).tolist() == [0.0]


# Learning


def small_task(features, labels, lengths):
    data = ranking(features, labels, lengths)
    judge = Judge(data.labels, data.offsets, "burges.ndcg@10")
    return Task(data, data, seed=0, validate=lambda scores: float(np.mean(judge(scores))), report=lambda text: None)


def test_only_pairs_that_were_compared_and_are_wrong_are_found():
    """The first query is in order; in the second each compared pair is wrong; the third has nothing to order."""
    task = small_task([[3, 0], [1, 0], [1, 0], [3, 0], [2, 0], [1, 0]], [1, 0, 1, 0, 0, 0], [2, 2, 2])
    assert wrongly_compared(by_first_feature(), task.train).tolist() == [[2, 3]]


def test_equal_preference_of_different_labels_is_wrong_unless_no_comparator_can_tell_them_apart():
    task = small_task([[1, 0], [1, 5], [1, 0], [1, 0]], [0, 1, 0, 1], [2, 2])
    assert wrongly_compared(by_first_feature(), task.train).tolist() == [[1, 0]]


def test_the_order_of_documents_does_not_matter_where_features_are_the_same_and_labels_are_not():
    random = np.random.default_rng(0)
    features = random.integers(0, 3, (60, 2)).astype(float)
    labels, order = random.integers(0, 3, 60), random.permutation(30)
    order = np.concatenate([order, 30 + order])
    one, other = (small_task(features[rows], labels[rows], [30, 30]) for rows in (np.arange(60), order))
    nets = []
    for task in (one, replace(one, train=other.train)):
        task = replace(task, shared=SortNet.share(task.train))
        nets.append(SortNet(learning_rate=0.01, rounds=3).fit(task).model)
    assert_array_equal(nets[0].first, nets[1].first)
    assert_array_equal(nets[0].output, nets[1].output)


def hidden_order(seed=0, queries=20, documents=10):
    random = np.random.default_rng(seed)
    features = random.normal(size=(queries * documents, 3))
    hidden = features @ [1.0, -2.0, 0.5]
    labels = (hidden > 0.5).astype(int) + (hidden > 2).astype(int)
    return small_task(features, labels, [documents] * queries)


def test_pairs_are_added_round_by_round_until_none_is_wrong():
    task, said = hidden_order(), []
    task = replace(task, report=said.append)
    fit = learn_to_compare(comparator.start(3, 5, seed=1), task=task, learning_rate=0.01, rounds=200, epochs=20)
    history = fit.history
    assert len(history) < 200
    assert said[-1] == f"ended after round {len(history)}: every pair that sorting compares is in order"
    assert history["pairs"].is_monotonic_increasing
    every = sum(np.sum(task.train.labels[rows][:, None] > task.train.labels[rows][None, :]) for rows in task.train)
    assert 0 < history["pairs"].iloc[-1] < every / 2  # far from all pairs are needed
    assert history["validation"].max() == 1.0


def test_the_round_that_validates_best_is_kept():
    task = hidden_order()
    values = iter([0.1, 0.9, 0.9, 0.3])
    models = []

    def validate(scores):
        models.append(scores)
        return next(values)

    task = replace(task, validate=validate)
    fit = learn_to_compare(comparator.start(3, 5, seed=1), task=task, learning_rate=0.001, rounds=4, epochs=1)
    assert fit.history["validation"].tolist() == [0.1, 0.9, 0.9, 0.3]
    assert_array_equal(fit.model.score(task.vali), models[1])
    assert not np.array_equal(models[1], models[3])


def test_a_loss_that_is_not_finite_stops_with_a_remedy():
    task = hidden_order()
    with pytest.raises(ReplirankError, match="training loss is nan in round 1") as caught:
        learn_to_compare(comparator.start(3, 5, seed=1), task=task, learning_rate=float("nan"), rounds=2, epochs=2)
    assert "learning rates" in caught.value.remedy
