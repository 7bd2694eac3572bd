"""Gradient descent over queries: where it ends, what it keeps, when it slows down, how it fails."""

import itertools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from replirank.data.arrays import RankingData
from replirank.data.pairs import pairs_of
from replirank.engines import stochastic
from replirank.engines.batches import make_batches
from replirank.engines.stochastic import LossOfScores, descend_by_query
from replirank.errors import ReplirankError
from replirank.losses.pairwise import cross_entropy
from replirank.methods.base import Task
from replirank.methods.listnet import ListNet
from replirank.methods.ranknet_linear import RankNetLinear
from replirank.methods.ranknet_two_layer import RankNetTwoLayer
from replirank.models import linear, two_layer
from replirank.models.base import Model, namespace


def problem(seed=0, lengths=(9, 12, 10, 6, 11, 5), features=3):
    """Labels that the features explain in part, so that the loss has a minimum."""
    random = np.random.default_rng(seed)
    documents = sum(lengths)
    x = random.normal(size=(documents, features)).astype(np.float32)
    labels = np.digitize(x[:, 0] - x[:, -1] / 2 + random.normal(size=documents), [-0.7, 0.7])
    return RankingData(
        features=x,
        labels=labels.astype(np.float32),
        offsets=np.cumsum([0, *lengths]),
        query_ids=np.arange(len(lengths)),
    )


def pairwise_logistic(data, scores):
    """The summed loss over all pairs and its slope by document, in float64 and without JAX."""
    better, worse = pairs_of(data.labels, data.offsets)
    margins = scores[better] - scores[worse]
    pull = 1 / (1 + np.exp(margins))
    slopes = np.bincount(worse, pull, data.documents) - np.bincount(better, pull, data.documents)
    return np.logaddexp(0, -margins).sum(), slopes


