"""What every descent by epochs has in common: the best epoch is kept, the learning rate halved, and an end is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd

from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.models.base import Model

LEAST_RATE = 1e-6  # of the learning rate at the start: with less, nothing can change


class Epoch(NamedTuple):
    """A row of the history."""

    epoch: int
    loss: float  # the mean over what is learned from, each taken before its update
    validation: float
    learning_rate: float  # of the epoch to come


def keep_best_epoch(
    run_epoch: Callable[[Model, int, float], tuple[Model, float]],
    model: Model,
    *,
    task: Task,
    learning_rate: float,
    epochs: int,
    patience: int | None,
    finished: Callable[[Model], bool],
) -> Fit:
    """Run epochs from `model` on and keep the one that validates best (the first of equals).

    `run_epoch(model, epoch, learning_rate)` gives the model after an epoch and its mean loss. The learning rate is
    halved when the error grows: after `patience` epochs whose mean loss is above that of the epoch before them. With a
    patience of 1 this is the rule of ranknet2005 (section 5.1); None: never. When nearly nothing is left of the rate,
    the descent ends, and the history with it. It also ends with the epoch whose model is `finished`.
    """
    best, best_value = model, -np.inf
    losses, least_rate = [], LEAST_RATE * abs(learning_rate)
    history: list[Epoch] = []
    for epoch in range(1, epochs + 1):
        model, mean = run_epoch(model, epoch, learning_rate)
        if not np.isfinite(mean):
            raise ReplirankError(
                f"the training loss is {mean} in epoch {epoch} at learning rate {learning_rate:g}",
                remedy="take larger learning rates out of this method's grid in config.yaml",
            )
        candidate = jax.tree.map(np.asarray, model)
        value = task.validate(candidate.score(task.vali))
        task.report(f"epoch {epoch}/{epochs}, loss {mean:.5g}, validation {value:.4f}")
        if not history or value > best_value:
            best, best_value = candidate, value
        losses.append(mean)
        if patience and grown(losses, patience):
            learning_rate, losses = learning_rate / 2, [mean]
        history.append(Epoch(epoch, mean, value, learning_rate))
        if abs(learning_rate) < least_rate:
            task.report(f"ended after epoch {epoch}, the learning rate being {learning_rate:.2g}")
            break
        if finished(candidate):
            task.report(f"finished after epoch {epoch}")
            break
    return Fit(best, pd.DataFrame(history))


def grown(losses: Sequence[float], patience: int) -> bool:
    """Whether each of the last `patience` losses is above the one before them.

    >>> grown([3.0, 2.0, 2.5], patience=1), grown([3.0, 2.0, 2.5], patience=2), grown([3.0, 2.0, 2.5, 2.1], patience=2)
    (True, False, True)
    """
    return len(losses) > patience and min(losses[-patience:]) > losses[-patience - 1]
