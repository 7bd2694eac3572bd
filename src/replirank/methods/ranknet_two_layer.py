"""RankNet (ranknet2005) with a two-layer net."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.fitting.batches import common_shapes, make_batches
from replirank.fitting.gradient import descend
from replirank.losses.pairwise import logistic
from replirank.methods.base import Fit, Method, Task
from replirank.models import two_layer


@dataclass(frozen=True)
class RankNetTwoLayer(Method):
    learning_rate: float = 0.001
    epochs: int = 100
    units: int = 10  # as in ranknet2005, section 6.2

    title = "RankNet, two-layer"
    grid = {"learning_rate": (0.0001, 0.001, 0.01)}

    plan = staticmethod(common_shapes)
    share = staticmethod(make_batches)

    def fit(self, task: Task) -> Fit:
        return descend(
            logistic,
            two_layer.apply,
            two_layer.start(task.train.features.shape[1], self.units, seed=task.seed),
            task.shared,
            model=lambda weights: two_layer.TwoLayer(*map(np.asarray, weights)),
            task=task,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
        )
