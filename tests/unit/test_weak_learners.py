"""Binary weak learners: which thresholds there are; bins, histograms and sums against plain loops over documents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replirank.data.arrays import RankingData
from replirank.engines.weak_learners import Histogram, choose_thresholds, make_weak_learners
from replirank.errors import ReplirankError


def ranking(features):
    """One query of documents with these features."""
    features = np.asarray(features, dtype=np.float32)
    count = len(features)
    return RankingData(features, np.zeros(count, dtype=np.float32), np.array([0, count]), np.array([1]))


def rough(documents=700, seed=0):
    """Features from all different to all alike, with values that only just differ and values below zero."""
    random = np.random.default_rng(seed)
    values = random.normal(size=documents).astype(np.float32)
    neighbours = np.float32(1) + np.float32(2**-23) * random.integers(0, 9, documents).astype(np.float32)
    columns = [values, np.round(values, 1), values > 1, np.zeros(documents), np.round(values), neighbours, -values]
    return ranking(np.stack(columns, axis=1))


CONSTANT = 3  # the column of zeros


# Thresholds


def test_each_value_but_the_highest_is_a_threshold():
    assert_array_equal(choose_thresholds(np.array([3.0, 1.0, 3.0, -2.0, 1.0]), most=255), [-2, 1])


@pytest.mark.parametrize("most", [99, 100, 1000])
def test_all_of_so_few_values_are_kept(most):
    values = np.random.default_rng(0).permutation(100).astype(np.float32)
    assert_array_equal(choose_thresholds(values, most), np.arange(99))


@pytest.mark.parametrize("most", [2, 3, 7, 50, 98])
@pytest.mark.parametrize("distinct", [100, 101, 1234])
def test_of_too_many_values_so_many_are_kept_evenly(distinct, most):
    """The value is its own rank. The highest is no threshold, so that the last is the one before it."""
    values = np.random.default_rng(0).permutation(distinct)
    chosen = choose_thresholds(values, most)
    assert len(chosen) == most
    assert chosen[0] == 0
    assert chosen[-1] == distinct - 2
    # Rounding moves either end of a step by half a rank at the most.
    steps, even = np.diff(chosen), (distinct - 2) / (most - 1)
    assert (np.abs(steps - even) <= 1).all()
    assert (steps > 0).all()


def test_only_one_threshold_is_the_lowest_value():
    assert_array_equal(choose_thresholds(np.array([5.0, 2.0, 9.0, 7.0]), most=1), [2])


def test_values_count_once_however_often_they_come():
    values = np.arange(50.0)
    assert_array_equal(choose_thresholds(np.repeat(values, values.astype(int) + 1), 7), choose_thresholds(values, 7))


def test_a_constant_has_no_threshold():
    assert len(choose_thresholds(np.full(9, 0.5), most=255)) == 0


@pytest.mark.parametrize("most", [1, 2, 9, 255, 1000])
def test_every_threshold_is_a_value_of_its_feature(most):
    data = rough()
    learners = make_weak_learners(data, most)
    assert learners.thresholds.dtype == np.float32
    assert learners.thresholds.shape[1] <= most
    for values, row in zip(data.features.T, learners.thresholds, strict=True):
        distinct = np.unique(values)
        own = row[np.isfinite(row)]
        assert_array_equal(row[len(own) :], np.full(len(row) - len(own), np.inf))
        assert len(own) == min(most, len(distinct) - 1)
        assert set(own) <= set(distinct[:-1])
        assert (np.diff(own) > 0).all()


@pytest.mark.parametrize("wrong", [0, -1])
def test_no_threshold_at_all_is_refused(wrong):
    with pytest.raises(ReplirankError, match=f"{wrong} thresholds") as caught:
        make_weak_learners(rough(), wrong)
    assert "one or more" in caught.value.remedy


# Bins


@pytest.mark.parametrize("most", [1, 2, 9, 255, 256, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_a_bin_is_above_t_where_the_value_is_above_the_threshold(seed, most):
    data = rough(seed=seed)
    learners = make_weak_learners(data, most)
    above = data.features[:, :, None] > learners.thresholds
    assert_array_equal(learners.bins[:, :, None] > np.arange(learners.thresholds.shape[1]), above)
    for feature in range(data.features.shape[1]):
        for threshold in (0, learners.thresholds.shape[1] - 1):
            assert_array_equal(learners.output(feature, threshold), above[:, feature, threshold])
    assert learners.width == learners.thresholds.shape[1] + 1
    assert learners.bins.max() == learners.width - 1


@pytest.mark.parametrize(("most", "dtype"), [(1, np.uint8), (255, np.uint8), (256, np.uint16), (1000, np.uint16)])
def test_bins_are_small_integers(most, dtype):
    assert make_weak_learners(rough(), most).bins.dtype == dtype


def test_bins_are_as_small_as_the_values_are_few():
    """Whatever the limit."""
    few = ranking(np.arange(12).reshape(6, 2) % 4)
    assert make_weak_learners(few, 1000).bins.dtype == np.uint8


def test_bins_of_255_thresholds_go_up_to_255():
    learners = make_weak_learners(ranking(np.arange(256)[:, None]), 255)
    assert_array_equal(learners.bins[:, 0], np.arange(256))


def test_no_weak_learner_is_ever_above_a_constant():
    learners = make_weak_learners(rough(), 255)
    assert not any(learners.output(CONSTANT, t).any() for t in range(255))
    assert_array_equal(learners.thresholds[CONSTANT], np.full(255, np.inf))


def test_features_that_are_all_constant_have_a_weak_learner_that_says_nothing():
    learners = make_weak_learners(ranking(np.full((5, 2), 0.7)), 255)
    assert_array_equal(learners.thresholds, np.full((2, 1), np.inf))
    assert_array_equal(learners.bins, np.zeros((5, 2)))
    assert not learners.output(1, 0).any()


# Sums


def histogram_by_loop(bins, weights, width):
    """One document and feature after the other."""
    documents, features = bins.shape
    found = np.zeros((features, width))
    for i in range(documents):
        for feature in range(features):
            found[feature, bins[i, feature]] += weights[i] if weights.ndim == 1 else weights[i, feature]
    return found


def random_weights(data, by_feature, seed):
    """Of either sign."""
    return np.random.default_rng(seed).normal(size=data.features.shape if by_feature else data.documents)


@pytest.mark.parametrize("most", [3, 255])
def test_histogram_is_a_loop_over_documents(most):
    """The same one for weights of documents and of documents' features, again and again."""
    data = rough(documents=300)
    learners = make_weak_learners(data, most)
    histogram = Histogram(learners.bins, learners.width)
    for seed, by_feature in enumerate((False, True, True, False)):
        weights = random_weights(data, by_feature, seed)
        found = histogram(weights)
        assert found.shape == (7, learners.width)
        assert_allclose(found, histogram_by_loop(learners.bins, weights, learners.width), rtol=0, atol=1e-12)


def test_histogram_of_whole_numbers_is_a_count():
    bins = np.array([[0, 2], [1, 2], [0, 0]], dtype=np.uint8)
    assert_array_equal(Histogram(bins, width=3)(np.array([1.0, 10, 100])), [[101, 10, 0], [100, 0, 11]])


@pytest.mark.parametrize("by_feature", [False, True])
@pytest.mark.parametrize("most", [1, 3, 255])
def test_sums_are_over_the_documents_on_which_a_weak_learner_is_0(most, by_feature):
    data = rough(documents=300)
    learners = make_weak_learners(data, most)
    weights = random_weights(data, by_feature, seed=1)
    sums = learners.sums(Histogram(learners.bins, learners.width)(weights))
    assert sums.shape == learners.thresholds.shape
    for feature, row in enumerate(learners.thresholds):
        of_feature = weights[:, feature] if by_feature else weights
        for number, threshold in enumerate(row):
            expected = sum(w for w, x in zip(of_feature, data.features[:, feature], strict=True) if not x > threshold)
            assert_allclose(sums[feature, number], expected, rtol=0, atol=1e-11)
