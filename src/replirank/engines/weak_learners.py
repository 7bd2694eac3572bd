"""Binary weak learners: 1 where a feature is above a threshold, else 0. All of them together, on binned data.

A document's bin of a feature counts the thresholds below its value, so that the weak learner with the t-th threshold
(from 0) is 1 where the bin is above t. What a sum over documents is for every threshold of a feature then comes from
one histogram and its running sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError


class WeakLearners(NamedTuple):
    thresholds: np.ndarray  # (features, most thresholds) float32, increasing; infinite where a feature has fewer
    bins: np.ndarray  # (documents, features): small integers

    @property
    def width(self) -> int:
        """How many bins a feature can have."""
        return self.thresholds.shape[1] + 1

    def output(self, feature: int, threshold: int) -> np.ndarray:
        """What this weak learner says of each document."""
        return self.bins[:, feature] > threshold

    def sums(self, histogram: np.ndarray) -> np.ndarray:
        """(features, thresholds): the sum over the documents on which each weak learner is 0."""
        return np.cumsum(histogram, axis=1)[:, :-1]


def make_weak_learners(data: RankingData, thresholds: int) -> WeakLearners:
    """The weak learners of a training set, with at most so many thresholds for each feature."""
    if thresholds < 1:
        raise ReplirankError(f"{thresholds} thresholds", remedy="a weak learner needs one or more: set it in the grid")
    chosen = [choose_thresholds(values, thresholds) for values in data.features.T]
    most = max(1, *map(len, chosen))
    padded = np.full((len(chosen), most), np.inf, dtype=np.float32)
    bins = np.empty(data.features.shape, dtype=np.min_scalar_type(most))
    for feature, values in enumerate(chosen):
        padded[feature, : len(values)] = values
        bins[:, feature] = np.searchsorted(values, data.features[:, feature], side="left")
    return WeakLearners(padded, bins)


def choose_thresholds(values: np.ndarray, most: int) -> np.ndarray:
    """Each value but the highest, which nothing is above; of more than `most` these so many, evenly among them.

    >>> choose_thresholds(np.array([0.5, 0.0, 1.0, 0.5]), most=255)
    array([0. , 0.5])
    >>> choose_thresholds(np.arange(101), most=4)
    array([ 0, 33, 66, 99])
    """
    distinct = np.unique(values)[:-1]
    if len(distinct) <= most:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, most).round().astype(np.int64)]


class Histogram:
    """Sums of documents' weights by feature and bin, of the same documents again and again."""

    def __init__(self, bins: np.ndarray, width: int):
        self.shape = bins.shape[1], width
        self.cells = (bins + np.arange(bins.shape[1]) * width).ravel()  # the cell that a document's bin is, by feature

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """(features, bins), for weights (documents,) or (documents, features)."""
        by_feature = np.broadcast_to(weights.reshape(len(weights), -1), (len(weights), self.shape[0]))
        return np.bincount(self.cells, by_feature.ravel(), self.shape[0] * self.shape[1]).reshape(self.shape)