def least_loss(data):
    """The summed loss that no linear function is below, and the weights of the best one."""
    x = data.features.astype(np.float64)

    def at(w):
        value, slopes = pairwise_logistic(data, x @ w)
        return value, slopes @ x

    found = minimize(at, np.zeros(x.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert np.abs(found.jac).max() < 1e-5
    return found.fun, found.x


def task(data, validate=lambda scores: 0.0, seed=1, report=lambda text: None, method=RankNetLinear):
    return Task(
        train=data,
        vali=data,
        seed=seed,
        validate=validate,
        report=report,
        shared=method.share(data, method.plan([data])),
    )


def by_training_loss(data):
    return lambda scores: -pairwise_logistic(data, scores)[0]


def run(
    loss,
    *,
    validate=lambda scores: 0.0,
    data=None,
    epochs=6,
    learning_rate=0.1,
    model=None,
    report=None,
    optimizer="sgd",
    patience=3,
    **rest,
):
    """Descent with any loss on a linear function, of one feature unless the data say other."""
    data = problem(features=1) if data is None else data
    return descend_by_query(
        LossOfScores(loss),
        model or linear.start(data.features.shape[1]),
        make_batches(data),
        task=task(data, validate, report=report or (lambda text: None)),
        learning_rate=learning_rate,
        epochs=epochs,
        optimizer=optimizer,
        patience=patience,
        **rest,
    )


# Where it ends


def test_ranknet_linear_reaches_the_minimum_that_scipy_finds():
    """Within 1 part in 10,000: steps on one query after another end near the minimum of the sum, not on it."""
    data = problem(lengths=(8,) * 30)
    least, weights = least_loss(data)
    fit = RankNetLinear(learning_rate=0.1, epochs=60).fit(task(data, by_training_loss(data)))
    reached, _ = pairwise_logistic(data, fit.model.score(data))
    assert least <= reached <= least * (1 + 1e-4)
    assert_allclose(fit.model.weights, weights, atol=0.02)


@pytest.mark.parametrize(("optimizer", "learning_rate"), [("adam", 0.1), ("sgd", 0.04)])
def test_one_query_is_plain_descent_to_the_minimum(optimizer, learning_rate):
    """With one query an epoch is one step on the whole loss: nothing but float32 is in the way."""
    data = problem(3, lengths=(20,))
    least, weights = least_loss(data)
    fit = descend_by_query(
        LossOfScores(cross_entropy),
        linear.start(3),
        make_batches(data),
        task=task(data, by_training_loss(data)),
        learning_rate=learning_rate,
        epochs=1000,
        optimizer=optimizer,
    )
    reached, _ = pairwise_logistic(data, fit.model.score(data))
    assert_allclose(reached, least, rtol=1e-6)
    assert_allclose(fit.model.weights, weights, atol=5e-3)  # where the loss is flat to 1e-6 of itself


def test_first_step_of_sgd_by_arithmetic():
    """One pair one apart: at w = 0 the slope is -1/2, so a step of .1 leads to .05, whose loss is log(1 + e^-.05)."""
    data = RankingData(
        np.array([[1.0], [0.0]], dtype=np.float32), np.array([1, 0], np.float32), np.array([0, 2]), np.array([7])
    )
    fit = run(cross_entropy, data=data, epochs=2, validate=by_training_loss(data))
    assert_allclose(fit.history["loss"], [np.log(2), np.log(1 + np.exp(-0.05))], rtol=1e-6)
    assert_allclose(fit.model.weights, [0.05 + 0.1 / (1 + np.exp(0.05))], rtol=1e-6)


def test_loss_is_the_mean_over_the_queries_that_have_a_pair():
    """At a learning rate of nothing, every epoch sees the loss at zero: log 2 for each pair."""
    data = problem(lengths=(5, 1, 9, 1, 4), features=1)
    pairs = len(pairs_of(data.labels, data.offsets)[0])
    with_pairs = sum(len(set(data.labels[rows])) > 1 for rows in data)
    fit = run(cross_entropy, data=data, learning_rate=0.0, epochs=2)
    assert_allclose(fit.history["loss"], np.log(2) * pairs / with_pairs, rtol=1e-6)


# What it keeps


def scripted(values):
    """A validation that knows in advance what to say, epoch by epoch, and remembers the scores it was shown."""
    seen = []

    def validate(scores):
        seen.append(scores)
        return values[len(seen) - 1]

    return validate, seen


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([0.1, 0.5, 0.3, 0.4], 1),
        ([0.1, 0.5, 0.5, 0.2], 1),
        ([0.7, 0.5, 0.6, 0.7], 0),
        ([0.1, 0.2, 0.3, 0.4], 3),
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([-4.0, -3.0, -2.0, -3.0], 2),
    ],
)
def test_keeps_the_best_validating_epoch_the_first_of_equals(values, kept):
    validate, seen = scripted(values)
    data = problem(features=1)
    fit = run(cross_entropy, validate=validate, data=data, epochs=4)
    assert len({scores.tobytes() for scores in seen}) == 4  # no two epochs alike
    assert_array_equal(fit.model.score(data), seen[kept])
    assert list(fit.history["validation"]) == values


def test_epochs_are_counted_from_one_and_reported():
    said = []
    data = problem()
    fit = RankNetLinear(epochs=3).fit(task(data, lambda scores: 0.25, report=said.append))
    assert list(fit.history.columns) == ["epoch", "loss", "validation", "learning_rate"]
    assert list(fit.history["epoch"]) == [1, 2, 3]
    assert [text.split(",")[0] for text in said] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert all("validation 0.2500" in text for text in said)
    assert f"loss {fit.history['loss'][0]:.5g}" in said[0]


# When it slows down


def falling(scores, labels, *, where, preferred):
    return -scores[0]


def flat(scores, labels, *, where, preferred):
    return jnp.sum(scores) * 0.0 + 1.0


@dataclass(frozen=True, eq=False)
class Constant(Model):
    """The same score for all documents."""

    level: np.ndarray

    def score_query(self, features):
        return namespace(features).broadcast_to(self.level, features.shape[:1])


ZERO = Constant(np.zeros((), dtype=np.float32))


def test_learning_rate_stays_while_the_loss_falls():
    fit = run(falling, model=ZERO, epochs=4)
    assert (np.diff(fit.history["loss"]) < 0).all()
    assert list(fit.history["learning_rate"]) == [0.1] * 4


def test_learning_rate_stays_while_the_loss_is_level():
    fit = run(flat, model=ZERO, epochs=8)
    assert list(fit.history["learning_rate"]) == [0.1] * 8


