"""Features scaled within each query, as in LETOR's QueryLevelNorm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from replirank.data.arrays import RankingData


def normalize_by_query(data: RankingData) -> RankingData:
    """Each feature of a query as (x - min) / (max - min) over the query's documents; 0 where all are equal.

    Give features that were read as float64: rounding to float32 before may cost several decimals, where a query's
    values lie close together. The result is float32. What is normalized already stays as it is.

    >>> features = np.array([[2, 5], [4, 5], [3, 5]], dtype=np.float32)
    >>> one_query = RankingData(features, np.zeros(3), offsets=np.array([0, 3]), query_ids=np.array([1]))
    >>> normalize_by_query(one_query).features.tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    """
    scaled = np.empty(data.features.shape, dtype=np.float32)
    for column in range(data.features.shape[1]):  # one at a time: in float64 the whole matrix may not fit the memory
        values = data.features[:, [column]].astype(np.float64)
        query_level_norm(values, data.offsets[:-1])
        scaled[:, [column]] = values
    return replace(data, features=scaled)


def query_level_norm(x: np.ndarray, starts: np.ndarray) -> None:
    """Scale each column to 0..1 in each query, in place; a constant one becomes 0. Query q begins at row starts[q]."""
    lengths = np.diff(starts, append=len(x))
    low = np.minimum.reduceat(x, starts, axis=0)
    width = np.maximum.reduceat(x, starts, axis=0) - low
    x -= np.repeat(low, lengths, axis=0)
    x /= np.repeat(np.where(width > 0, width, 1), lengths, axis=0)


def is_normalized_by_query(data: RankingData) -> bool:
    """Whether in every query each feature has minimum 0 and maximum 1, or is the same for all documents."""
    starts = data.offsets[:-1]
    low, high = np.minimum.reduceat(data.features, starts), np.maximum.reduceat(data.features, starts)
    return bool(np.all((low == high) | ((low == 0) & (high == 1))))
