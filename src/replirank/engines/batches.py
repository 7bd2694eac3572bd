"""Queries as slices of flat arrays by length class, so that jitted code sees few shapes and little padding.

The documents of a query stand together, sorted by decreasing label. A step on a query takes a slice as long as its
class from where the query starts; what is beyond the query's end belongs to the next one and is masked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from replirank.data.arrays import RankingData

MOST_CLASSES = 6
MOST_LENGTHS = 3


class LengthClass(NamedTuple):
    length: int
    preferred: int | None  # only the first n documents can be the better one of a pair; None: no matrix of pairs


class Shapes(NamedTuple):
    """What the training sets of all folds have in common, so that they share one compilation."""

    classes: tuple[LengthClass, ...]
    documents: int
    queries: int


class Batches(NamedTuple):
    features: np.ndarray  # (documents + padding, features)
    labels: np.ndarray  # (documents + padding,)
    queries: np.ndarray  # (queries, 3): the number of its class, its first document, its length
    shapes: Shapes


def padded_length(length: int) -> int:
    """The next of 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ...: never more than a quarter as much again.

    >>> [padded_length(n) for n in (1, 4, 5, 7, 9, 13, 100, 129)]
    [4, 4, 5, 7, 10, 14, 112, 160]
    """
    quarter = 1 << max((length - 1).bit_length() - 3, 0)
    return max(4, -(-length // quarter) * quarter)


def natural_class(length: int, better: int) -> LengthClass:
    """The class of a query with so many documents, of which so many are better than its worst."""
    padded = padded_length(length)
    eighth = -(-padded // 8)
    return LengthClass(padded, min(-(-better // eighth) * eighth, padded))


def _natural_classes(data: RankingData) -> list[LengthClass | None]:
    """The class of each query; None without a pair: it teaches nothing, and a step on it only repeats the last."""
    lowest = np.minimum.reduceat(data.labels, data.offsets[:-1])
    better = np.add.reduceat(data.labels > lowest[data.query_of], data.offsets[:-1], dtype=np.int64)
    return [
        natural_class(length, count) if count else None
        for length, count in zip(data.lengths.tolist(), better.tolist(), strict=True)
    ]


def pair_shapes(trains: Iterable[RankingData]) -> Shapes:
    """Shapes for pairwise losses that all these training sets fit into."""
    queries_of, documents, queries = _count(trains)
    return Shapes(fewer_classes(queries_of, MOST_CLASSES), documents, queries)


def list_shapes(trains: Iterable[RankingData], most: int = MOST_LENGTHS) -> Shapes:
    """The same for listwise losses: classes of lengths only, and fewer, since padding costs them less."""
    queries_of, documents, queries = _count(trains)
    lengths: Counter[LengthClass] = Counter()
    for found, count in queries_of.items():
        lengths[LengthClass(found.length, None)] += count
    return Shapes(fewer_classes(lengths, most), documents, queries)


def _count(trains: Iterable[RankingData]) -> tuple[Counter[LengthClass], int, int]:
    """How many queries of each class there are in all, and the most documents and queries of one training set."""
    queries_of: Counter[LengthClass] = Counter()
    documents = queries = 0
    for train in trains:
        queries_of.update(found for found in _natural_classes(train) if found)
        documents, queries = max(documents, train.documents), max(queries, train.queries)
    return queries_of, documents, queries


def fewer_classes(queries_of: Mapping[LengthClass, int], most: int) -> tuple[LengthClass, ...]:
    """At most so many classes that hold all of these: each is compiled by itself.

    The largest class covers all queries and stays. Of the others the one whose queries are cheapest to pad to another
    is removed, one after the other.
    """
    if not queries_of:
        return ()
    wanted, count = list(queries_of), np.array(list(queries_of.values()))
    longest, widest = (max(size or 0 for size in sizes) for sizes in zip(*wanted, strict=True))
    kept = sorted({*wanted, LengthClass(longest, widest or None)}, key=lambda found: (_cost(found), found))
    # What a step costs, by wanted and kept class; infinite where there is no room for the query.
    costs = np.array([[_cost(one) if covers(one, found) else np.inf for one in kept] for found in wanted])
    while len(kept) > most:
        cheapest, next_to_it = np.partition(costs, 1, axis=1)[:, :2].T
        rises = np.where(costs == cheapest[:, None], (next_to_it - cheapest)[:, None], 0)
        gone = int(np.argmin((count @ rises)[:-1]))
        kept.pop(gone)
        costs = np.delete(costs, gone, axis=1)
    return tuple(kept)


def covers(one: LengthClass, other: LengthClass) -> bool:
    return one.length >= other.length and (one.preferred is None or one.preferred >= (other.preferred or 0))


def _cost(found: LengthClass) -> int:
    """Of a step: the matrix of pairs, and the scores, which are worth some pairs each."""
    return found.length * ((found.preferred or 0) + 8)


def make_batches(data: RankingData, shapes: Shapes | None = None) -> Batches:
    """The batches of a training set, in the shapes that it shares with others, where these are given."""
    shapes = shapes or pair_shapes([data])
    # The classes are sorted by cost: the first that covers is the cheapest.
    natural = _natural_classes(data)
    number_of = {
        wanted: next(number for number, found in enumerate(shapes.classes) if covers(found, wanted))
        for wanted in {found for found in natural if found}
    }
    order = np.lexsort((-data.labels, data.query_of))
    padding = shapes.documents - data.documents + max((found.length for found in shapes.classes), default=0)
    queries = [
        (number_of[found], start, length)
        for found, start, length in zip(natural, data.offsets[:-1].tolist(), data.lengths.tolist(), strict=True)
        if found
    ]
    return Batches(
        features=np.pad(data.features[order], ((0, padding), (0, 0))),
        labels=np.pad(data.labels[order], (0, padding)),
        queries=np.array(queries, dtype=np.int32).reshape(-1, 3),
        shapes=shapes,
    )
