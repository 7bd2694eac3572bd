"""Scoring functions: kept, loaded, and the same for a document whatever stands around it."""

import importlib
import pkgutil
import sys
import zipfile
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import replirank.models
from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError
from replirank.models import linear, two_layer
from replirank.models.base import Model, load, save
from replirank.models.bayes_optimal import BayesOptimal
from replirank.models.comparator import Comparator
from replirank.models.linear import Affine, Linear
from replirank.models.places import WeightedPlaces
from replirank.models.quadratic import Quadratic
from replirank.models.steps import Steps
from replirank.models.stumps import Stumps
from replirank.models.two_layer import TwoLayer


def ranking(features):
    """One query of documents with these features."""
    features = np.asarray(features, dtype=np.float32)
    count = len(features)
    return RankingData(features, np.zeros(count, dtype=np.float32), np.array([0, count]), np.array([1]))


def documents(count, features, seed=0):
    return np.random.default_rng(seed).normal(size=(count, features)).astype(np.float32)


def a_linear(features, seed=1):
    return Linear(np.random.default_rng(seed).normal(size=features))


def a_two_layer(features, seed=1, units=10):
    random = np.random.default_rng(seed)
    shapes = (features, units), (units,), (units,)
    return TwoLayer(*(random.normal(size=shape).astype(np.float32) for shape in shapes))


def a_quadratic(features, seed=1):
    random = np.random.default_rng(seed)
    return Quadratic(random.normal(size=features), random.normal(size=(features, features)))


def a_bayes_optimal(features, seed=1, levels=3):
    random = np.random.default_rng(seed)
    return BayesOptimal(random.normal(size=(levels, features)), random.normal(size=levels), np.array([0.0, 1.0, 3.0]))


def a_stumps(features, seed=1, rounds=20):
    random = np.random.default_rng(seed)
    return Stumps(
        random.integers(0, features, rounds), random.normal(size=rounds).astype(np.float32), random.normal(size=rounds)
    )


def an_affine(features, seed=1):
    return Affine(a_linear(features, seed).weights, np.array(-0.25 * seed))


def a_comparator(features, seed=1, units=5):
    random = np.random.default_rng(seed)
    shapes = (features, units), (features, units), (units,), (units,)
    return Comparator(*(random.normal(size=shape).astype(np.float32) for shape in shapes))


def some_weighted_places(features, seed=1):
    return WeightedPlaces(np.random.default_rng(seed).normal(size=features))


def some_steps(features, seed=1, steps=4):
    random = np.random.default_rng(seed)
    edges = np.sort(random.normal(size=(features, steps - 1)).astype(np.float32), axis=1)
    return Steps(edges, random.normal(size=(features, steps)))


# class -> a model for so many features
EXAMPLES = {
    Linear: a_linear,
    Affine: an_affine,
    TwoLayer: a_two_layer,
    Quadratic: a_quadratic,
    BayesOptimal: a_bayes_optimal,
    Stumps: a_stumps,
    Comparator: a_comparator,
    WeightedPlaces: some_weighted_places,
    Steps: some_steps,
}

every_kind = pytest.mark.parametrize("example", EXAMPLES.values(), ids=[model.__name__ for model in EXAMPLES])
BY_DOCUMENT = [model for model in EXAMPLES if model.by_document]


def test_every_kind_has_an_example_here():
    """A new model is a new line in EXAMPLES."""
    for module in pkgutil.iter_modules(replirank.models.__path__, "replirank.models."):
        importlib.import_module(module.name)
    assert {model for model in Model.__subclasses__() if model.__module__.startswith("replirank.")} == set(EXAMPLES)


# By arithmetic


def test_linear_by_arithmetic():
    assert_array_equal(Linear(np.array([2.0, -1.0])).score(ranking([[1, 0], [0, 1], [3, 4]])), [2, -1, 2 * 3 - 4])


def test_two_layer_by_arithmetic():
    model = TwoLayer(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, -1.0]), np.array([3.0, -2.0]))
    expected = [3 * np.tanh(1 + 0.5) - 2 * np.tanh(2 * 4 - 1), 3 * np.tanh(0.5) - 2 * np.tanh(-1.0)]
    assert_allclose(model.score(ranking([[1, 4], [0, 0]])), expected, rtol=1e-14)


