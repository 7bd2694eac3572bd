"""Queries as slices by length class: every document where it belongs, few shapes, and little padding."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from replirank.data.arrays import RankingData
from replirank.engines.batches import (
    MOST_CLASSES,
    MOST_LENGTHS,
    LengthClass,
    covers,
    fewer_classes,
    list_shapes,
    make_batches,
    natural_class,
    padded_length,
    pair_shapes,
)


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
    """Queries of all lengths, some with many relevant documents and some with few."""
    random = np.random.default_rng(seed)
    return ranking(*(random.random(random.integers(1, longest)) < random.random() ** 3 for _ in range(queries)))


def slices(batches):
    """What a step on each query sees: its class, and the rows (from 0), labels and mask of its slice."""
    for number, start, length in batches.queries:
        found = batches.shapes.classes[number]
        here = slice(start, start + found.length)
        yield found, batches.features[here, 0] - 1, batches.labels[here], np.arange(found.length) < length


def better_than_worst(labels):
    return int((labels > labels.min()).sum())


labels_of_queries = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=40), min_size=1, max_size=12)


# Lengths


def test_padding_is_below_a_fifth():
    for length in range(4, 5001):
        padded = padded_length(length)
        assert padded >= length
        assert (padded - length) / padded < 1 / 5, length


def test_lengths_grow_by_at_most_a_quarter_so_there_are_few():
    lengths = sorted({padded_length(length) for length in range(1, 5001)})
    assert lengths == [n << k for k in range(11) for n in (4, 5, 6, 7)][: len(lengths)]
    assert lengths[-2:] == [4096, 5120]


def test_longer_queries_are_never_padded_to_less():
    padded = [padded_length(length) for length in range(5001)]
    assert padded == sorted(padded)


def test_a_padded_length_stays_what_it_is():
    for length in range(1, 5001):
        assert padded_length(padded_length(length)) == padded_length(length)


# Classes


def test_natural_class_has_room_for_the_query():
    for length in [*range(2, 70), 100, 1000, 1831]:
        for better in range(1, length):
            found = natural_class(length, better)
            assert found.length == padded_length(length)
            assert better <= found.preferred <= found.length


def test_preferred_is_so_many_eighths_of_the_length():
    assert natural_class(120, 1) == natural_class(120, 16) == (128, 128 // 8)
    assert natural_class(120, 17) == natural_class(120, 32) == (128, 128 // 4)
    assert natural_class(120, 119) == (128, 128)
    assert natural_class(9, 1) == natural_class(9, 2) == (10, 2)  # an eighth of 10, rounded up
    assert natural_class(9, 8) == (10, 8)


def test_covers_when_neither_length_nor_preferred_is_less():
    assert covers(LengthClass(8, 4), LengthClass(8, 4))
    assert covers(LengthClass(8, 4), LengthClass(6, 3))
    assert not covers(LengthClass(8, 4), LengthClass(6, 6))
    assert not covers(LengthClass(8, 8), LengthClass(12, 1))


def test_a_class_without_pairs_covers_by_length_alone():
    assert covers(LengthClass(8, None), LengthClass(8, 8))
    assert covers(LengthClass(8, None), LengthClass(6, None))
    assert not covers(LengthClass(8, None), LengthClass(10, None))


def cost(found):
    """Of a step: its pairs, and 8 for each document."""
    return found.length * ((found.preferred or 0) + 8)


def total_cost(classes, queries_of):
    """Of a step on each query, when every one takes the class that is cheapest for it."""
    return sum(
        count * min(cost(other) for other in classes if covers(other, found)) for found, count in queries_of.items()
    )


counted_classes = st.dictionaries(
    st.tuples(st.integers(1, 300), st.integers(1, 300)).map(lambda two: natural_class(max(two) + 1, min(two))),
    st.integers(1, 50),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(counted_classes, st.integers(1, 8))
def test_fewer_classes_are_few_and_hold_every_query(queries_of, most):
    classes = fewer_classes(queries_of, most)
    assert 1 <= len(classes) <= most
    assert len(set(classes)) == len(classes)
    for found in queries_of:
        assert any(covers(other, found) for other in classes)
    # None is larger than needed.
    assert max(other.length for other in classes) == max(found.length for found in queries_of)
    assert max(other.preferred for other in classes) == max(found.preferred for found in queries_of)


@settings(max_examples=60, deadline=None)
@given(counted_classes)
def test_classes_within_the_limit_stay_as_they_are(queries_of):
    classes = fewer_classes(queries_of, most=100)
    assert set(queries_of) <= set(classes)
    assert len(classes) <= len(queries_of) + 1  # one that covers all
    assert total_cost(classes, queries_of) == total_cost(queries_of, queries_of)


def test_the_class_that_is_cheapest_to_move_goes():
    short, middle, long = LengthClass(8, 8), LengthClass(12, 12), LengthClass(128, 128)
    # 100 queries of 8 cost less in a class of 12 than 1000 of 12 in a class of 128.
    assert 100 * (cost(middle) - cost(short)) < 1000 * (cost(long) - cost(middle))
    assert fewer_classes({short: 100, middle: 1000, long: 1}, most=2) == (middle, long)
    # Here a single query of 12 does.
    assert 1 * (128 * 136 - 12 * 20) < 1000 * (12 * 20 - 8 * 16)
    assert fewer_classes({short: 1000, middle: 1, long: 1}, most=2) == (short, long)
    assert fewer_classes({short: 1000, middle: 1, long: 1}, most=1) == (long,)


def test_the_class_that_covers_all_stays_although_no_query_needs_it():
    long, wide = LengthClass(320, 40), LengthClass(192, 192)
    assert fewer_classes({long: 5, wide: 5}, most=1) == (LengthClass(320, 192),)
    assert fewer_classes({long: 5, wide: 5}, most=3) == (long, wide, LengthClass(320, 192))


@settings(max_examples=30, deadline=None)
@given(counted_classes)
def test_each_class_that_goes_is_the_cheapest_to_go(queries_of):
    """Against trying out each: from n to n - 1 classes no other choice costs less."""
    most = len(fewer_classes(queries_of, most=100))
    for fewer in range(1, most):
        before, after = fewer_classes(queries_of, fewer + 1), fewer_classes(queries_of, fewer)
        choices = [tuple(one for one in before if one != gone) for gone in before[:-1]]
        assert after in choices
        assert total_cost(after, queries_of) == min(total_cost(choice, queries_of) for choice in choices)


def test_no_classes_of_no_queries():
    assert fewer_classes({}, most=3) == ()


def test_more_classes_cost_no_more():
    random = np.random.default_rng(0)
    queries_of = {
        natural_class(length, int(random.integers(1, length))): int(random.integers(1, 100))
        for length in random.integers(2, 500, 40).tolist()
    }
    computed = [total_cost(fewer_classes(queries_of, most), queries_of) for most in range(1, 12)]
    assert all(more <= less for less, more in itertools.pairwise(computed))
    assert computed[MOST_CLASSES - 1] < computed[0] / 2  # which is what they are for


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
    for _, rows, labels, where in slices(make_batches(data)):
        rows = rows[where].astype(int)
        assert_array_equal(labels[where], data.labels[rows])
        assert tuple(sorted(rows)) not in found
        found[tuple(sorted(rows))] = list(labels[where])
    assert found == expected  # the labels in decreasing order, too


def test_documents_of_like_label_keep_their_order():
    ((_, rows, labels, where),) = slices(make_batches(ranking([0, 1, 0, 2, 1, 0])))
    assert_array_equal(labels[where], [2, 1, 1, 0, 0, 0])
    assert_array_equal(rows[where], [3, 1, 4, 0, 2, 5])


@pytest.mark.parametrize("queries", [[[1, 0]], [[0] * 9 + [1], [1, 0]], [[1, 0], [1] + [0] * 99]])
def test_slices_end_within_the_arrays(queries):
    """A slice that ran over the end would be moved back to fit, without a word."""
    batches = make_batches(ranking(*queries))
    for found, rows, labels, where in slices(batches):
        assert len(rows) == len(labels) == len(where) == found.length
    longest = max(found.length for found in batches.shapes.classes)
    assert len(batches.features) == len(batches.labels) >= batches.queries[:, 1].max() + longest


def test_what_pads_is_empty():
    data = drawn()
    batches = make_batches(data)
    assert_array_equal(np.sort(batches.features[: data.documents], axis=0), data.features)
    assert_array_equal(batches.features[data.documents :], 0)
    assert_array_equal(batches.labels[data.documents :], 0)


@settings(max_examples=60, deadline=None)
@given(labels_of_queries)
def test_preferred_covers_every_document_that_is_better_than_another(queries):
    for found, _, labels, where in slices(make_batches(ranking(*queries))):
        assert better_than_worst(labels[where]) <= found.preferred <= found.length
        assert not (labels > labels[where].min())[where][found.preferred :].any()


def test_each_query_takes_the_first_class_with_room_for_it():
    batches = make_batches(drawn(1))
    assert len(batches.shapes.classes) > 1
    for (number, _, length), (_, _, labels, where) in zip(batches.queries, slices(batches), strict=True):
        wanted = natural_class(int(length), better_than_worst(labels[where]))
        assert [covers(found, wanted) for found in batches.shapes.classes].index(True) == number


def padding(batches):
    wheres = [where for *_, where in slices(batches)]
    return 1 - sum(where.sum() for where in wheres) / sum(len(where) for where in wheres)


@pytest.mark.parametrize("shapes", [pair_shapes, list_shapes])
@pytest.mark.parametrize(
    "lengths",
    [
        np.random.default_rng(0).integers(35, 321, 63),  # as OHSUMED
        np.random.default_rng(1).integers(6, 148, 500),  # as MQ2007
        np.full(20, 1000),
        [50] * 30 + [1000],
    ],
)
def test_padding_of_all_queries_together_is_below_a_third(lengths, shapes):
    """A third of each has a label of 1 or 2, so that there are pairs; more or fewer of them would only add classes."""
    data = ranking(*(np.arange(length) % 6 % 3 for length in lengths))
    assert padding(make_batches(data, shapes([data]))) < 1 / 3


def test_queries_without_a_pair_are_left_out():
    batches = make_batches(ranking([1], [0, 0, 0], [0, 1], [2, 2], [3]))
    ((found, rows, labels, where),) = slices(batches)
    assert found == (4, 1)
    assert_array_equal(rows[where], [5, 4])
    assert_array_equal(labels[where], [1, 0])


@pytest.mark.parametrize("queries", [[[0]], [[1, 1, 1]], [[0], [2, 2], [1]]])
def test_data_without_any_pair_has_no_class_and_no_query(queries):
    batches = make_batches(ranking(*queries))
    assert batches.shapes.classes == ()
    assert batches.queries.shape == (0, 3)


def test_the_types_are_those_that_jax_keeps():
    batches = make_batches(drawn(3))
    assert (batches.features.dtype, batches.labels.dtype) == (np.float32, np.float32)
    assert batches.queries.dtype == np.int32


# For listwise losses


@settings(max_examples=30, deadline=None)
@given(labels_of_queries)
def test_lists_are_the_same_queries_in_classes_of_length_alone(queries):
    data = ranking(*queries)
    pairs, lists = make_batches(data), make_batches(data, list_shapes([data]))
    assert_array_equal(lists.queries[:, 1:], pairs.queries[:, 1:])
    assert_array_equal(lists.features[: data.documents], pairs.features[: data.documents])
    assert len(lists.shapes.classes) <= MOST_LENGTHS
    assert {found.preferred for found in lists.shapes.classes} <= {None}
    for found, *_, where in slices(lists):
        assert found == min(each for each in lists.shapes.classes if each.length >= where.sum())


def test_lists_of_like_length_are_one_class():
    data = ranking([1, 0, 0, 0], [2, 1, 1, 0], [1, 1, 1, 0])
    assert list_shapes([data]).classes == (LengthClass(4, None),)
    assert len(pair_shapes([data]).classes) > 1


def test_lists_without_any_pair_have_no_class():
    assert list_shapes([ranking([0], [1, 1])]) == ((), 3, 2)


# Several folds


def test_folds_of_other_sizes_have_the_same_shapes():
    folds = [drawn(4, queries=50), drawn(5, queries=60, longest=90), drawn(6, queries=1), ranking([0, 0])]
    shapes = pair_shapes(iter(folds))
    assert shapes.documents == max(fold.documents for fold in folds)
    assert shapes.queries == 60
    batches = [make_batches(fold, shapes) for fold in folds]
    assert {each.shapes for each in batches} == {shapes}
    assert len({(each.features.shape, each.labels.shape) for each in batches}) == 1
    assert all(len(each.queries) <= shapes.queries for each in batches)


def test_in_shared_shapes_each_fold_holds_what_it_holds_alone():
    folds = [drawn(7), drawn(8, longest=500)]
    shapes = pair_shapes(folds)
    for fold in folds:
        alone, shared = slices(make_batches(fold)), slices(make_batches(fold, shapes))
        for (_, rows, labels, where), (found, others, theirs, there) in zip(alone, shared, strict=True):
            assert_array_equal(rows[where], others[there])
            assert_array_equal(labels[where], theirs[there])
            assert better_than_worst(labels[where]) <= found.preferred
