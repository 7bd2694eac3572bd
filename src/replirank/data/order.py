"""An order of documents that does not depend on the one in which they came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from replirank.data.arrays import RankingData


def feature_order(features: np.ndarray) -> np.ndarray:
    """The rows by their first feature, equals by the second, and so on.

    >>> feature_order(np.array([[1.0, 5.0], [0.0, 9.0], [1.0, 4.0]])).tolist()
    [1, 2, 0]
    """
    return np.lexsort(features.T[::-1])


def in_feature_order(data: RankingData) -> RankingData:
    """The documents of each query in this order, those with the same features by label.

    What is then drawn at random is drawn for the same documents, in whatever order they came.
    """
    order = np.lexsort((data.labels, *data.features.T[::-1], data.query_of))
    names = None if data.document_ids is None else data.document_ids[order]
    return replace(data, features=data.features[order], labels=data.labels[order], document_ids=names)