def test_sums_are_in_float64():
    """1e8 + 1 - 1e8 is 0 in float32."""
    assert_array_equal(Linear(np.ones(3, dtype=np.float32)).score(ranking([[1e8, 1, -1e8]])), [1])


# Kept and loaded


def in_precision(array, precision):
    """Whole numbers stay what they are."""
    return array.astype(precision) if np.issubdtype(array.dtype, np.floating) else array


@every_kind
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_loaded_model_scores_as_the_saved_one(example, precision, tmp_path):
    data = ranking(documents(50, 7))
    models = {
        f"fold{fold}": type(model)(*(in_precision(array, precision) for array in vars(model).values()))
        for fold, model in enumerate((example(7, seed=fold) for fold in range(3)), 1)
    }
    save(tmp_path / "models.npz", models)
    loaded = load(tmp_path / "models.npz")
    assert list(loaded) == ["fold1", "fold2", "fold3"]
    for name, model in models.items():
        assert type(loaded[name]) is type(model)
        for field, array in vars(model).items():
            assert_array_equal(getattr(loaded[name], field), array)
            assert getattr(loaded[name], field).dtype == array.dtype
        assert loaded[name].score(data).tobytes() == model.score(data).tobytes()
    assert len({model.score(data).tobytes() for model in loaded.values()}) == 3


def test_kinds_may_be_mixed_in_one_file(tmp_path):
    save(tmp_path / "models.npz", {"a/b": a_linear(2), "c": a_two_layer(2)})
    loaded = load(tmp_path / "models.npz")
    assert {name: type(model) for name, model in loaded.items()} == {"a/b": Linear, "c": TwoLayer}


def test_same_models_same_bytes(tmp_path):
    for name in ("first", "second"):
        save(tmp_path / name / "models.npz", {"fold1": a_linear(5), "fold2": a_two_layer(5)})
    assert (tmp_path / "first/models.npz").read_bytes() == (tmp_path / "second/models.npz").read_bytes()
    # Not only within the same second: no time of writing is in it.
    with zipfile.ZipFile(tmp_path / "first/models.npz") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


@pytest.mark.parametrize(
    "name",
    [
        "replirank.models.oracle:Oracle",
        "replirank.models.linear:Oracle",
        "replirank.models.linear:start",
        "oracle:Linear",
    ],
)
def test_what_is_no_model_is_named_with_the_file_and_a_remedy(tmp_path, name):
    path = tmp_path / "models.npz"
    np.savez(path, **{"fold1/class": np.array(name), "fold1/weights": np.zeros(2)})
    with pytest.raises(ReplirankError, match=f"'{name}' is not a model") as caught:
        load(path)
    assert caught.value.path == path
    assert "train the method again" in caught.value.remedy


def test_a_file_makes_no_other_package_be_imported(tmp_path):
    np.savez(tmp_path / "models.npz", **{"fold1/class": np.array("antigravity:fly")})
    with pytest.raises(ReplirankError):
        load(tmp_path / "models.npz")
    assert "antigravity" not in sys.modules


# Each document for itself


@pytest.mark.parametrize("example", [EXAMPLES[model] for model in BY_DOCUMENT], ids=lambda example: example.__name__)
@pytest.mark.parametrize("features", [1, 2, 3, 8, 46, 136, 700])
def test_scoring_does_not_depend_on_other_rows(example, features):
    """To the last bit: matrix products, buffers and vector units all cut rows where it suits them."""
    x, model = documents(1500, features), example(features)
    scores = model.score(ranking(x))
    order = np.random.default_rng(2).permutation(len(x))
    assert model.score(ranking(x[order])).tobytes() == scores[order].tobytes()
    for some in (slice(0, 1), slice(7, 8), slice(3, 1000), slice(1400, None), slice(5, None, 3)):
        assert model.score(ranking(x[some])).tobytes() == np.ascontiguousarray(scores[some]).tobytes()
    changed = x.copy()
    changed[::2] = 1e30
    assert model.score(ranking(changed))[1::2].tobytes() == scores[1::2].tobytes()