def test_learning_rate_is_halved_after_each_three_epochs_of_grown_loss():
    """Ascent (a negative learning rate) makes every epoch's loss larger than the one before."""
    fit = run(falling, model=ZERO, epochs=8, learning_rate=-0.1)
    assert (np.diff(fit.history["loss"]) > 0).all()
    assert list(fit.history["learning_rate"]) == [-0.1] * 3 + [-0.05] * 3 + [-0.025] * 2
    # The halved rate is used: each of the queries is met after steps of the rate of its epoch.
    queries, w, expected = 6, 0.0, []
    for rate in [-0.1] * 4 + [-0.05] * 3 + [-0.025]:
        expected.append(-np.mean(w + rate * np.arange(queries)))
        w += queries * rate
    assert_allclose(fit.history["loss"], expected, rtol=1e-5)


def test_learning_rate_is_never_halved_without_patience():
    fit = run(falling, model=ZERO, epochs=8, learning_rate=-0.1, patience=None)
    assert (np.diff(fit.history["loss"]) > 0).all()
    assert list(fit.history["learning_rate"]) == [-0.1] * 8


def test_ranknet_halves_whenever_an_epoch_is_worse_than_the_one_before():
    """ranknet2005, section 5.1, to the letter."""
    fit = RankNetLinear(learning_rate=1.0, epochs=60).fit(task(problem()))
    losses, rate, expected = fit.history["loss"], 1.0, [1.0]
    for before, loss in itertools.pairwise(losses):
        rate = rate / 2 if loss > before else rate
        expected.append(rate)
    assert_array_equal(fit.history["learning_rate"], expected)
    assert expected[-1] < 1.0  # it happened


def test_halving_with_patience_follows_the_losses_of_real_training():
    """From the epoch of the last halving on: three epochs, each worse than the one before the three."""
    fit = ListNet(learning_rate=1.0, epochs=60).fit(task(problem(), method=ListNet))
    losses, rate, since, expected = list(fit.history["loss"]), 1.0, 0, []
    for now in range(len(losses)):
        if now - since >= 3 and all(loss > losses[now - 3] for loss in losses[now - 2 : now + 1]):
            rate, since = rate / 2, now
        expected.append(rate)
    assert_array_equal(fit.history["learning_rate"], expected)
    assert expected[-1] < 1.0  # it happened


def test_with_patience_the_noise_of_the_order_alone_does_not_use_up_the_rate():
    """Far from the minimum an epoch may be above the one before; without patience each such epoch halves the rate."""
    data = problem(lengths=(8,) * 30, features=5)
    least, _ = least_loss(data)
    fit = run(cross_entropy, data=data, learning_rate=0.01, epochs=60, optimizer="adam")
    losses, rates = fit.history["loss"].to_numpy(), fit.history["learning_rate"].to_numpy()
    rises = (np.diff(losses) > 0).sum()
    halvings = round(np.log2(0.01 / rates[-1]))
    assert halvings < rises / 2
    assert losses[-1] * 30 <= least * 1.001


def test_ends_when_next_to_nothing_is_left_of_the_rate():
    """2^-20 is the first power of 1/2 below 1e-6; the first epoch is above nothing, and each halving takes three."""
    said = []
    fit = run(falling, model=ZERO, epochs=100, learning_rate=-0.1, report=said.append)
    assert len(fit.history) == 1 + 3 * 20
    assert_allclose(fit.history["learning_rate"].iloc[-1], -0.1 / 2**20)
    assert_allclose(fit.history["learning_rate"].iloc[-2], -0.1 / 2**19)
    assert said[-1] == "ended after epoch 61, the learning rate being -9.5e-08"


def test_a_learning_rate_of_nothing_is_never_the_end():
    assert len(run(cross_entropy, learning_rate=0.0, epochs=5).history) == 5


@pytest.mark.parametrize(("good", "run_for"), [(3, 3), (1, 1), (99, 5)])
def test_ends_with_the_epoch_whose_model_is_finished(good, run_for):
    seen = []

    def finished(model):
        seen.append(model)
        return len(seen) == good

    fit = run(cross_entropy, epochs=5, finished=finished)
    assert len(fit.history) == len(seen) == run_for


