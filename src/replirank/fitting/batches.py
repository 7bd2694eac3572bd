"""Queries as padded batches by length class, so that jitted code sees few shapes and padding stays below a third."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replirank.data.arrays import RankingData


class LengthClass(NamedTuple):
    """Queries of about one length: row numbers into the data's features, padded with the number of an empty row.

    Documents are sorted by decreasing label; `preferred` says, by its shape alone, how many of the first documents
    can be the better one of a pair (its values are not used).
    """

    rows: np.ndarray  # (queries, length) int32
    labels: np.ndarray  # (queries, length) float32
    where: np.ndarray  # (queries, length) bool
    preferred: np.ndarray  # (preferred,)


class Batches(NamedTuple):
    features: np.ndarray  # (documents + 1, features), the last row empty
    classes: tuple[LengthClass, ...]

    @property
    def queries(self) -> np.ndarray:
        """(queries, 2): the class of each query, and its place there."""
        return np.array(
            [(number, place) for number, group in enumerate(self.classes) for place in range(group.labels.shape[0])]
        )


def padded_length(length: int) -> int:
    """The next of 4, 6, 8, 12, 16, 24, 32 ...: never more than half as much again, so padding stays below a third.

    >>> [padded_length(n) for n in (1, 4, 5, 7, 9, 13, 100, 129)]
    [4, 4, 6, 8, 12, 16, 128, 192]
    """
    power = max(4, 1 << max(length - 1, 0).bit_length())
    return power * 3 // 4 if length <= power * 3 // 4 and power > 4 else power


def make_batches(data: RankingData) -> Batches:
    """Batches of the queries that have a pair: the others teach nothing, and a step on them only repeats the last."""
    lengths = data.lengths
    lowest = np.minimum.reduceat(data.labels, data.offsets[:-1])
    highest = np.maximum.reduceat(data.labels, data.offsets[:-1])
    above_lowest = np.add.reduceat(data.labels > lowest[data.query_of], data.offsets[:-1], dtype=np.int64)
    order = np.lexsort((-data.labels, data.query_of))
    padded = np.array([padded_length(int(length)) for length in lengths])
    usable = highest > lowest

    classes = []
    for length in np.unique(padded[usable]):
        members = np.flatnonzero(usable & (padded == length))
        place = np.arange(length)
        where = place < lengths[members, None]
        at = np.minimum(data.offsets[members, None] + place, data.documents - 1)
        rows = np.where(where, order[at], data.documents).astype(np.int32)
        labels = np.where(where, data.labels[order[at]], 0).astype(np.float32)
        preferred = min(padded_length(int(above_lowest[members].max())), int(length))
        classes.append(LengthClass(rows, labels, where, np.zeros(preferred, dtype=np.int8)))
    empty = np.zeros((1, data.features.shape[1]), dtype=np.float32)
    return Batches(np.concatenate([data.features, empty]), tuple(classes))
