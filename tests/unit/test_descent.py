"""Methods by gradient descent: what a subclass may bring, what it gets, and where each of them ends."""

from dataclasses import dataclass, fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from replirank.data.arrays import RankingData
from replirank.engines import stochastic
from replirank.engines.batches import LengthClass
from replirank.engines.task import Task
from replirank.losses import pairwise
from replirank.methods.families.descent import Descent
from replirank.methods.listmle import ListMLE
from replirank.methods.listnet import ListNet
from replirank.methods.rankcosine import RankCosine
from replirank.methods.ranknet_linear import RankNetLinear
from replirank.methods.ranknet_two_layer import RankNetTwoLayer
from replirank.methods.squared_listwise import SquaredListwise
from replirank.models import linear, two_layer
from replirank.models.base import Model, namespace

LISTWISE = [ListNet, ListMLE, RankCosine, SquaredListwise]


def problem(seed=0, queries=20, length=8, features=3):
    random = np.random.default_rng(seed)
    x = random.random(size=(queries * length, features)).astype(np.float32)
    labels = np.digitize(2 * x[:, 0] - x[:, -1] + random.normal(size=len(x)) / 2, [0.2, 0.8])
    return RankingData(x, labels.astype(np.float32), np.arange(queries + 1) * length, np.arange(queries))


def task(method, data, validate=lambda scores: 0.0, seed=1):
    shared = method.share(data, method.plan([data]))
    return Task(data, data, seed=seed, validate=validate, report=lambda text: None, shared=shared)


# The parameters


def test_linear_starts_from_any_constant():
    assert_array_equal(linear.start(3).weights, np.zeros(3))
    start = linear.start(3, value=0.25).weights
    assert_array_equal(start, [0.25] * 3)
    assert start.dtype == np.float32


def test_two_layer_starts_within_the_spread():
    hidden = two_layer.start(48, 10, seed=0, spread=0.01).hidden
    assert 0.009 < np.abs(hidden).max() <= 0.01
    # The same draw, only narrower; and from no spread nothing.
    assert_allclose(hidden / 0.01, two_layer.start(48, 10, seed=0, spread=1.0).hidden, rtol=1e-5)
    assert_array_equal(two_layer.start(48, 10, seed=0, spread=0.0).hidden, np.zeros((48, 10)))


# What a subclass may bring


def push(scores, labels, *, where):
    """Slopes of -1 for each score."""
    return -jnp.sum(jnp.where(where, scores, 0.0))


@dataclass(frozen=True)
class Pushed(Descent):
    title = "Pushed"
    loss = staticmethod(push)
    optimizer = "sgd"


@dataclass(frozen=True, eq=False)
class Constant(Model):
    level: np.ndarray

    def score_query(self, features):
        return namespace(features).broadcast_to(self.level, features.shape[:1])


@dataclass(frozen=True)
class PushedFrom(Pushed):
    level: float = 3.0

    def start(self, task):
        return Constant(np.array(self.level, dtype=np.float32))


def pull(scores, labels, *, where, strength):
    """Slopes of -strength for each score."""
    return strength * push(scores, labels, where=where)


@dataclass(frozen=True)
class Pulled(Pushed):
    strength: float = 1.0

    loss = staticmethod(pull)
    traced = ("strength",)


@dataclass(frozen=True)
class DrawnSteps:
    """An objective that is no loss of scores: slopes drawn anew in every step."""

    def __call__(self, model, query, hyper, key):
        return -jnp.sum(model.weights * jax.random.uniform(key, model.weights.shape))


@dataclass(frozen=True)
class Drawn(Pushed):
    title = "Drawn"
    patience = None

    def objective(self):
        return DrawnSteps()


def test_a_loss_is_enough():
    """Plain descent of the sum of scores: after an epoch the weights are the rate times the sum of all features."""
    data = problem()
    fit = Pushed(learning_rate=0.5, epochs=1).fit(task(Pushed, data))
    assert_allclose(fit.model.weights, 0.5 * data.features.sum(axis=0), rtol=1e-5)


def test_a_model_may_be_its_own():
    """20 queries of 8 documents push the level by the rate for each document."""
    data = problem()
    assert all(len(set(data.labels[rows])) > 1 for rows in data)
    fit = PushedFrom(learning_rate=0.25, epochs=2).fit(task(PushedFrom, data, validate=lambda scores: scores.max()))
    assert type(fit.model) is Constant
    assert fit.model.level == 3 + 2 * 20 * 8 * 0.25


def test_a_loss_may_have_hyperparameters():
    data = problem()
    fit = Pulled(learning_rate=0.5, epochs=1, strength=3.0).fit(task(Pulled, data))
    assert_allclose(fit.model.weights, 3 * 0.5 * data.features.sum(axis=0), rtol=1e-5)


def test_a_grid_of_a_traced_hyperparameter_compiles_once():
    data, grid = problem(), np.linspace(0.1, 1, 10)
    stochastic._epoch.clear_cache()
    fits = [Pulled(epochs=1, strength=float(strength)).fit(task(Pulled, data)) for strength in grid]
    assert stochastic._epoch._cache_size() == 1
    lengths = [np.linalg.norm(fit.model.weights) for fit in fits]
    assert_allclose(np.array(lengths) / lengths[-1], grid, rtol=1e-5)  # and each point has its own value


