"""Places of documents within their lists, scaled: 0 for the last, 1 for the first."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from replirank.data.arrays import Judgements


def scaled_places(values: np.ndarray) -> np.ndarray:
    """The places of the documents of one list by each column: the highest value is first, equals share the middle.

    >>> scaled_places(np.array([[0.3, 5.0], [0.1, 5.0], [0.2, 7.0]])).tolist()
    [[1.0, 0.25], [0.0, 0.25], [0.5, 1.0]]
    """
    if len(values) < 2:
        return np.full(values.shape, 0.5)
    return (rankdata(values, axis=0) - 1) / (len(values) - 1)


def places_by_query(values: np.ndarray, lists: Judgements) -> np.ndarray:
    """The same for the documents of many lists, one column or several."""
    places = np.empty(values.shape)
    for rows in lists:
        places[rows] = scaled_places(values[rows])
    return places
