"""The family of PRank and its averages: a subclass says what it averages and on which features it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np

from replirank.data.arrays import RankingData
from replirank.engines.online import Ensemble, example_shapes, make_examples, train_ensembles
from replirank.methods.base import Fit, Method, Task
from replirank.models.base import Model
from replirank.models.linear import Linear


@dataclass(frozen=True)
class Online(Method):
    epochs: int = 100  # as in ranknet2005, section 6.2

    perceptrons: ClassVar[int] = 1  # how many are averaged
    tau: ClassVar[float] = 1.0  # the chance of each to see a document

    plan = staticmethod(example_shapes)
    share = staticmethod(make_examples)

    @staticmethod
    def expand(x: jax.Array) -> jax.Array:
        """The features that are learned on, of one document."""
        return x

    @staticmethod
    def model(weights: np.ndarray) -> Model:
        """What scores with these weights of what `expand` gives. Thresholds are not needed: they change no order."""
        return Linear(weights)

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        levels = len(np.unique(data.labels))
        return f"{levels} relevance levels are too many for a threshold each" if levels > 100 else None

    def fit(self, task: Task) -> Fit:
        return self.fit_together([self], task)[0]

    @classmethod
    def fit_together(cls, points: Sequence[Online], task: Task) -> list[Fit]:
        ensembles = [Ensemble(point.perceptrons, point.tau, point.epochs) for point in points]
        return train_ensembles(ensembles, task, expand=cls.expand, model=cls.model)