@every_kind
def test_scoring_does_not_depend_on_which_queries_are_taken(example):
    x, model = documents(60, 46), example(46)
    whole = RankingData(x, np.zeros(60, dtype=np.float32), np.array([0, 7, 8, 30, 60]), np.arange(4))
    scores, taken = model.score(whole), [3, 1, 0]
    assert model.score(whole.take(taken)).tobytes() == scores[whole.rows(np.array(taken))].tobytes()


@every_kind
def test_a_score_for_each_document_in_float64(example):
    scores = example(4).score(ranking(documents(9, 4)))
    assert scores.shape == (9,)
    assert scores.dtype == np.float64


def test_what_a_comparator_prefers_does_not_depend_on_other_documents():
    """To the last bit; its scores are places, which do."""
    x, model = documents(300, 46), jax.tree.map(np.float64, a_comparator(46))
    preferences = model.preferences(x)
    for some in (slice(7, 8), slice(3, 200), slice(5, None, 3)):
        assert model.preferences(x[some]).tobytes() == np.ascontiguousarray(preferences[some, some]).tobytes()


# The same function for training


def test_a_comparator_sorts_by_what_it_was_trained_to_prefer():
    x, model = documents(40, 46), a_comparator(46)
    trained = jax.jit(lambda model, x, y: model.preference(x, y))(model, np.repeat(x, 40, axis=0), np.tile(x, (40, 1)))
    assert_allclose(np.reshape(trained, (40, 40)), model.preferences(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "model", [model for model in BY_DOCUMENT if model not in (Stumps, Steps)], ids=lambda model: model.__name__
)
def test_what_is_trained_is_what_scores(model):
    """The model is a pytree of its arrays; under jit, in float32, the same formula gives the same scores."""
    exact, x = EXAMPLES[model](46), documents(200, 46)
    trained = jax.tree.map(lambda array: jnp.asarray(array, dtype=jnp.float32), exact)
    assert type(trained) is model
    scores = jax.jit(lambda model, features: model.score_query(features))(trained, jnp.asarray(x))
    assert scores.dtype == jnp.float32
    expected = exact.score(ranking(x))
    assert_allclose(scores, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@dataclass(frozen=True, eq=False)
class Wins(Model):
    """A comparator: a document's score is how many of its query's documents it beats."""

    weights: np.ndarray
    by_document = False

    def score_query(self, features):
        values = features @ self.weights
        return np.sum(values[:, None] > values[None, :], axis=1).astype(np.float64)


def test_a_model_that_compares_documents_scores_query_by_query():
    x = np.array([[3], [1], [2], [5], [4]], dtype=np.float32)
    data = RankingData(x, np.zeros(5, dtype=np.float32), np.array([0, 3, 5]), np.arange(2))
    assert_array_equal(Wins(np.ones(1)).score(data), [2, 0, 1, 1, 0])


# Where training starts


def test_linear_starts_at_zero():
    assert_array_equal(linear.start(5).weights, np.zeros(5))


def test_two_layer_starts_small_and_differently_by_seed():
    start, again = (two_layer.start(48, 10, seed=0) for _ in range(2))
    assert_array_equal(start.hidden, again.hidden)
    assert_array_equal(start.output, again.output)
    assert {array.dtype for array in vars(start).values()} == {np.dtype(np.float32)}
    assert [array.shape for array in vars(start).values()] == [(48, 10), (10,), (10,)]
    assert np.abs(start.hidden).max() <= (3 / 48) ** 0.5
    assert np.abs(start.hidden).max() > 0.9 * (3 / 48) ** 0.5
    # Inputs of variance 1 give activations of variance 1: 48 weights of variance spread^2 / 3 each.
    assert_allclose(48 * np.asarray(start.hidden).var(), 1, rtol=0.15)
    assert np.abs(start.output).max() <= 0.1  # ranknet2005, section 5.1
    assert_array_equal(start.offsets, np.zeros(10))
    assert len(np.unique(start.hidden)) == 480
    other = two_layer.start(48, 10, seed=1)
    assert not np.array_equal(start.hidden, other.hidden)
    assert not np.array_equal(start.output, other.output)
