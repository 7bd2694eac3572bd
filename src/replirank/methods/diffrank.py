"""DiffRank (diffrank2011): boosting in which every feature is a weak ranker, one round each, in the order of columns.

A weak ranker h^m is the order of a list by feature m: places, not values. Its difference for two documents is divided
by the largest there can be, U_q, so that it lies in [-1, 1]; here the places themselves are scaled to 0..1. A feature
that orders lists the wrong way round gets a negative weight.

A pair (i, j), i being the better document, has the weight D_ij. Theorem 2 takes the weak ranker's own differences for
the coefficient alpha and for the update of D:

    r = sum of D_ij dh_ij,   alpha = ln((1 + r) / (1 - r)) / 2,   D_ij <- D_ij exp(-alpha dh_ij) / Z

Then the product of the Z is the mean of exp(-dH_ij) over pairs. It is at least the share of pairs in the wrong order,
which is Theorem 1, and each Z is at most sqrt(1 - r^2). Figure 1 prints the cumulated dH^m in both places instead, for
which this does not hold (`cumulated`). Since alpha^m stands in H^m, that coefficient cannot be computed as printed: in
it H^m is read as H^(m-1) + h^m, and in the update as what it is, H^(m-1) + alpha^m h^m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.data.places import places_by_query
from replirank.engines.levels import ExponentialPairs
from replirank.methods.base import Fit, Method, Task
from replirank.metrics.per_query import Judge
from replirank.models.places import WeightedPlaces


class Round(NamedTuple):
    """A row of the history."""

    round: int
    feature: int  # from 1, as LETOR numbers them
    alpha: float
    loss: float  # the product of the Z so far: Theorem 1's bound
    error: float  # the share of all training pairs in the wrong order, equal scores counting half
    kendall: float  # the same for each training query, averaged over queries
    validation: float


@dataclass(frozen=True)
class DiffRank(Method):
    rounds: int = 0  # 0: one for each feature, as in the paper; else for the first so many that order any list
    cumulated: bool = False  # Figure 1's differences

    title = "DiffRank"

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> np.ndarray:
        return places_by_query(train.features, train)

    def fit(self, task: Task) -> Fit:
        booster = PlaceBooster(task.train, task.shared, cumulated=self.cumulated)
        vali_places = places_by_query(task.vali.features, task.vali)
        history = []
        features = np.flatnonzero((task.shared != 0.5).any(axis=0))  # one that is the same in each list orders none
        for number, feature in enumerate(features[: self.rounds or None], 1):
            if not booster.pairs.pairs or not booster.add(feature):
                task.report(f"ended before round {number}: there is no coefficient for feature {feature + 1}")
                break
            validation = task.validate(np.einsum("nd,d->n", vali_places, booster.alphas))
            history.append(
                Round(number, feature + 1, booster.alphas[feature], booster.bound, *booster.errors(), validation)
            )
            task.report(f"round {number}, bound {booster.bound:.4f}, error {history[-1].error:.4f}")
        if not history:  # nothing to learn from
            history = [Round(0, 0, 0.0, 1.0, 0.5, 0.5, task.validate(np.zeros(task.vali.documents)))]
        return Fit(WeightedPlaces(booster.alphas), pd.DataFrame(history))


class PlaceBooster:
    """The weights of pairs, and what was learned so far."""

    def __init__(self, train: RankingData, places: np.ndarray, *, cumulated: bool):
        self.places, self.cumulated = places, cumulated
        self.pairs = ExponentialPairs(train)
        self.kendall = Judge(train.labels, train.offsets, "kendall_tau")
        self.alphas = np.zeros(places.shape[1])
        self.scores = np.zeros(len(places))  # H
        self.exponent = np.zeros(len(places))  # D_ij is proportional to exp(-(exponent_i - exponent_j))
        self.potentials, self.bound = self.pairs.weigh(self.exponent)

    def add(self, feature: int) -> bool:
        """A round with this feature; False where its coefficient would not be a number."""
        own = self.places[:, feature]
        differences = self.scores + own if self.cumulated else own
        r = float(self.potentials @ differences) / (self.bound * self.pairs.pairs)
        if self.cumulated and abs(r) >= 1:
            return False
        # Where every pair has the largest difference there is, as a right feature has in lists of two, the coefficient
        # would be infinite: as if one more pair had the opposite.
        most = 1 - 1 / (self.pairs.pairs + 1)
        r = float(np.clip(r, -most, most))
        alpha = np.log((1 + r) / (1 - r)) / 2
        self.alphas[feature] = alpha
        self.scores = self.scores + alpha * own
        self.exponent = self.exponent + alpha * (self.scores if self.cumulated else own)
        self.potentials, self.bound = self.pairs.weigh(self.exponent)
        return True

    def errors(self) -> tuple[float, float]:
        """The share of wrong pairs: over all pairs, and on the mean over queries that have pairs."""
        wrong, counts = self.kendall(self.scores), self.pairs.counts
        return float(np.nansum(wrong * counts) / counts.sum()), float(np.nanmean(wrong))
