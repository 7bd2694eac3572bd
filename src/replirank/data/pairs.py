"""Pairs of documents of one query whose labels differ, and counts of labels: what methods ask of ranking data."""

from __future__ import annotations

import numpy as np

from replirank.data.arrays import Judgements, RankingData


def pair_counts(data: Judgements) -> np.ndarray:
    """How many pairs of documents with different labels each query has.

    >>> labels = np.array([2, 0, 1, 1, 0], dtype=np.float32)
    >>> pair_counts(Judgements(labels, offsets=np.array([0, 4, 5]), query_ids=np.array([1, 2])))
    array([5, 0])
    """
    query = data.query_of
    order = np.lexsort((data.labels, query))
    labels = data.labels[order]
    changes = (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])
    starts = np.flatnonzero(np.concatenate([[True], changes])[: len(labels)])
    alike = np.diff(np.append(starts, len(labels)))  # documents of one query with one label
    # Of n^2 ordered pairs, those of equal labels are taken away; each other pair is there twice.
    equal = np.bincount(query[starts], weights=alike.astype(np.float64) ** 2, minlength=data.queries)
    return (data.lengths**2 - equal.astype(np.int64)) // 2


def pairs_of(labels: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers (better, worse) of every pair of documents of a query whose labels differ."""
    better, worse = [], []
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        ours = labels[first:last]
        i, j = np.nonzero(ours[:, None] > ours[None, :])
        better.append(i + first)
        worse.append(j + first)
    return np.concatenate(better).astype(np.int32), np.concatenate(worse).astype(np.int32)


def queries_with_pairs(data: RankingData) -> RankingData:
    """Without the queries whose labels are all the same: no order of theirs is better than another."""
    if not data.queries:
        return data
    highest, lowest = (extreme.reduceat(data.labels, data.offsets[:-1]) for extreme in (np.maximum, np.minimum))
    return data.take(np.flatnonzero(highest > lowest))
