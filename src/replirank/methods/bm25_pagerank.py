"""BM25 + PageRank (frank2007, section 4.4.3): (1 - weight) BM25 + weight PageRank, both scaled alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class BM25PageRank(Method):
    weight: float = 0.2  # the paper's

    title = "BM25 + PageRank"
    # "We try many different combination parameters" is all that the paper says.
    grid = {"weight": tuple(round(0.05 * step, 2) for step in range(21))}

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return data.lacks("bm25", "pagerank")

    def fit(self, task: Task) -> Fit:
        train = task.train
        weights = np.zeros(train.features.shape[1])
        for name, share in (("bm25", 1 - self.weight), ("pagerank", self.weight)):
            column = train.column(name)
            # Scaled by the range in the training set, which is 1 already where features are normalised by query.
            span = float(np.ptp(train.features[:, column]))
            weights[column] = share / span if span else 0.0
        return Fit(Linear(weights))
