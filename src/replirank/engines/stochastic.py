"""Gradient descent on a loss over queries, shared by every method that is trained so.

An epoch is one jitted call: a loop over the queries in a fresh random order, an update after each (ranknet2005 updates
after each pair; a query at a time does the same work in one matrix of pairs). The data goes in as arguments, so that
folds and grid points of like shape share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

from replirank.engines.batches import Batches
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.models.base import Model

Params = Any


class Epoch(NamedTuple):
    """A row of the history."""

    epoch: int
    loss: float  # the mean over the queries, each taken before its update
    validation: float
    learning_rate: float  # of the epoch to come


class Loss(Protocol):
    def __call__(
        self, scores: jax.Array, labels: jax.Array, *, where: jax.Array, preferred: int | None
    ) -> jax.Array: ...


LEAST_RATE = 1e-6  # of the learning rate at the start
OPTIMIZERS = {"adam": optax.scale_by_adam(), "sgd": optax.identity()}


def descend_by_query(
    loss: Loss,
    apply: Callable[[Params, jax.Array], jax.Array],
    params: Params,
    batches: Batches,
    *,
    model: Callable[[Params], Model],
    task: Task,
    learning_rate: float,
    epochs: int,
    optimizer: str = "adam",
    patience: int | None = 1,
    finished: Callable[[Model], bool] = lambda model: False,
) -> Fit:
    """Minimise the loss from `params` on and keep the epoch that validates best (the first of equals).

    The learning rate is halved when the error grows: after `patience` epochs whose mean loss is above that of the epoch
    before them. With a patience of 1 this is the rule of ranknet2005 (section 5.1); None: never. When nearly nothing is
    left of the rate, nothing can change: the descent ends, and the history with it. It also ends with the epoch whose
    model is `finished`. `model` turns parameters into what scores the validation queries and is kept.
    """
    features, labels = jax.device_put((batches.features, batches.labels))  # once, not in every epoch
    state = jax.jit(OPTIMIZERS[optimizer].init)(params)
    random, queries = np.random.default_rng(task.seed), batches.queries
    step_through = partial(_epoch, classes=batches.shapes.classes, loss=loss, apply=apply, optimizer=optimizer)
    best, best_value = None, -np.inf
    losses, negligible = [], LEAST_RATE * abs(learning_rate)
    history: list[Epoch] = []
    for epoch in range(1, epochs + 1):
        mean = 0.0
        if len(queries):
            order = np.zeros((batches.shapes.queries, queries.shape[1]), dtype=np.int32)
            order[: len(queries)] = random.permutation(queries)
            params, state, total = step_through(params, state, features, labels, order, len(queries), learning_rate)
            mean = float(total) / len(queries)
        if not np.isfinite(mean):
            raise ReplirankError(
                f"the training loss is {mean} in epoch {epoch} at learning rate {learning_rate:g}",
                remedy="take larger learning rates out of this method's grid in config.yaml",
            )
        candidate = model(params)
        value = task.validate(candidate.score(task.vali))
        task.report(f"epoch {epoch}/{epochs}, loss {mean:.5g}, validation {value:.4f}")
        if best is None or value > best_value:
            best, best_value = candidate, value
        losses.append(mean)
        if patience and grown(losses, patience):
            learning_rate, losses = learning_rate / 2, [mean]
        history.append(Epoch(epoch, mean, value, learning_rate))
        if abs(learning_rate) < negligible:
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


@partial(jax.jit, static_argnames=("classes", "loss", "apply", "optimizer"))
def _epoch(params, state, features, labels, order, count, learning_rate, *, classes, loss, apply, optimizer):
    def on_class(length: int, preferred: int | None):
        def query_loss(params, start, documents):
            def here(flat):
                return jax.lax.dynamic_slice_in_dim(flat, start, length)

            where = jnp.arange(length) < documents
            return loss(apply(params, here(features)), here(labels), where=where, preferred=preferred)

        return jax.value_and_grad(query_loss)

    by_class = [on_class(*found) for found in classes]

    def step(i, carry):
        params, state, total = carry
        number, start, documents = order[i]
        value, gradient = jax.lax.switch(number, by_class, params, start, documents)
        updates, state = OPTIMIZERS[optimizer].update(gradient, state, params)
        params = jax.tree.map(lambda p, u: p - learning_rate * u, params, updates)
        return params, state, total + value

    # The number of queries is a value, not a shape: folds of other sizes run the same code.
    return jax.lax.fori_loop(0, count, step, (params, state, jnp.zeros(())))
