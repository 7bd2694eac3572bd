"""Views of ranking data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from replirank.data.arrays import Dataset, Fold, Judgements, RankingData
from replirank.data.pairs import pair_counts

QUERIES, LENGTH, FEATURES = 40, 25, 200


@pytest.fixture(scope="module")
def dataset():
    random = np.random.default_rng(0)
    data = RankingData(
        features=random.normal(size=(QUERIES * LENGTH, FEATURES)).astype(np.float32),
        labels=random.integers(0, 3, QUERIES * LENGTH).astype(np.float32),
        offsets=np.arange(QUERIES + 1) * LENGTH,
        query_ids=random.permutation(QUERIES) + 100,
    )
    return Dataset(data, (Fold(*np.split(random.permutation(QUERIES), [24, 32])),))


@pytest.mark.parametrize("split", Fold._fields)
def test_judgements_are_those_of_the_split(dataset, split):
    judged, whole = dataset.judgements(0, split), dataset.split(0, split)
    for name in ("labels", "offsets", "query_ids", "lengths", "query_of"):
        np.testing.assert_array_equal(getattr(judged, name), getattr(whole, name))
    assert (judged.queries, judged.documents) == (whole.queries, whole.documents)
    np.testing.assert_array_equal(pair_counts(judged), pair_counts(whole))
    assert list(judged) == list(whole)
    assert isinstance(whole, Judgements)


def test_judgements_copy_no_features(dataset):
    """A split does: the training features are 24 x 25 x 200 x 4 bytes."""
    peaks = {}
    for view in (dataset.judgements, dataset.split):
        tracemalloc.start()
        view(0, "train")
        peaks[view.__name__] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["split"] > 24 * LENGTH * FEATURES * 4
    assert peaks["judgements"] < 24 * LENGTH * FEATURES * 4 / 10
