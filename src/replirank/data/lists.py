"""Lists in strict order, as MQ2008-list has them, and parts of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from replirank.data.arrays import Judgements, RankingData
from replirank.errors import ReplirankError


def is_strict(data: Judgements) -> bool:
    """Whether no two documents of a query have the same label.

    >>> labels = np.array([3, 1, 2, 1, 0], dtype=np.float32)
    >>> is_strict(Judgements(labels, offsets=np.array([0, 3, 5]), query_ids=np.array([1, 2])))
    True
    >>> is_strict(Judgements(labels, offsets=np.array([0, 4, 5]), query_ids=np.array([1, 2])))
    False
    """
    return first_equal(data) is None


def first_equal(data: Judgements) -> int | None:
    """The first document whose label another one before it in its query has; None where there is none."""
    order, alike = _sorted(data.labels, data)
    repeated = order[1:][alike]
    return int(repeated.min()) if len(repeated) else None


def _sorted(values: np.ndarray, data: Judgements) -> tuple[np.ndarray, np.ndarray]:
    """The documents of each query by increasing value, equals in file order; and of each but the very first whether it
    is of the same query and has the same value as the one before."""
    order = np.lexsort((values, data.query_of))
    value, query = values[order], data.query_of[order]
    return order, (value[1:] == value[:-1]) & (query[1:] == query[:-1])


def _place(order: np.ndarray, data: Judgements) -> np.ndarray:
    """The place of each document in its query, from 0, when the documents stand in this order."""
    place = np.empty(data.documents, dtype=np.int64)
    place[order] = np.arange(data.documents) - np.repeat(data.offsets[:-1], data.lengths)
    return place


def share_of_list(data: Judgements, share: float) -> np.ndarray:
    """How many documents this share of each list is, rounded up, and never 0."""
    # Less a little: in floating point .05 of 20 documents may be more than 1.
    return np.maximum(np.ceil(share * data.lengths - 1e-9), 1).astype(np.int64)


def is_among_first(data: Judgements, counts: np.ndarray | int) -> np.ndarray:
    """Whether each document is among the first of its list by label: the first `counts`, one number or one a query."""
    order, _ = _sorted(-data.labels, data)
    return _place(order, data) < np.broadcast_to(counts, data.queries)[data.query_of]


def keep_documents(data: RankingData, kept: np.ndarray) -> RankingData:
    """Only the documents for which `kept` is true: one or more of each query."""
    return replace(
        data,
        features=data.features[kept],
        labels=data.labels[kept],
        offsets=np.concatenate([[0], np.cumsum(np.add.reduceat(kept, data.offsets[:-1], dtype=np.int64))]),
        document_ids=None if data.document_ids is None else data.document_ids[kept],
    )


def ordered_by_feature(data: RankingData, column: int, without: tuple[int, ...]) -> RankingData:
    """Real documents in the order of one of their features: a list that some ranker made.

    The label is the place from below, from 0. Documents that share their value with another of the list have no place
    in a strict order and are left out. So are the columns `without`: that feature itself, and what nearly repeats it.
    """
    left = [number for number in range(data.features.shape[1]) if number not in without]
    order, alike = _sorted(data.features[:, column], data)
    shared = np.zeros(data.documents, dtype=bool)
    shared[order] = np.append(alike, False) | np.append(False, alike)
    if not np.all(found := np.logical_or.reduceat(~shared, data.offsets[:-1])):
        raise ReplirankError(
            f"feature {column + 1} puts no document of query {data.query_ids[np.argmin(found)]} in a place of its own",
            remedy="derive the order from a feature with more values",
        )
    lists = keep_documents(data, ~shared)
    order, _ = _sorted(lists.features[:, column], lists)
    return replace(
        lists,
        features=np.ascontiguousarray(lists.features[:, left]),
        labels=_place(order, lists).astype(np.float32),
        columns={},  # the features are numbered anew
    )
