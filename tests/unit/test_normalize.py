"""Min-max scaling within queries, by values worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from replirank.data.arrays import RankingData
from replirank.data.normalize import is_normalized_by_query, normalize_by_query


def queries(*lists) -> RankingData:
    """One query for each list of rows."""
    lengths = [len(rows) for rows in lists]
    return RankingData(
        features=np.array([row for rows in lists for row in rows], dtype=np.float32),
        labels=np.arange(sum(lengths), dtype=np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        query_ids=np.array([f"q{k}" for k in range(len(lists))]),
        document_ids=np.array([f"d{k}" for k in range(sum(lengths))]),
        columns={"bm25": 1},
    )


DATA = queries(
    [[2, -1, 7], [4, 3, 7], [3, 1, 7], [2, 0, 7]],
    [[10, 5, 0]],  # one document: no spread
    [[0, 1e-30, 3], [8, 3e-30, 1], [1, 2e-30, 1]],
)
EXPECTED = [
    [0, 0, 0],
    [1, 1, 0],
    [(3 - 2) / (4 - 2), (1 + 1) / (3 + 1), 0],
    [0, (0 + 1) / (3 + 1), 0],
    [0, 0, 0],
    [0, 0, 1],
    [1, 1, 0],
    [1 / 8, 0.5, 0],
]


def test_each_feature_of_a_query_reaches_from_0_to_1():
    scaled = normalize_by_query(DATA)
    assert scaled.features.dtype == np.float32
    assert_array_equal(scaled.features, np.array(EXPECTED, dtype=np.float32))


def test_all_else_stays():
    scaled = normalize_by_query(DATA)
    for name in ("labels", "offsets", "query_ids", "document_ids"):
        assert_array_equal(getattr(scaled, name), getattr(DATA, name))
    assert scaled.columns == {"bm25": 1}
    assert DATA.features[0].tolist() == [2, -1, 7]  # not changed in place


def test_what_is_scaled_is_scaled_and_scaling_it_again_changes_nothing():
    scaled = normalize_by_query(DATA)
    assert not is_normalized_by_query(DATA)
    assert is_normalized_by_query(scaled)
    assert_array_equal(normalize_by_query(scaled).features, scaled.features)


def test_the_spread_may_exceed_float32():
    most = np.finfo(np.float32).max
    assert normalize_by_query(queries([[-most], [most], [0]])).features.tolist() == [[0], [1], [0.5]]


def test_features_of_float64_are_not_rounded_before():
    """In float32 the two neighbours of 1 would be 1 and 1 + 2**-23, and the middle would be lost."""
    data = replace(queries([[0], [0], [0]]), features=np.array([[1], [1 + 2**-24], [1 + 2**-23]]))
    assert normalize_by_query(data).features.tolist() == [[0], [0.5], [1]]
    assert normalize_by_query(data).features.dtype == np.float32


def test_the_difference_is_taken_in_float64():
    """1 + 2**-23 is the float32 next to 1; in float32 a third of the way would be lost."""
    values = [1, 1 + 2**-23, 4]
    scaled = normalize_by_query(queries([[value] for value in values])).features[:, 0]
    assert_array_equal(scaled, np.array([0, 2**-23 / 3, 1], dtype=np.float32))


@pytest.mark.parametrize(
    ("lists", "normalized"),
    [
        ([[[0], [1]]], True),
        ([[[0], [1], [0.25]], [[1], [0]]], True),
        ([[[5], [5]], [[0], [1]]], True),  # the same for all documents
        ([[[0], [0.5]], [[0], [1]]], False),
        ([[[0.5], [1]]], False),
        ([[[0], [1]], [[0], [2]]], False),
        ([[[0, 0], [1, 0.999]]], False),
        ([[[-1], [1], [0]]], False),
        ([[[0]], [[1]]], True),
    ],
)
def test_what_is_taken_for_normalized(lists, normalized):
    assert is_normalized_by_query(queries(*lists)) is normalized
