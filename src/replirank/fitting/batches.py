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


class LengthClass(NamedTuple):
    length: int
    preferred: int  # how many of the first documents can be the better one of a pair


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
    """The next of 4, 6, 8, 12, 16, 24, 32 ...: never more than half as much again, so padding stays below a third.

    >>> [padded_length(n) for n in (1, 4, 5, 7, 9, 13, 100, 129)]
    [4, 4, 6, 8, 12, 16, 128, 192]
    """
    power = max(4, 1 << max(length - 1, 0).bit_length())
    return power * 3 // 4 if length <= power * 3 // 4 and power > 4 else power


def natural_class(length: int, better: int) -> LengthClass:
    """The class of a query with so many documents, of which so many are better than its worst."""
    padded = padded_length(length)
    return LengthClass(padded, next(rows for rows in (padded // 8, padded // 2, padded) if better <= rows))


def _natural_classes(data: RankingData) -> list[LengthClass | None]:
    """The class of each query; None without a pair: it teaches nothing, and a step on it only repeats the last."""
    lowest = np.minimum.reduceat(data.labels, data.offsets[:-1])
    better = np.add.reduceat(data.labels > lowest[data.query_of], data.offsets[:-1], dtype=np.int64)
    return [
        natural_class(length, count) if count else None
        for length, count in zip(data.lengths.tolist(), better.tolist(), strict=True)
    ]


def common_shapes(trains: Iterable[RankingData]) -> Shapes:
    """Shapes that all these training sets fit into."""
    queries_of: Counter[LengthClass] = Counter()
    documents = queries = 0
    for train in trains:
        queries_of.update(found for found in _natural_classes(train) if found)
        documents, queries = max(documents, train.documents), max(queries, train.queries)
    return Shapes(fewer_classes(queries_of), documents, queries)


def fewer_classes(queries_of: Mapping[LengthClass, int], most: int = MOST_CLASSES) -> tuple[LengthClass, ...]:
    """At most so many classes that hold all of these: each is compiled by itself.

    One class covers all. Then that one goes, again and again, whose queries are cheapest to move to another.
    """
    if not queries_of:
        return ()
    kept = {*queries_of, LengthClass(*map(max, zip(*queries_of, strict=True)))}
    while len(kept) > most:
        costs = {
            left_out: sum(
                count * min(_cost(other) for other in kept - {left_out} if covers(other, found))
                for found, count in queries_of.items()
            )
            for left_out in kept
            if any(covers(other, left_out) for other in kept - {left_out})
        }
        kept.remove(min(sorted(costs), key=costs.__getitem__))
    return tuple(sorted(kept, key=_cost))


def covers(one: LengthClass, other: LengthClass) -> bool:
    return one.length >= other.length and one.preferred >= other.preferred


def _cost(found: LengthClass) -> int:
    """Of a step: the matrix of pairs, and the scores, which are worth some pairs each."""
    return found.length * (found.preferred + 8)


def make_batches(data: RankingData, shapes: Shapes | None = None) -> Batches:
    """The batches of a training set, in the shapes that it shares with others, where these are given."""
    shapes = shapes or common_shapes([data])
    # The classes are sorted by cost: the first that covers is the cheapest.
    natural = _natural_classes(data)
    number_of = {
        wanted: next(number for number, found in enumerate(shapes.classes) if covers(found, wanted))
        for wanted in set(natural) - {None}
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
