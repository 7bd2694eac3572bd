"""The Bayes-optimal ranking function: its value, where it starts, and any loss can train it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError
from replirank.models.bayes_optimal import BayesOptimal, expected_gain, gains_of, share_boundaries, warm_start


def ranking(features, labels=None):
    """Queries of ten documents (or one of all) with these features."""
    features = np.asarray(features, dtype=np.float32)
    labels = np.zeros(len(features)) if labels is None else labels
    offsets = np.arange(0, len(features) + 1, 10) if len(features) % 10 == 0 else np.array([0, len(features)])
    return RankingData(features, labels.astype(np.float32), offsets, np.arange(len(offsets) - 1))


def a_model(features, seed=1, levels=3):
    random = np.random.default_rng(seed)
    return BayesOptimal(
        random.normal(size=(levels, features)), random.normal(size=levels), np.array(gains_of(range(levels)))
    )


# By arithmetic


def test_score_by_arithmetic():
    """Odds of 1 : 2 : 4 from the weights, 1 : 3 : 1 from the offsets."""
    model = BayesOptimal(
        np.log([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), np.log([1.0, 3.0, 1.0]), gains=np.array([0.0, 1.0, 3.0])
    )
    scores = model.score(ranking([[1, 5], [0, 7], [2, 0]]))
    expected = [(6 * 1 + 4 * 3) / (1 + 6 + 4), (3 * 1 + 1 * 3) / (1 + 3 + 1), (12 * 1 + 16 * 3) / (1 + 12 + 16)]
    assert_allclose(scores, expected, rtol=1e-14)


def test_two_levels_are_a_logistic_function():
    model = BayesOptimal(np.array([[0.0], [1.0]]), np.zeros(2), np.array([0.0, 1.0]))
    assert_allclose(model.score(ranking([[0], [1], [-2]])), [1 / 2, 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(2))])


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_large_logits_are_certain(size):
    logits = size * np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert_array_equal(expected_gain(logits, np.array([0.0, 1.0, 3.0])), [0, 1, 3])


def test_gains_of_half_levels():
    assert_allclose(gains_of([0, 0.5, 3]), [0, 2**0.5 - 1, 7])


@pytest.mark.parametrize("levels", [range(1000), [0, 500]])
def test_a_strict_order_is_refused(levels):
    with pytest.raises(ReplirankError, match="too many for a multiclass logistic model"):
        gains_of(levels)


@pytest.mark.parametrize("features", [1, 3, 46, 136])
def test_a_document_scores_the_same_whatever_stands_around_it(features):
    x, model = np.random.default_rng(0).normal(size=(1500, features)).astype(np.float32), a_model(features)
    scores = model.score(ranking(x))
    order = np.random.default_rng(2).permutation(len(x))
    assert model.score(ranking(x[order])).tobytes() == scores[order].tobytes()
    for some in (slice(0, 1), slice(7, 8), slice(3, 1000), slice(5, None, 3)):
        assert model.score(ranking(x[some])).tobytes() == np.ascontiguousarray(scores[some]).tobytes()


# Where it starts


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(-20, 20), min_size=2, max_size=10),
    st.lists(st.integers(0, 10_000), min_size=2, max_size=5),
)
def test_the_warm_start_ranks_as_the_linear_function(linear, boundaries):
    """Wherever the boundaries are. Where the expected gain is flat to float64's eps, it may turn by that much."""
    linear, levels = np.sort(linear), range(len(boundaries) + 1)
    gains, boundaries = np.array(gains_of(levels)), np.array(boundaries)[:, None] % 40 - 20.0
    start = warm_start(np.array([[1.0, 0.0]]), levels, boundaries, np.ones(1))[:, 0].astype(np.float64)
    scores = expected_gain(start @ np.stack([linear, np.ones_like(linear)]), gains)  # of one feature: the linear score
    assert np.diff(scores).min() >= -1e-12 * gains[-1]
    apart = np.diff(linear) > 1e-3
    assert (np.diff(scores)[apart] > -1e-12).all()


def test_two_neighbouring_levels_are_equally_likely_at_their_boundary():
    boundaries = np.array([[2.0], [5.0]])
    start = warm_start(np.array([[3.0, 1.0]]), [0, 1, 2], boundaries, np.array([4.0]))[:, 0]
    for number, (boundary,) in enumerate(boundaries):
        logits = start @ [(boundary - 1) / 3, 1]  # the document whose linear score it is
        assert_allclose(logits[number], logits[number + 1], atol=1e-6)


def test_as_many_documents_are_at_or_above_a_boundary_as_have_the_level_or_a_higher_one():
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(3, 50)), random.integers(0, 4, size=50)
    boundaries = share_boundaries(scores, labels, [0, 1, 2, 3])
    above = (scores[None] >= boundaries[..., None]).sum(axis=-1)
    assert_array_equal(above, [[np.sum(labels >= level)] * 3 for level in (1, 2, 3)])


def test_a_level_that_no_document_has_begins_at_the_first_document():
    assert_array_equal(share_boundaries(np.array([[3.0, 1.0]]), np.array([0, 0]), [0, 1]), [[3.0]])


def test_the_warm_start_of_one_level_only():
    assert_array_equal(warm_start(np.array([[2.0, 1.0]]), [2.0], np.zeros((0, 1)), np.ones(1)), [[[0, 0]]])
