"""The family of methods trained by gradient descent, query by query: a loss, a scoring function, little else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replirank.engines.batches import list_shapes, make_batches
from replirank.engines.stochastic import Loss, LossOfScores, Objective, descend_by_query
from replirank.methods.base import Fit, Method, Task
from replirank.models import linear
from replirank.models.base import Model


@dataclass(frozen=True)
class Descent(Method):
    """A subclass names its `loss`. Its scoring function is linear unless it brings a `start`.

    A pairwise method sets `plan = staticmethod(pair_shapes)`, and its loss takes `preferred` (losses/pairwise.py). What
    is not a loss of scores (it samples, or compares documents in another way) brings an `objective`.
    """

    learning_rate: float = 0.001
    epochs: int = 100

    loss: ClassVar[Loss]
    traced: ClassVar[tuple[str, ...]] = ()  # the fields that the objective gets as numbers: a grid compiles once
    optimizer: ClassVar[str] = "adam"
    # Epochs of grown loss that halve the learning rate. The random order of the queries alone may make an epoch worse
    # than the one before; where no paper asks for less, three in a row are waited for.
    patience: ClassVar[int | None] = 3
    grid = {"learning_rate": (0.0001, 0.001, 0.01)}

    plan = staticmethod(list_shapes)
    share = staticmethod(make_batches)

    def objective(self) -> Objective:
        return LossOfScores(self.loss)

    def start(self, task: Task) -> Model:
        """The model to start from, its arrays in float32."""
        return linear.start(task.train.features.shape[1])

    def fit(self, task: Task) -> Fit:
        return descend_by_query(
            self.objective(),
            self.start(task),
            task.shared,
            task=task,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
            hyper={name: getattr(self, name) for name in self.traced},
            optimizer=self.optimizer,
            patience=self.patience,
        )
