"""FeatureRank (Wang and Mao 2010), reconstructed: the paper could not be had, and only its title tells what it does.

"A non-linear listwise approach with clustering and boosting" is read as follows. The values of each feature are
clustered (k-means). A weak ranker looks at one feature and gives a document the mean true place of the training
documents in the same cluster: a step function of the feature, hence not linear. Boosting is AdaRank's: lists on which
the ranking so far does badly weigh more (the listwise weight), the weak rankers are fitted with these weights, and the
one that does best on the weighted lists is added. How well a list is ranked is the correlation of scores and true
places.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from replirank.data.arrays import RankingData
from replirank.data.pairs import pair_counts
from replirank.data.places import places_by_query
from replirank.engines.boosting import Ended
from replirank.engines.snapshots import boost_with_snapshots
from replirank.engines.weak_learners import WeakLearners, make_weak_learners
from replirank.methods.base import Fit, Method, Task
from replirank.models.steps import Steps

THRESHOLDS = 255  # k-means sees each feature's values in so many bins: as fine as boosting elsewhere, and fast
LEAST_ERROR = 1e-12


@dataclass(frozen=True)
class FeatureRank(Method):
    rounds: int = 100
    clusters: int = 10
    repeats: bool = True  # whether a feature may be chosen again, else it is out once it was chosen

    title = "FeatureRank (reconstruction)"
    grid = {"clusters": (5, 20), "repeats": (True, False)}

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> dict[int, Clusters]:
        return {}  # filled by `fit`: those with so many clusters for each feature

    def fit(self, task: Task) -> Fit:
        if self.clusters not in task.shared:
            task.shared[self.clusters] = Clusters(task.train, self.clusters)
        clusters = task.shared[self.clusters]
        booster = ListBooster(clusters, repeats=self.repeats)
        return boost_with_snapshots(booster, partial(Steps, clusters.edges), task, rounds=self.rounds)


class Clusters:
    """The clusters of each feature, and for each list how many documents it has in each and the sum of their places."""

    def __init__(self, train: RankingData, clusters: int):
        fine = make_weak_learners(train, THRESHOLDS)
        self.edges, of_bin = cluster_bins(train, fine, clusters)
        self.lists, self.places = train, places_by_query(train.labels, train)
        self.cluster = np.take_along_axis(of_bin, fine.bins.T.astype(np.intp), axis=1)  # (features, documents)
        shape = len(self.cluster), train.queries, self.edges.shape[1] + 1
        cells = train.query_of * shape[2] + self.cluster
        self.counts, self.sums = (
            np.stack([np.bincount(cell, weights, shape[1] * shape[2]) for cell in cells]).reshape(shape)
            for weights in (None, self.places)
        )
        self.lengths = train.lengths.astype(np.float64)

    def mean_places(self, weights: np.ndarray) -> np.ndarray:
        """(features, clusters): the mean place of a cluster's documents, a list counting by its weight in all."""
        each = weights / self.lengths
        counts, sums = np.tensordot(each, self.counts, (0, 1)), np.tensordot(each, self.sums, (0, 1))
        return np.divide(sums, counts, out=np.full_like(sums, 0.5), where=counts > 0)

    def correlations(self, values: np.ndarray) -> np.ndarray:
        """(features, queries): of these values of clusters with the true places."""
        first = np.einsum("fqc,fc->fq", self.counts, values) / self.lengths
        second = np.einsum("fqc,fc->fq", self.counts, values**2) / self.lengths
        product = np.einsum("fqc,fc->fq", self.sums, values) / self.lengths
        return self._correlation(first, second, product)

    def correlation(self, scores: np.ndarray) -> np.ndarray:
        """(queries,): of these scores with the true places."""
        return self._correlation(*map(self._mean, (scores, scores**2, scores * self.places)))

    def _mean(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.lists.offsets[:-1]) / self.lengths

    def _correlation(self, first: np.ndarray, second: np.ndarray, product: np.ndarray) -> np.ndarray:
        mean, square = self._mean(self.places), self._mean(self.places**2)
        variances = (second - first**2) * (square - mean**2)
        # Where the values, or the labels, are all equal there is no correlation; rounding leaves a little of it.
        varied = variances > 1e-18
        return np.divide(product - first * mean, np.sqrt(np.where(varied, variances, 1)), out=0 * first, where=varied)


