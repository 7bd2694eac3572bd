"""Queries as padded batches: every document once, where it belongs, and little padding."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from replirank.data.arrays import RankingData
from replirank.fitting.batches import make_batches, padded_length


def ranking(*queries):
    """Data whose only feature is the number of the row, from 1, so that a row can be told from padding."""
    lengths = [len(labels) for labels in queries]
    documents = sum(lengths)
    return RankingData(
        features=np.arange(1, documents + 1, dtype=np.float32)[:, None],
        labels=np.concatenate(queries).astype(np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        query_ids=np.arange(len(queries)),
    )


def drawn(seed=0, queries=60, longest=200):
    random = np.random.default_rng(seed)
    return ranking(*(random.integers(0, 3, random.integers(1, longest)) for _ in range(queries)))


def unpadded(batches):
    """The rows and labels of each query in the batches."""
    for group in batches.classes:
        for rows, labels, where in zip(group.rows, group.labels, group.where, strict=True):
            yield rows[where], labels[where]


labels_of_queries = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=40), min_size=1, max_size=12)


# Lengths


def test_padding_is_below_a_third():
    for length in range(3, 5001):
        padded = padded_length(length)
        assert padded >= length
        assert (padded - length) / padded < 1 / 3, length


def test_lengths_grow_by_at_most_half_so_there_are_few():
    lengths = sorted({padded_length(length) for length in range(1, 5001)})
    assert lengths == [4, *(n << k for k in range(1, 11) for n in (3, 4)), 3 << 11]
    assert lengths[-2:] == [4096, 6144]


def test_longer_queries_are_never_padded_to_less():
    padded = [padded_length(length) for length in range(5001)]
    assert padded == sorted(padded)


def test_a_padded_length_stays_what_it_is():
    for length in range(1, 5001):
        assert padded_length(padded_length(length)) == padded_length(length)


# What is in the batches


@settings(max_examples=60, deadline=None)
@given(labels_of_queries)
def test_each_document_of_each_query_with_a_pair_appears_once_with_its_label(queries):
    data = ranking(*queries)
    expected = {
        tuple(range(rows.start, rows.stop)): sorted(data.labels[rows], reverse=True)
        for rows in data
        if len(set(data.labels[rows])) > 1
    }
    found = {}
    for rows, labels in unpadded(make_batches(data)):
        assert_array_equal(labels, data.labels[rows])
        assert tuple(sorted(rows)) not in found
        found[tuple(sorted(rows))] = list(labels)
    assert found == expected  # the labels in decreasing order, too


def test_documents_of_like_label_keep_their_order():
    ((rows, labels),) = unpadded(make_batches(ranking([0, 1, 0, 2, 1, 0])))
    assert_array_equal(labels, [2, 1, 1, 0, 0, 0])
    assert_array_equal(rows, [3, 1, 4, 0, 2, 5])


def test_padding_points_at_the_empty_row():
    data = drawn()
    batches = make_batches(data)
    assert batches.features.shape == (data.documents + 1, 1)
    assert_array_equal(batches.features[:-1], data.features)
    assert_array_equal(batches.features[-1], [0])
    for group in batches.classes:
        assert group.rows[~group.where].size
        assert_array_equal(group.rows[~group.where], data.documents)
        assert_array_equal(group.labels[~group.where], 0)
        assert (group.rows[group.where] < data.documents).all()
        # Padding comes last.
        assert_array_equal(group.where, np.sort(group.where, axis=1)[:, ::-1])


def test_a_class_holds_the_queries_of_its_length():
    batches = make_batches(drawn(1))
    lengths = [group.rows.shape[1] for group in batches.classes]
    assert lengths == sorted(set(lengths))
    for group in batches.classes:
        assert group.rows.shape == group.labels.shape == group.where.shape
        assert {padded_length(int(length)) for length in group.where.sum(axis=1)} == {group.rows.shape[1]}


def test_padding_of_whole_batches_is_below_a_third():
    for group in make_batches(drawn(2)).classes:
        if group.rows.shape[1] > 4:
            assert (group.where.mean(axis=1) > 2 / 3).all()


@settings(max_examples=60, deadline=None)
@given(labels_of_queries)
def test_preferred_covers_every_document_that_is_better_than_another(queries):
    for group in make_batches(ranking(*queries)).classes:
        (preferred,) = group.preferred.shape
        assert preferred <= group.rows.shape[1]
        lowest = np.where(group.where, group.labels, inf).min(axis=1, keepdims=True)
        better = group.where & (group.labels > lowest)
        assert not better[:, preferred:].any()


def test_preferred_is_about_as_many_as_needed():
    """One relevant document among 100: four rows of the matrix of pairs instead of 128."""
    (group,) = make_batches(ranking([1] + [0] * 99)).classes
    assert group.rows.shape == (1, 128)
    assert group.preferred.shape == (4,)


def test_queries_are_listed_by_class_and_place():
    batches = make_batches(ranking([0, 1], [1] * 5, [2, 0, 0, 0, 0], [1, 0, 0]))
    assert [group.rows.shape for group in batches.classes] == [(2, 4), (1, 6)]
    assert_array_equal(batches.queries, [(0, 0), (0, 1), (1, 0)])


def test_queries_without_a_pair_are_left_out():
    batches = make_batches(ranking([1], [0, 0, 0], [0, 1], [2, 2], [3]))
    ((rows, labels),) = unpadded(batches)
    assert_array_equal(rows, [5, 4])
    assert_array_equal(labels, [1, 0])


@pytest.mark.parametrize("queries", [[[0]], [[1, 1, 1]], [[0], [2, 2], [1]]])
def test_data_without_any_pair_has_no_class_and_no_query(queries):
    batches = make_batches(ranking(*queries))
    assert batches.classes == ()
    assert batches.queries.shape == (0, 2)  # an order of no queries is still one of pairs


def test_the_types_are_those_that_jax_keeps():
    batches = make_batches(drawn(3))
    assert batches.features.dtype == np.float32
    for group in batches.classes:
        assert (group.rows.dtype, group.labels.dtype, group.where.dtype) == (np.int32, np.float32, bool)
