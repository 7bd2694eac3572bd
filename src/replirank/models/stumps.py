"""The sum of binary weak learners: what boosting leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class Stumps(Model):
    """H(x) = sum over t of alpha_t [x's feature_t > threshold_t]"""

    features: np.ndarray  # (rounds,) which feature, from 0
    thresholds: np.ndarray  # (rounds,) float32, as the data
    alphas: np.ndarray  # (rounds,)

    def score_query(self, features: np.ndarray) -> np.ndarray:
        # In the order of the rounds, so that the score is to the last bit what it was in training.
        scores = np.zeros(len(features))
        for feature, threshold, alpha in zip(self.features, self.thresholds, self.alphas, strict=True):
            scores += alpha * (features[:, feature] > threshold)
        return scores
