"""BM25, as the benchmark computed it: one of the data's columns. Nothing is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.errors import ReplirankError
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class BM25(Method):
    title = "BM25"

    def fit(self, task: Task) -> Fit:
        if "bm25" not in task.train.columns:
            raise ReplirankError(
                "this data set has no column known to hold BM25",
                remedy="name it in src/replirank/data/specs.py, or take bm25 off this data set",
            )
        weights = np.zeros(task.train.features.shape[1])
        weights[task.train.columns["bm25"]] = 1
        return Fit(Linear(weights))