class ListBooster:
    """The weights of lists, and what was learned so far."""

    def __init__(self, clusters: Clusters, *, repeats: bool):
        self.clusters, self.repeats = clusters, repeats
        self.allowed = np.ones(len(clusters.cluster), dtype=bool)
        self.learned = np.zeros((len(clusters.cluster), clusters.edges.shape[1] + 1))  # values of clusters
        self.loss, self.scores = 1.0, np.zeros(len(clusters.places))
        # A list whose labels are all equal teaches nothing, and weighs nothing; unless all are.
        self.teaches = pair_counts(clusters.lists) > 0
        if not self.teaches.any():
            self.teaches[:] = True
        self.weights = self.teaches / self.teaches.sum()

    def choose(self) -> tuple[int, float] | Ended:
        """The weak ranker that does best on the weighted lists, with its coefficient."""
        fitted = self.clusters.mean_places(self.weights)
        performance = np.where(self.allowed, self.clusters.correlations(fitted) @ self.weights, -np.inf)
        feature = int(np.argmax(performance))
        value = min(float(performance[feature]), 1 - LEAST_ERROR)
        if value <= 0:
            return Ended("no feature is left that ranks the lists better than chance")
        alpha = float(np.log((1 + value) / (1 - value)) / 2)
        self.learned[feature] += alpha * fitted[feature]
        self.allowed[feature] = self.repeats
        self.scores = self.scores + alpha * fitted[feature][self.clusters.cluster[feature]]
        costs = np.where(self.teaches, np.exp(-self.clusters.correlation(self.scores)), 0)
        self.loss = float(costs.sum() / self.teaches.sum())
        self.weights = costs / costs.sum()
        return feature, alpha


def cluster_bins(train: RankingData, fine: WeakLearners, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """By k-means of the bins' mean values: the edges between each feature's clusters, and the cluster of each bin."""
    edges = np.full((len(fine.thresholds), clusters - 1), np.inf, dtype=np.float32)
    of_bin = np.zeros((len(fine.thresholds), fine.width), dtype=np.int64)
    for feature, thresholds in enumerate(fine.thresholds):
        bins = fine.bins[:, feature]
        counts = np.bincount(bins, minlength=fine.width)
        filled = np.flatnonzero(counts)
        means = np.bincount(bins, train.features[:, feature].astype(np.float64), fine.width)[filled] / counts[filled]
        cut = cluster_line(means, counts[filled], clusters)
        # A cluster ends with the last bin before the next one begins; that bin's threshold is the edge.
        edges[feature, : len(cut)] = thresholds[filled[cut - 1]]
        of_bin[feature] = np.searchsorted(filled[cut], np.arange(fine.width), side="right")
    return edges, of_bin


def cluster_line(values: np.ndarray, counts: np.ndarray, clusters: int) -> np.ndarray:
    """Where clusters of increasing values begin, the first one left out; `counts` says how often there is each.

    >>> cluster_line(np.array([0.0, 0.1, 0.9, 1.0]), np.array([1, 1, 1, 1]), 2)
    array([2])
    """
    if len(values) <= clusters:
        return np.arange(1, len(values))
    # From evenly spaced quantiles: no random start, and the same whatever order the documents came in.
    shares = (np.cumsum(counts) - counts / 2) / counts.sum()
    start = np.interp((np.arange(clusters) + 0.5) / clusters, shares, values)[:, None]
    start = np.unique(start, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that there are fewer clusters than asked for is fine
        found = KMeans(len(start), init=start, n_init=1).fit(values[:, None], sample_weight=counts)
    # By centres, not by labels: these lose digits, and may alternate, where values differ by many orders of magnitude.
    centres = np.unique(found.cluster_centers_)
    return np.unique(np.searchsorted(values, (centres[1:] + centres[:-1]) / 2))
