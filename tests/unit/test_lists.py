"""Strict orders: found out, cut short, derived from real documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_array_equal

from replirank.data.lists import (
    first_equal,
    is_among_first,
    is_strict,
    keep_documents,
    ordered_by_feature,
    share_of_list,
)
from replirank.data.specs import spec
from replirank.errors import ReplirankError


def two_lists(labels):
    return ranking(np.arange(12).reshape(6, 2), labels, [4, 2])


def test_the_first_document_with_a_label_that_was_there_before_is_found():
    assert first_equal(two_lists([3, 1, 2, 0, 1, 0])) is None
    assert is_strict(two_lists([3, 1, 2, 0, 1, 0]))
    assert first_equal(two_lists([3, 1, 2, 2, 1, 1])) == 3
    assert first_equal(two_lists([0, 3, 2, 0, 1, 1])) == 3
    assert first_equal(two_lists([3, 1, 2, 0, 1, 1])) == 5
    assert not is_strict(two_lists([3, 1, 2, 0, 1, 1]))


def test_the_first_of_a_list_are_those_with_the_highest_labels():
    data = two_lists([1, 3, 0, 2, 0, 1])
    assert_array_equal(is_among_first(data, 2), [False, True, False, True, True, True])
    assert_array_equal(is_among_first(data, np.array([1, 1])), [False, True, False, False, False, True])


@pytest.mark.parametrize(("length", "count"), [(1, 1), (20, 1), (21, 2), (204, 11), (1831, 92)])
def test_a_share_of_a_list_is_rounded_up(length, count):
    data = ranking(np.zeros((length, 1)), np.arange(length))
    assert share_of_list(data, 0.05).tolist() == [count]


def test_kept_documents_keep_their_features_labels_and_names():
    data = replace(two_lists([1, 3, 0, 2, 0, 1]), document_ids=np.array(list("abcdef")))
    short = keep_documents(data, is_among_first(data, 2))
    assert short.document_ids.tolist() == ["b", "d", "e", "f"]
    assert short.labels.tolist() == [3, 2, 0, 1]
    assert_array_equal(short.features, data.features[[1, 3, 4, 5]])
    assert short.offsets.tolist() == [0, 2, 4]
    assert short.query_ids.tolist() == data.query_ids.tolist()


def test_derived_lists_are_in_the_order_of_a_feature_which_is_gone():
    features = [[5, 9, 0.2], [6, 8, 0.5], [7, 7, 0.1], [8, 6, 0.5], [1, 1, 0.9], [2, 2, 0.8], [3, 3, 0.85]]
    data = replace(ranking(features, [0] * 7, [4, 3]), columns={"bm25": 2, "pagerank": 1})
    lists = ordered_by_feature(data, column=2, without=(0, 2))
    # .5 is there twice in the first list: it says nothing of the order of the two.
    assert lists.offsets.tolist() == [0, 2, 5]
    assert lists.labels.tolist() == [1, 0, 2, 0, 1]
    assert lists.features.tolist() == [[9], [7], [1], [2], [3]]
    assert lists.columns == {}
    assert is_strict(lists)


def test_a_feature_that_orders_nothing_is_refused():
    data = ranking([[1, 0.2], [1, 0.3], [2, 0.1], [3, 0.1]], [0] * 4, [2, 2])
    with pytest.raises(ReplirankError, match="feature 2 puts no document of query 1 in a place"):
        ordered_by_feature(data, column=1, without=(1,))


def test_the_derived_set_lacks_the_rankers_on_the_whole_document():
    """LETOR's features 25, 30, 35 and 40; the fields' own stay."""
    known = spec("td2003_list")
    data = ranking(np.random.default_rng(0).random((10, 64)), np.zeros(10))
    lists = known.derive(data)
    assert known.features == lists.features.shape[1] == 60
    left = [number for number in range(64) if number not in (24, 29, 34, 39)]
    assert_array_equal(lists.features, data.features[:, left])
    assert_array_equal(np.argsort(lists.labels), np.argsort(data.features[:, 29]))
    assert "feature 30" in known.note
    assert "25, 30, 35, 40" in known.note
    assert known.note.startswith("DERIVED")
