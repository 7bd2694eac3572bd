"""The quadratic scoring function: against sums written out, and the same for a document whatever stands around it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replirank.data.arrays import RankingData
from replirank.models.base import load, save
from replirank.models.quadratic import Quadratic, expand, from_expanded


def ranking(features):
    """One query of documents with these features."""
    features = np.asarray(features, dtype=np.float32)
    count = len(features)
    return RankingData(features, np.zeros(count, dtype=np.float32), np.array([0, count]), np.array([1]))


def a_quadratic(features, seed=1):
    random = np.random.default_rng(seed)
    return Quadratic(random.normal(size=features), random.normal(size=(features, features)))


def documents(count, features, seed=0):
    return np.random.default_rng(seed).normal(size=(count, features)).astype(np.float32)


def test_by_arithmetic():
    model = Quadratic(np.array([1.0, -2.0]), np.array([[3.0, 5.0], [0.0, 7.0]]))
    expected = [1 * 2 - 2 * 4 + 3 * 2 * 2 + 5 * 2 * 4 + 7 * 4 * 4, 1 + 3, 0]
    assert_array_equal(model.score(ranking([[2, 4], [1, 0], [0, 0]])), expected)


def test_by_brute_force():
    x, model = documents(40, 5), a_quadratic(5)
    expected = [
        sum(model.weights[i] * float(row[i]) for i in range(5))
        + sum(model.products[i, j] * float(row[i]) * float(row[j]) for i in range(5) for j in range(5))
        for row in x
    ]
    assert_allclose(model.score(ranking(x)), expected, rtol=1e-12, atol=1e-12)


def test_sums_are_in_float64():
    """1e8 + 1 - 1e8 is 0 in float32, whether the terms are features or products."""
    ones = np.ones(3, dtype=np.float32)
    assert_array_equal(Quadratic(ones, np.zeros((3, 3), dtype=np.float32)).score(ranking([[1e8, 1, -1e8]])), [1])
    products = np.diag(np.array([1, 1, -1], dtype=np.float32))
    assert_array_equal(Quadratic(0 * ones, products).score(ranking([[1e4, 1, 1e4]])), [1])


@pytest.mark.parametrize("features", [1, 3, 46])
def test_a_score_does_not_depend_on_the_documents_around(features):
    """To the last bit."""
    x, model = documents(500, features), a_quadratic(features)
    scores = model.score(ranking(x))
    order = np.random.default_rng(2).permutation(len(x))
    assert model.score(ranking(x[order])).tobytes() == scores[order].tobytes()
    for some in (slice(0, 1), slice(17, 20), slice(3, 400, 7)):
        assert model.score(ranking(x[some])).tobytes() == scores[some].tobytes()


@pytest.mark.parametrize("features", [1, 2, 5])
def test_expanded_are_the_features_and_each_product_once(features):
    """Of distinct primes: no product arises in two ways."""
    x = np.array([2, 3, 5, 7, 11][:features], dtype=np.float32)
    products = [a * b for a, b in itertools.combinations_with_replacement(x, 2)]
    assert_array_equal(expand(jnp.asarray(x)), [*x, *products])


def test_as_many_as_in_the_paper():
    """ranknet2005, section 6.2: 569 features became 162,734."""
    assert len(jax.eval_shape(expand, jnp.ones(569))) == 162_734 == 569 + 569 * 570 // 2


@pytest.mark.parametrize("features", [1, 2, 3, 4, 46])
def test_weights_of_what_is_expanded_score_it(features):
    x = documents(30, features)
    weights = np.random.default_rng(3).normal(size=features + features * (features + 1) // 2)
    expected = [np.sum(weights * np.asarray(expand(jnp.asarray(row)), dtype=np.float64)) for row in x]
    # The products were rounded to float32: each by half an eps of its size.
    size = max(np.abs(weights).sum() * max(1, np.abs(row).max()) ** 2 for row in x)
    assert_allclose(from_expanded(weights).score(ranking(x)), expected, atol=np.finfo(np.float32).eps * size)


def test_kept_and_loaded(tmp_path):
    data, model = ranking(documents(20, 6)), a_quadratic(6)
    save(tmp_path / "models.npz", {"fold1": model})
    loaded = load(tmp_path / "models.npz")["fold1"]
    assert type(loaded) is Quadratic
    assert loaded.score(data).tobytes() == model.score(data).tobytes()
