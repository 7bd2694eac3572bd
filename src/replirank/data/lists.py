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
    """The first document whose label a document before it in its query has; None where there is none."""
    order = np.lexsort((np.arange(data.documents), data.labels, data.query_of))
    labels, query = data.labels[order], data.query_of[order]
    repeated = order[1:][(labels[1:] == labels[:-1]) & (query[1:] == query[:-1])]
    return int(repeated.min()) if len(repeated) else None


def share_of_list(data: Judgements, share: float) -> np.ndarray:
    """How many documents this share of each list is, rounded up: one at the least."""
    # Less a little, since a share such as .05 of 20 documents may come out above 1.
    return np.maximum(np.ceil(share * data.lengths - 1e-9), 1).astype(np.int64)


def is_among_first(data: Judgements, counts: np.ndarray | int) -> np.ndarray:
    """Of each document whether it is among the first so many of its list, by label; equals in file order."""
    order = np.lexsort((-data.labels, data.query_of))
    place = np.empty(data.documents, dtype=np.int64)
    place[order] = np.arange(data.documents) - np.repeat(data.offsets[:-1], data.lengths)
    return place < np.broadcast_to(counts, data.queries)[data.query_of]


def keep_documents(data: RankingData, kept: np.ndarray) -> RankingData:
    """Only the documents for which `kept` is true, of which each query must have one."""
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
    order = np.lexsort((data.features[:, column], data.query_of))
    values, query = data.features[order, column], data.query_of[order]
    alike = (values[1:] == values[:-1]) & (query[1:] == query[:-1])
    shared = np.zeros(data.documents, dtype=bool)
    shared[order] = np.append(alike, False) | np.append(False, alike)
    if not np.all(found := np.logical_or.reduceat(~shared, data.offsets[:-1])):
        raise ReplirankError(
            f"feature {column + 1} puts no document of query {data.query_ids[np.argmin(found)]} in a place of its own",
            remedy="derive the order from a feature with more values",
        )
    lists = keep_documents(data, ~shared)
    order = np.lexsort((lists.features[:, column], lists.query_of))
    labels = np.empty(lists.documents, dtype=np.float32)
    labels[order] = np.arange(lists.documents) - np.repeat(lists.offsets[:-1], lists.lengths)
    return replace(
        lists,
        features=np.ascontiguousarray(lists.features[:, left]),
        labels=labels,
        columns={},  # the features are numbered anew
    )