def test_every_step_has_a_new_key_that_the_seed_decides():
    """Twenty queries in each of 50 epochs: sums of a thousand draws between 0 and 1 for each weight."""
    data = problem()
    first, again, other = (
        Drawn(learning_rate=1.0, epochs=50).fit(task(Drawn, data, lambda scores: scores.sum(), seed))
        for seed in (1, 1, 2)
    )
    assert_array_equal(first.model.weights, again.model.weights)
    assert not np.isclose(first.model.weights, other.model.weights).any()
    # The mean of 1,000 uniform draws: 1/2, with a standard error of 1 / sqrt(12 * 1000).
    assert_allclose(first.model.weights / 1000, 0.5, atol=4 / np.sqrt(12_000))
    steps = np.diff(first.history["loss"])
    assert len(np.unique(steps)) == len(steps)


def test_fields_are_inherited():
    assert [field.name for field in fields(PushedFrom)] == ["learning_rate", "epochs", "level"]
    assert PushedFrom.make(epochs=2, level=1.0) == PushedFrom(learning_rate=0.001, epochs=2, level=1.0)


# The methods


def test_listwise_methods_have_classes_of_length_alone():
    data = problem(length=9)
    for method in LISTWISE:
        assert method.plan([data]).classes == (LengthClass(10, None),), method.title
    for method in (RankNetLinear, RankNetTwoLayer):
        assert all(found.preferred for found in method.plan([data]).classes)


def reached(method, data, total, **rest):
    """The total of the loss over the queries, at the model that is best by it."""
    work = task(method, data, validate=lambda scores: -total(scores))
    return total(method(**rest).fit(work).model.score(data))


def by_query(data, loss):
    return lambda scores: sum(loss(scores[rows], data.labels[rows].astype(float)) for rows in data)


def least(data, total, start, offset=False):
    x = data.features.astype(np.float64)
    x = np.column_stack([x, np.ones(len(x))]) if offset else x
    return minimize(lambda w: total(x @ w), np.full(x.shape[1], start), method="BFGS").fun


def listnet(scores, labels):
    return -softmax(labels) @ log_softmax(scores)


def listmle(scores, labels):
    """Each document is chosen before those of lower label."""
    return sum(
        np.logaddexp.reduce([score, *scores[labels < label]]) - score
        for score, label in zip(scores, labels, strict=True)
    )


def cosine(scores, labels):
    return (1 - scores @ labels / np.linalg.norm(scores) / np.linalg.norm(labels)) / 2


@pytest.mark.parametrize(
    ("method", "loss", "start"), [(ListNet, listnet, 0.0), (ListMLE, listmle, 0.0), (RankCosine, cosine, 0.1)]
)
def test_listwise_methods_come_to_the_minimum_that_scipy_finds(method, loss, start):
    """Within 1 part in 1,000: steps on one query after another end near the minimum of the sum, not on it."""
    data = problem()
    total = by_query(data, loss)
    lowest = least(data, total, start)
    assert lowest * (1 - 1e-6) <= reached(method, data, total, learning_rate=0.05, epochs=60) <= lowest * (1 + 1e-3)


def test_squared_listwise_comes_to_least_squares_with_an_offset():
    data = problem()
    x = np.column_stack([data.features, np.ones(data.documents)]).astype(np.float64)
    expected, *_ = np.linalg.lstsq(x, data.labels, rcond=None)

    def error(scores):  # an offset aside
        errors = scores - data.labels
        return ((errors - errors.mean()) ** 2).sum()

    work = task(SquaredListwise, data, validate=lambda scores: -error(scores))
    fit = SquaredListwise(learning_rate=0.05, epochs=60).fit(work)
    assert fit.model.weights.shape == (3,)
    assert error(fit.model.score(data)) <= error(x @ expected) * (1 + 1e-3)


def test_rankcosine_does_not_start_from_zero():
    data = problem()
    assert (RankCosine().start(task(RankCosine, data)).weights > 0).all()


@pytest.mark.parametrize("method", [RankNetLinear, RankNetTwoLayer])
def test_ranknet_takes_ties_by_its_field(method):
    assert method().loss is pairwise.cross_entropy
    assert method(ties=True).loss is pairwise.cross_entropy_ties
    data = problem()
    without, with_ties = (method(ties=ties, epochs=1).fit(task(method, data)) for ties in (False, True))
    assert with_ties.history["loss"][0] > without.history["loss"][0]


def test_ranknet_with_ties_starts_at_log_2_for_every_pair():
    """At zero weights each pair costs log 2, whether its target is 1 or 1/2; 8 documents have 28 pairs."""
    fit = RankNetLinear(ties=True, learning_rate=0.0, epochs=1).fit(task(RankNetLinear, problem()))
    assert_allclose(fit.history["loss"], 28 * np.log(2), rtol=1e-6)


def test_ranknet_two_layer_starts_by_the_seed():
    data = problem()
    starts = [RankNetTwoLayer(units=4).start(task(RankNetTwoLayer, data, seed=seed)) for seed in (1, 1, 2)]
    assert starts[0].hidden.shape == (3, 4)
    assert_array_equal(starts[0].hidden, starts[1].hidden)
    assert not np.array_equal(starts[0].hidden, starts[2].hidden)
