"""Least squares on the labels, LETOR's "Regression" baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class Regression(Method):
    title = "Regression"

    def fit(self, task: Task) -> Fit:
        # Centring stands for the offset. lstsq gives the least weights where columns are constant or repeated.
        features = task.train.features.astype(np.float64)
        labels = task.train.labels.astype(np.float64)
        weights, *_ = np.linalg.lstsq(features - features.mean(axis=0), labels - labels.mean(), rcond=None)
        return Fit(Linear(weights))
