"""Gradient descent on a loss over queries, shared by every method that is trained so.

An epoch is one jitted call: a loop over the queries in a fresh random order, an update after each (ranknet2005 updates
after each pair; a query at a time does the same work in one matrix of pairs). The data goes in as arguments, so that
folds and grid points of like shape share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

from replirank.errors import ReplirankError
from replirank.fitting.batches import Batches
from replirank.fitting.task import Fit, Task
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


PATIENCE = 3  # epochs without a new lowest loss before the learning rate is halved
NEGLIGIBLE = 1e-6  # of the learning rate at the start
OPTIMIZERS = {"adam": optax.scale_by_adam(), "sgd": optax.identity()}


def descend(
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
    halving: bool = True,
) -> Fit:
    """Minimise the loss from `params` on and keep the epoch that validates best (the first of equals).

    The learning rate is halved when the mean loss has been above its lowest for three epochs in a row. (ranknet2005,
    section 5.1, halves as soon as it is above the epoch before. Updates by query are few, so that the random order
    alone does that every other epoch, and the rate would be gone long before the minimum is reached.) When nearly
    nothing is left of the rate, nothing can change: the descent ends, and the history with it. `halving` is for losses
    that are the same function throughout. `model` turns parameters into what scores the validation queries and is kept.
    """
    features, labels = jax.device_put((batches.features, batches.labels))  # once, not in every epoch
    state = jax.jit(OPTIMIZERS[optimizer].init)(params)
    random, queries = np.random.default_rng(task.seed), batches.queries
    step_through = partial(_epoch, classes=batches.shapes.classes, loss=loss, apply=apply, optimizer=optimizer)
    best, best_value = None, -np.inf
    lowest, waited, negligible = np.inf, 0, NEGLIGIBLE * abs(learning_rate)
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
        lowest, waited = min(lowest, mean), waited + 1 if mean > lowest else 0
        if halving and waited == PATIENCE:
            learning_rate, waited = learning_rate / 2, 0
        history.append(Epoch(epoch, mean, value, learning_rate))
        if abs(learning_rate) < negligible:
            task.report(f"ended after epoch {epoch}, the learning rate being {learning_rate:.2g}")
            break
    return Fit(best, pd.DataFrame(history))


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
