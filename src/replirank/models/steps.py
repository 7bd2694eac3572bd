"""A sum of step functions, one of each feature: what boosting of clustered features leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class Steps(Model):
    """H(x) = sum over f of values_f at the step that x_f is on, which is the number of edges below it."""

    edges: np.ndarray  # (features, steps - 1) float32, increasing; infinite where a feature has fewer steps
    values: np.ndarray  # (features, steps)

    def score_query(self, features: np.ndarray) -> np.ndarray:
        scores = np.zeros(len(features))
        for column, edges, values in zip(features.T, self.edges, self.values, strict=True):
            if np.any(values):
                scores += values[np.searchsorted(edges, column, side="left")]
        return scores
