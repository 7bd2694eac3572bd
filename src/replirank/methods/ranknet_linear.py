"""RankNet (ranknet2005) with a linear net."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from replirank.data.arrays import RankingData
from replirank.fitting.batches import Batches, make_batches
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

    @classmethod
    def share(cls, train: RankingData) -> Batches:
        return make_batches(train)

    def fit(self, task: Task) -> Fit:
        return descend(
            logistic,
            linear.apply,
            linear.start(jax.random.key(task.seed), task.train.features.shape[1]),
            task.shared,
            model=lambda weights: linear.Linear(np.asarray(weights)),
            task=task,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
        )
