"""Gradient descent on an objective, query by query, shared by every method that is trained so.

An epoch is one jitted call: a loop over the queries in a fresh random order, an update after each (ranknet2005 updates
after each pair; a query at a time does the same work in one matrix of pairs). Data and hyper-parameters go in as
arguments, so that folds and grid points of like shape share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

from replirank.engines.batches import Batches
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.models.base import Model

LEAST_RATE = 1e-6  # of the learning rate at the start: with less, nothing can change
OPTIMIZERS = {"adam": optax.scale_by_adam(), "sgd": optax.identity()}


# What is minimised


class Query(NamedTuple):
    """One query, padded to the length of its class; the documents come by decreasing label."""

    features: jax.Array  # (length, features)
    labels: jax.Array  # (length,)
    mask: jax.Array  # (length,) which are documents and not padding
    preferred: int | None  # only the first n documents can be the better one of a pair; None where no pairs are needed


class Objective(Protocol):
    """Hashable, and equal for folds and grid points that share a compilation."""

    def __call__(self, model: Model, query: Query, hyper: Mapping[str, jax.Array], key: jax.Array) -> jax.Array:
        """What the query costs. `hyper` are the traced hyper-parameters; `key` is a new one in every step."""


Loss = Callable[..., jax.Array]  # loss(scores, labels, *, where), and hyper-parameters by name


@dataclass(frozen=True)
class LossOfScores:
    """The usual objective: a loss of the model's scores.

    The loss gets the traced hyper-parameters by name, and `preferred` where batches are made for pairs.
    """

    loss: Loss

    def __call__(self, model: Model, query: Query, hyper: Mapping[str, jax.Array], key: jax.Array) -> jax.Array:
        pairs = {} if query.preferred is None else {"preferred": query.preferred}
        return self.loss(model.score_query(query.features), query.labels, where=query.mask, **pairs, **hyper)


# The descent


class Epoch(NamedTuple):
    """A row of the history."""

    epoch: int
    loss: float  # the mean over the queries, each taken before its update
    validation: float
    learning_rate: float  # of the epoch to come


def descend_by_query(
    objective: Objective,
    model: Model,
    batches: Batches,
    *,
    task: Task,
    learning_rate: float,
    epochs: int,
    hyper: Mapping[str, float] | None = None,
    optimizer: str = "adam",
    patience: int | None = 1,
    finished: Callable[[Model], bool] = lambda model: False,
) -> Fit:
    """Minimise the objective from `model` on and keep the epoch that validates best (the first of equals).

    The learning rate is halved when the error grows: after `patience` epochs whose mean loss is above that of the epoch
    before them. With a patience of 1 this is the rule of ranknet2005 (section 5.1); None: never. When nearly nothing is
    left of the rate, the descent ends, and the history with it. It also ends with the epoch whose model is `finished`.
    """
    features, labels = jax.device_put((batches.features, batches.labels))  # once, not in every epoch
    traced = {name: np.float32(value) for name, value in (hyper or {}).items()}
    state = jax.jit(OPTIMIZERS[optimizer].init)(model)
    random, queries = np.random.default_rng(task.seed), batches.queries
    run_epoch = partial(_epoch, classes=batches.shapes.classes, objective=objective, optimizer=optimizer)
    best, best_value = model, -np.inf
    losses, least_rate = [], LEAST_RATE * abs(learning_rate)
    history: list[Epoch] = []
    for epoch in range(1, epochs + 1):
        mean = 0.0
        if len(queries):
            order = np.zeros((batches.shapes.queries, queries.shape[1]), dtype=np.int32)
            order[: len(queries)] = random.permutation(queries)
            seeds = np.array([task.seed, epoch], dtype=np.uint32)
            model, state, total = run_epoch(
                model, state, features, labels, order, len(queries), learning_rate, traced, seeds
            )
            mean = float(total) / len(queries)
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


@partial(jax.jit, static_argnames=("classes", "objective", "optimizer"))
def _epoch(model, state, features, labels, order, count, learning_rate, hyper, seeds, *, classes, objective, optimizer):
    def cost_in_class(length: int, preferred: int | None):
        def cost(model, step, start, documents):
            def here(flat):
                return jax.lax.dynamic_slice_in_dim(flat, start, length)

            query = Query(here(features), here(labels), jnp.arange(length) < documents, preferred)
            # XLA leaves this out where the objective does not use it.
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seeds[0]), seeds[1]), step)
            return objective(model, query, hyper, key)

        return jax.value_and_grad(cost)

    by_class = [cost_in_class(*found) for found in classes]

    def step(i, carry):
        model, state, total = carry
        number, start, documents = order[i]
        value, gradient = jax.lax.switch(number, by_class, model, i, start, documents)
        updates, state = OPTIMIZERS[optimizer].update(gradient, state, model)
        model = jax.tree.map(lambda p, u: p - learning_rate * u, model, updates)
        return model, state, total + value

    # The number of queries is a value, not a shape: folds of other sizes run the same code.
    return jax.lax.fori_loop(0, count, step, (model, state, jnp.zeros(())))
