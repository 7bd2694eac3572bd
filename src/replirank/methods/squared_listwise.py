"""The squared surrogate of bayesopt2010 (Eq. 14), with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.losses.listwise import squared
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.models import linear


@dataclass(frozen=True)
class SquaredListwise(Descent):
    title = "Squared listwise"
    loss = staticmethod(squared)

    def start(self, task: Task) -> linear.Affine:
        """With an offset, which brings the scores to the level of the labels."""
        return linear.Affine(linear.start(task.train.features.shape[1]).weights, np.zeros((), dtype=np.float32))