# How it fails


def test_a_loss_that_is_no_number_stops_with_a_remedy():
    def no_number(scores, labels, *, where, preferred):
        return jnp.log(scores[0] - 1)

    with pytest.raises(ReplirankError, match=r"the training loss is nan in epoch 1 at learning rate 0\.1\n") as caught:
        run(no_number, model=ZERO)
    assert "learning rates" in caught.value.remedy
    assert "config.yaml" in caught.value.remedy


def test_divergence_stops_in_the_epoch_it_happens():
    """The loss of the first epoch is that of zero weights; the step after it leads out of float32."""
    with pytest.raises(ReplirankError, match=r"the training loss is (nan|inf) in epoch 2 at learning rate 3e\+38"):
        RankNetLinear(learning_rate=3e38, epochs=5).fit(task(problem(lengths=(6,))))


@pytest.mark.parametrize("method", [RankNetLinear, RankNetTwoLayer])
def test_data_without_any_pair_leaves_the_starting_weights(method):
    data = problem()
    data = replace(data, labels=np.ones_like(data.labels))
    fit = method(epochs=2).fit(task(data, seed=3, method=method))
    start = linear.start(3) if method is RankNetLinear else two_layer.start(3, method().units, seed=3)
    assert_array_equal(fit.model.score(data), start.score(data))


# Again


@pytest.mark.parametrize("method", [RankNetLinear, RankNetTwoLayer])
def test_same_seed_same_history(method):
    data = problem()
    first, again, other = (
        method(epochs=4).fit(task(data, by_training_loss(data), seed, method=method)) for seed in (5, 5, 6)
    )
    assert first.history.equals(again.history)
    assert_array_equal(first.model.score(data), again.model.score(data))
    assert not first.history["loss"].equals(other.history["loss"])


@pytest.mark.parametrize("method", [RankNetLinear, RankNetTwoLayer, ListNet])
def test_folds_and_grid_points_share_one_compilation(method):
    """What makes one job per method and data set worth it. The folds differ in the number of their queries, too."""
    folds = [problem(0), problem(1, lengths=(9, 5, 6)), problem(2, lengths=(12, 12, 1, 10))]
    plan = method.plan(iter(folds))
    stochastic._epoch.clear_cache()
    compiled = []

    def listen(event, duration, **about):
        if event.endswith("backend_compile_duration") and "_epoch" in about.get("fun_name", ""):
            compiled.append(about["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for seed, fold in enumerate(folds):
            for learning_rate in (0.1, 0.01):
                work = replace(task(fold, seed=seed, method=method), shared=method.share(fold, plan))
                method(epochs=2, learning_rate=learning_rate).fit(work)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == ["jit(_epoch)"]


def test_shapes_shared_with_other_folds_change_nothing():
    fold, other = problem(0), problem(1, lengths=(9, 40))
    alone = RankNetLinear(epochs=3).fit(task(fold))
    shapes = RankNetLinear.plan([other, fold])
    assert shapes.classes != RankNetLinear.plan([fold]).classes
    together = RankNetLinear(epochs=3).fit(replace(task(fold), shared=RankNetLinear.share(fold, shapes)))
    assert_allclose(together.history["loss"], alone.history["loss"], rtol=1e-5)
    assert_allclose(together.model.score(fold), alone.model.score(fold), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("beyond", [0.0, 1e20])
def test_a_step_sees_nothing_of_the_query_beyond(beyond):
    """A query of 9 is a slice of 10: the tenth is the first of the next query, which has no pair."""
    data = problem(lengths=(9,))
    more = RankingData(
        features=np.concatenate([data.features, np.full((2, 3), beyond, dtype=np.float32)]),
        labels=np.concatenate([data.labels, [2, 2]]).astype(np.float32),
        offsets=np.array([0, 9, 11]),
        query_ids=np.array([0, 1]),
    )
    alone, followed = (RankNetLinear(epochs=20).fit(task(each)) for each in (data, more))
    assert_allclose(followed.history["loss"], alone.history["loss"], rtol=1e-6)
    assert_allclose(followed.model.weights, alone.model.weights, rtol=1e-6)
