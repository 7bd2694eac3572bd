"""What methods trained by gradient descent have in common: a loss, a scoring function, and little else of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replirank.engines.batches import make_batches, pair_shapes
from replirank.engines.stochastic import Loss, Params, descend_by_query
from replirank.methods.base import Fit, Method, Task
from replirank.models import linear


@dataclass(frozen=True)
class Descent(Method):
    """A subclass names its `loss`. Its scoring function is linear unless it brings `start`, `apply` and `model`.

    A listwise method sets `plan = staticmethod(list_shapes)`: it needs no matrix of pairs.
    """

    learning_rate: float = 0.001
    epochs: int = 100

    loss: ClassVar[Loss]
    optimizer: ClassVar[str] = "adam"
    # Epochs of grown loss that halve the learning rate. The random order of the queries alone may make an epoch worse
    # than the one before; where no paper asks for less, three in a row are waited for.
    patience: ClassVar[int | None] = 3
    grid = {"learning_rate": (0.0001, 0.001, 0.01)}

    plan = staticmethod(pair_shapes)
    share = staticmethod(make_batches)
    apply = staticmethod(linear.apply)  # the parameters and a query's features -> scores, in training
    model = linear.Linear.of  # the parameters -> what is kept

    def start(self, task: Task) -> Params:
        """The parameters to start from."""
        return linear.start(task.train.features.shape[1])

    def fit(self, task: Task) -> Fit:
        return descend_by_query(
            self.loss,
            self.apply,
            self.start(task),
            task.shared,
            model=self.model,
            task=task,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
            optimizer=self.optimizer,
            patience=self.patience,
        )
