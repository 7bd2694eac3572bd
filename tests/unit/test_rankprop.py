"""RankProp: its targets by hand, one pass by hand, and a ranking that it learns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from replirank.data.arrays import RankingData
from replirank.data.pairs import pairs_of
from replirank.methods.base import Task
from replirank.methods.rankprop import RankProp, largest_rate, rank_targets


def work(data: RankingData, validate=lambda scores: 0.0) -> Task:
    return Task(data, data, seed=1, validate=validate, report=lambda text: None, shared=RankProp.share(data))


@pytest.mark.parametrize(
    ("scores", "labels", "targets"),
    [
        ([0.0, 0.0], [1, 0], [1, 0]),
        ([5.0, 9.0], [1, 0], [1, 0]),  # the label goes before the score
        ([5.0, 9.0, 7.0], [0, 0, 0], [0, 1, 1 / 2]),  # equal labels as the net has them
        ([3.0, 1.0, 2.0, 9.0], [1, 1, 1, 0], [1, 1 / 3, 2 / 3, 0]),
        ([0.0, 0.0, 0.0], [1, 0, 0], [1, 1 / 4, 1 / 4]),  # equal in both: the middle of ranks 0 and 1/2
        ([1.0, 0.0, 0.0, 0.0, 2.0], [0, 0, 0, 0, 0], [3 / 4, 1 / 4, 1 / 4, 1 / 4, 1]),
        ([7.0], [2], [1 / 2]),
    ],
)
def test_targets_in_closed_form(scores, labels, targets):
    assert_allclose(rank_targets(np.array(scores), np.array(labels)), targets, rtol=1e-6)


documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4)), min_size=2, max_size=12)


@given(documents, st.randoms(use_true_random=False))
def test_targets_are_counted_one_by_one_whatever_the_order_of_the_file(given_documents, random):
    """Half the documents equal in both are below, and a document is not below itself."""
    shuffled = random.sample(given_documents, len(given_documents))
    for each in (given_documents, shuffled):
        labels, scores = np.array(each, dtype=float).T
        below = [sum(b < a for b in each) + (sum(b == a for b in each) - 1) / 2 for a in each]
        assert_allclose(rank_targets(scores, labels), np.array(below) / (len(each) - 1), atol=1e-6)


def test_targets_are_of_the_whole_training_set_and_follow_the_net_from_pass_to_pass():
    """Two queries of two documents, labels 1, 0, 0, 0. At zero weights the three have the middle of ranks 0, 1, 2.

    The mean loss of a pass at rate 0 is that of the errors alone.
    """
    x = np.array([[1.0], [3.0], [2.0], [0.0]], dtype=np.float32)
    data = RankingData(x, np.array([1, 0, 0, 0], dtype=np.float32), np.array([0, 2, 4]), np.array([1, 2]))
    fit = RankProp(learning_rate=0.0, epochs=2).fit(work(data))
    assert_allclose(fit.history["loss"], (1 + 3 * (1 / 3) ** 2) / 4, rtol=1e-6)
    # As soon as the net has an order, they have three targets: here it is that of the feature.
    assert_allclose(rank_targets(x[:, 0], data.labels), [1, 2 / 3, 1 / 3, 0], rtol=1e-6)


def test_the_middle_of_ties_is_left_for_what_the_net_says():
    """Labels 0 and 1 by a step at 1/2 of a feature that is even in 0..1: its scaled ranks are the feature itself."""
    x = np.linspace(0, 1, 21, dtype=np.float32)[:, None]
    data = RankingData(x, (x[:, 0] > 0.5).astype(np.float32), np.array([0, 21]), np.array([1]))
    fits = [RankProp(learning_rate=0.2, epochs=epochs).fit(work(data, count_up())) for epochs in (1, 300)]
    # Regression on the labels' own middle ranks (1/4 and 3/4 or so) has a slope of 3/4; on the ranks it is 1.
    assert_allclose([fits[1].model.weights[0], fits[1].model.offset], [1, 0], atol=1e-3)
    assert fits[1].history["loss"].iloc[-1] < 1e-6 < fits[0].history["loss"].iloc[-1]


def count_up():
    """A validation metric by which the last epoch is the best."""
    epochs = iter(range(10_000))
    return lambda scores: next(epochs)


def test_learns_an_order_that_a_linear_function_has():
    """Every document has a label of its own, so its target is its label, scaled: from the first pass on."""
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 3)).astype(np.float32)
    labels = np.argsort(np.argsort(2 * x[:, 0] - x[:, 2])).astype(np.float32)
    data = RankingData(x, labels, np.arange(101) * 20, np.arange(100))
    model = RankProp(learning_rate=0.001 / largest_rate(x), epochs=20).fit(work(data, count_up())).model
    expected = np.linalg.lstsq(np.c_[x, np.ones(2000)], labels / 1999, rcond=None)[0]
    # Residuals of .07 leave the weights a spread of about sqrt(.001 * .07^2) = .002 about the least squares.
    assert_allclose([*model.weights, model.offset], expected, rtol=0, atol=0.01)


def test_orders_pairs_of_few_labels():
    """Three labels by thresholds on x_1 - x_2 / 2: of the pairs with different labels nearly all are in order."""
    random = np.random.default_rng(0)
    x = random.random((400, 3)).astype(np.float32)
    labels = np.digitize(x[:, 0] - x[:, 1] / 2, [0.1, 0.4]).astype(np.float32)
    data = RankingData(x, labels, np.arange(21) * 20, np.arange(20))

    def correct(scores):
        better, worse = pairs_of(data.labels, data.offsets)
        return float(np.mean(scores[better] > scores[worse]))

    model = RankProp(learning_rate=0.01 / largest_rate(x), epochs=50).fit(work(data, correct)).model
    assert correct(model.score(data)) > 0.97


def test_the_rate_is_constant():
    random = np.random.default_rng(0)
    data = RankingData(
        random.random((40, 3)).astype(np.float32),
        random.integers(0, 3, 40).astype(np.float32),
        np.arange(6) * 8,
        np.arange(5),
    )
    history = RankProp(learning_rate=0.01, epochs=30).fit(work(data)).history
    assert set(history["learning_rate"]) == {0.01 * largest_rate(data.features)}


def test_at_the_largest_rate_the_longest_document_is_met_at_once_whatever_its_scale():
    """One document of value 3,000 and target 1/2: after an update at the largest rate its score is its target."""
    data = RankingData(np.array([[3000.0]], np.float32), np.array([1], np.float32), np.array([0, 1]), np.array([1]))
    model = RankProp(learning_rate=1.0, epochs=1).fit(work(data)).model
    assert_allclose(model.score(data), [0.5], rtol=1e-5)


def test_features_of_any_size_are_learned_from_without_an_infinite_loss():
    random = np.random.default_rng(0)
    x = (random.random((200, 3)) * [1, 100, 10_000]).astype(np.float32)
    data = RankingData(x, random.integers(0, 3, 200).astype(np.float32), np.arange(21) * 10, np.arange(20))
    for part in RankProp.grid["learning_rate"]:
        losses = RankProp(learning_rate=part, epochs=5).fit(work(data)).history["loss"]
        assert losses.iloc[-1] <= losses.iloc[0]
