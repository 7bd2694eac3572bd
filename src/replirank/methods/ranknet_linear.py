"""RankNet (ranknet2005) with a linear net."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.fitting.batches import common_shapes, make_batches
from replirank.fitting.gradient import descend
from replirank.losses.pairwise import logistic
from replirank.methods.base import Fit, Method, Task
from replirank.models import linear


@dataclass(frozen=True)
class RankNetLinear(Method):
    learning_rate: float = 0.001
    epochs: int = 100

    title = "RankNet, linear"
    grid = {"learning_rate": (0.0001, 0.001, 0.01)}

    plan = staticmethod(common_shapes)
    share = staticmethod(make_batches)

    def fit(self, task: Task) -> Fit:
        return descend(
            logistic,
            linear.apply,
            linear.start(task.train.features.shape[1]),
            task.shared,
            model=lambda weights: linear.Linear(np.asarray(weights)),
            task=task,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
        )
