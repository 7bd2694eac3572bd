"""The squared surrogate of bayesopt2010 (Eq. 14), with a linear function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from replirank.engines.batches import list_shapes
from replirank.losses.listwise import squared
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.models import linear


class Weights(NamedTuple):
    features: jax.Array
    offset: jax.Array  # brings the scores to the level of the labels; it is left out when ranking


@dataclass(frozen=True)
class SquaredListwise(Descent):
    title = "Squared listwise"
    loss = staticmethod(squared)
    plan = staticmethod(list_shapes)

    def start(self, task: Task) -> Weights:
        return Weights(linear.start(task.train.features.shape[1]), np.zeros((), dtype=np.float32))

    @staticmethod
    def apply(weights: Weights, features: jax.Array) -> jax.Array:
        return linear.apply(weights.features, features) + weights.offset

    @staticmethod
    def model(weights: Weights) -> linear.Linear:
        return linear.Linear.of(weights.features)
