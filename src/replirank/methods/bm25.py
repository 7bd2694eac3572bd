"""BM25, as the benchmark computed it: one of the data's columns. Nothing is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class BM25(Method):
    title = "BM25"

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return data.lacks("bm25")

    def fit(self, task: Task) -> Fit:
        weights = np.zeros(task.train.features.shape[1])
        weights[task.train.column("bm25")] = 1
        return Fit(Linear(weights))
