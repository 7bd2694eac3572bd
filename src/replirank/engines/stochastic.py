"""Gradient descent on an objective, query by query, shared by every method that is trained so.

An epoch is one jitted call: a loop over the queries in a fresh random order, an update after each (ranknet2005 updates
after each pair; a query at a time does the same work in one matrix of pairs). Data and hyper-parameters go in as
arguments, so that folds and grid points of like shape share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from replirank.engines.batches import Batches
from replirank.engines.epochs import keep_best_epoch
from replirank.engines.task import Fit, Task
from replirank.models.base import Model

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
    """Minimise the objective from `model` on, query by query, and keep the epoch that validates best."""
    features, labels = jax.device_put((batches.features, batches.labels))  # once, not in every epoch
    traced = {name: np.float32(value) for name, value in (hyper or {}).items()}
    state = jax.jit(OPTIMIZERS[optimizer].init)(model)
    random, queries = np.random.default_rng(task.seed), batches.queries

    def run_epoch(model: Model, epoch: int, learning_rate: float) -> tuple[Model, float]:
        nonlocal state
        if not len(queries):
            return model, 0.0
        order = np.zeros((batches.shapes.queries, queries.shape[1]), dtype=np.int32)
        order[: len(queries)] = random.permutation(queries)
        given = (features, labels, order, len(queries), learning_rate, traced)
        seeds = np.array([task.seed, epoch], dtype=np.uint32)
        fixed = {"classes": batches.shapes.classes, "objective": objective, "optimizer": optimizer}
        model, state, total = _epoch(model, state, *given, seeds, **fixed)
        return model, float(total) / len(queries)

    return keep_best_epoch(
        run_epoch,
        model,
        task=task,
        learning_rate=learning_rate,
        epochs=epochs,
        patience=patience,
        finished=finished,
    )


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
