"""Boosting in which what was learned is kept after every round, so that the best round can be gone back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from replirank.engines.boosting import Curves, Ended
from replirank.engines.task import Fit, Task
from replirank.models.base import Model


class Learner(Protocol):
    """Knows the training set and what was learned so far."""

    learned: np.ndarray  # all that the model is made of
    loss: float
    scores: np.ndarray  # of the training documents

    def choose(self) -> Any | Ended:
        """A further round: the weak ranker that was added, or why there is none."""


def boost_with_snapshots(learner: Learner, model: Callable[[np.ndarray], Model], task: Task, *, rounds: int) -> Fit:
    """At most so many rounds; `model` makes a scoring function of what was learned."""
    curves, snapshots = Curves(task, rounds), []
    for _ in range(rounds):
        chosen = learner.choose()
        if isinstance(chosen, Ended):
            curves.end(chosen)
            break
        snapshots.append(learner.learned.copy())
        curves.add(learner.loss, learner.scores, model(snapshots[-1]).score(task.vali))
    return curves.fit(lambda best: model(snapshots[best - 1] if best else learner.learned))
