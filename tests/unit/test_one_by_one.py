"""Descent with an update after each example, against arithmetic by hand and finite differences."""

from __future__ import annotations

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replirank.data.arrays import RankingData
from replirank.data.pairs import pairs_of
from replirank.engines.one_by_one import cost_of_pair, descend_one_by_one, one_pass, squared_error
from replirank.engines.task import Task
from replirank.errors import ReplirankError
from replirank.models import linear, two_layer
from replirank.models.linear import Affine

X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], dtype=np.float32)
RATE = 0.1


def logistic(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def pairs(*rows: tuple[int, int]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(side, dtype=np.int32) for side in zip(*rows, strict=True))


def separable(seed: int = 0) -> RankingData:
    """Six queries whose labels are a linear function of the features, and noise beside it."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 48).astype(np.float32)
    turned, _ = np.linalg.qr(random.normal(size=(3, 3)))  # so that no feature is the label by itself
    features = np.column_stack([labels, random.normal(size=(48, 2))]) @ turned
    return RankingData(features.astype(np.float32), labels, np.arange(7) * 8, np.arange(6))


def work(data: RankingData, validate=lambda scores: 0.0, seed: int = 1) -> Task:
    return Task(data, data, seed=seed, validate=validate, report=lambda text: None)


def correct(data: RankingData, scores: np.ndarray) -> float:
    better, worse = pairs_of(data.labels, data.offsets)
    return float(np.mean(scores[better] > scores[worse]))


def by_pair(model, data: RankingData, task: Task, rate: float = RATE, epochs: int = 30, **rest):
    found = pairs_of(data.labels, data.offsets)
    return descend_one_by_one(
        cost_of_pair, model, data.features, lambda model: found, task=task, learning_rate=rate, epochs=epochs, **rest
    )


# One pass


def test_one_pair_moves_the_weights_by_rate_times_sigmoid():
    """The slope of log(1 + e^-o) is -1 / (1 + e^o), times the difference of the two documents."""
    start = np.array([0.5, -0.25], dtype=np.float32)
    margin = start @ (X[0] - X[1])
    moved, total = one_pass(linear.Linear(start), X, pairs((0, 1)), RATE, cost=cost_of_pair)
    assert_allclose(moved.weights, start + RATE * logistic(-margin) * (X[0] - X[1]), rtol=1e-6)
    assert_allclose(total, np.log1p(np.exp(-margin)), rtol=1e-6)


def test_two_pairs_are_two_updates_in_their_order():
    """From zero the first pair moves by 1/2 of the rate; the second sees what the first has moved."""
    first = RATE / 2 * (X[0] - X[1])
    margin = first @ (X[2] - X[0])
    second = first + RATE * logistic(-margin) * (X[2] - X[0])
    moved, total = one_pass(linear.start(2), X, pairs((0, 1), (2, 0)), RATE, cost=cost_of_pair)
    assert_allclose(moved.weights, second, rtol=1e-6)
    assert_allclose(total, np.log(2) + np.log1p(np.exp(-margin)), rtol=1e-6)
    other, _ = one_pass(linear.start(2), X, pairs((2, 0), (0, 1)), RATE, cost=cost_of_pair)
    assert np.abs(other.weights - moved.weights).max() > 1e-3


def test_a_document_moves_the_weights_by_twice_rate_times_error():
    start = Affine(np.array([0.5, -0.25], dtype=np.float32), np.float32(0.125))
    error = X[1] @ start.weights + start.offset - 0.75
    example = np.array([1], dtype=np.int32), np.array([0.75], dtype=np.float32)
    moved, total = one_pass(start, X, example, RATE, cost=squared_error)
    assert_allclose(moved.weights, start.weights - RATE * 2 * error * X[1], rtol=1e-6)
    assert_allclose(moved.offset, start.offset - RATE * 2 * error, rtol=1e-6)
    assert_allclose(total, error**2, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_step_of_a_net_is_the_finite_difference_of_its_cost(seed):
    with jax.enable_x64(True):
        random = np.random.default_rng(seed)
        model = two_layer.TwoLayer(random.normal(size=(2, 3)), random.normal(size=3), random.normal(size=3))
        features, pair = X.astype(np.float64), pairs((2, 1))
        moved, _ = one_pass(model, features, pair, 1.0, cost=cost_of_pair)
        flat, unflatten = jax.flatten_util.ravel_pytree(model)
        after, _ = jax.flatten_util.ravel_pytree(moved)

        def cost(values):
            return float(cost_of_pair(unflatten(jnp.asarray(values)), jnp.asarray(features), (2, 1)))

        step = 1e-6
        slopes = [(cost(flat + step * e) - cost(flat - step * e)) / (2 * step) for e in np.eye(len(flat))]
        assert_allclose(flat - after, slopes, rtol=0, atol=1e-8)


# The descent


@pytest.mark.parametrize("start", [linear.start(3), two_layer.start(3, 4, seed=1, spread=0.0)])
def test_all_pairs_come_out_right_where_they_can(start):
    data = separable()
    task = work(data, validate=lambda scores: correct(data, scores))
    fit = by_pair(start, data, task, epochs=100, finished=lambda model: correct(data, model.score(data)) == 1)
    assert correct(data, fit.model.score(data)) == 1
    assert len(fit.history) < 100  # it ended with that epoch
    assert fit.history["validation"].iloc[-1] == 1


def test_the_first_loss_is_log_2_for_every_pair_and_the_last_is_less():
    data = separable()
    first = by_pair(linear.start(3), data, work(data), rate=0.0, epochs=1).history["loss"][0]
    # A sum of over 100 costs in float32, of which each addition rounds by up to 6e-8 of the sum.
    assert first == pytest.approx(np.log(2), rel=1e-5)
    assert by_pair(linear.start(3), data, work(data)).history["loss"].iloc[-1] < 0.2


def test_the_seed_decides_the_order():
    data = separable()
    first, again, other = (by_pair(linear.start(3), data, work(data, seed=seed), epochs=2) for seed in (1, 1, 2))
    assert_array_equal(first.model.weights, again.model.weights)
    assert (first.model.weights != other.model.weights).any()


def test_the_rate_is_halved_when_the_error_grows():
    """One pair at a negative rate: its cost grows in every epoch."""
    data = RankingData(X[:2], np.array([1, 0], dtype=np.float32), np.array([0, 2]), np.array([1]))
    rates = by_pair(linear.start(2), data, work(data), rate=-1.0, epochs=4).history["learning_rate"]
    assert rates.tolist() == [-1, -1 / 2, -1 / 4, -1 / 8]
    rates = by_pair(linear.start(2), data, work(data), rate=-1.0, epochs=4, patience=None).history["learning_rate"]
    assert set(rates) == {-1}


def test_the_first_of_the_best_epochs_is_kept():
    data, values = separable(), iter([0.1, 0.3, 0.3, 0.2])
    fit = by_pair(linear.start(3), data, work(data, validate=lambda scores: next(values)), epochs=4)
    rising = iter([0.1, 0.2])
    second = by_pair(linear.start(3), data, work(data, validate=lambda scores: next(rising)), epochs=2)
    assert fit.history["validation"].tolist() == [0.1, 0.3, 0.3, 0.2]
    assert_array_equal(fit.model.weights, second.model.weights)


def test_examples_are_asked_for_before_each_pass_and_stay_during_it():
    """One document with target 1, then -1: at rate 1/4 and x = 1 a step goes half of the way."""
    asked = []

    def examples(model):
        asked.append(float(model.offset))
        return np.zeros(2, dtype=np.int32), np.full(2, 1.0 if len(asked) == 1 else -1.0, dtype=np.float32)

    data = RankingData(np.zeros((1, 1), dtype=np.float32), np.zeros(1), np.array([0, 1]), np.array([1]))
    start = Affine(np.zeros(1, dtype=np.float32), np.zeros((), dtype=np.float32))
    fit = descend_one_by_one(
        squared_error, start, data.features, examples, task=work(data), learning_rate=0.25, epochs=2, patience=None
    )
    assert asked == [0, 0.75]  # 0, 1/2, 3/4: two steps towards 1
    assert_allclose(fit.history["loss"], [(1 + 0.25) / 2, (1.75**2 + 0.875**2) / 2], rtol=1e-6)


def test_without_examples_nothing_moves():
    data = RankingData(X, np.ones(3, dtype=np.float32), np.array([0, 3]), np.array([1]))
    fit = by_pair(linear.start(2), data, work(data), epochs=2)
    assert_array_equal(fit.model.weights, [0, 0])
    assert fit.history["loss"].tolist() == [0, 0]


def test_a_rate_that_is_too_large_is_an_error_that_says_so():
    def examples(model):
        return np.zeros(100, dtype=np.int32), np.ones(100, dtype=np.float32)

    data = RankingData(10 * X, np.zeros(3), np.array([0, 3]), np.array([1]))
    with pytest.raises(ReplirankError, match="learning rate 100"):
        descend_one_by_one(
            squared_error, linear.start(2), data.features, examples, task=work(data), learning_rate=100.0, epochs=3
        )
