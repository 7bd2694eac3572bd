"""Plain gradient descent with an update after each example: a pair of documents (RankNet) or a document (RankProp).

A pass over the examples is one jitted scan in a fresh random order. `engines/stochastic.py` updates after each query.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from replirank.engines.epochs import keep_best_epoch
from replirank.engines.task import Fit, Task
from replirank.losses.pairwise import pair_cost
from replirank.models.base import Model

Examples: TypeAlias = "tuple[np.ndarray, ...]"  # arrays of one length: the n-th example is the n-th value of each
# What one example costs: cost(model, features of all documents, example). Equal functions share a compilation.
Cost: TypeAlias = "Callable[[Model, jax.Array, tuple[jax.Array, ...]], jax.Array]"


def cost_of_pair(model: Model, features: jax.Array, pair: tuple[jax.Array, ...]) -> jax.Array:
    """ranknet2005, Eq. 3 with target probability 1, of the pair (row of the better document, row of the worse)."""
    better, worse = (_score(model, features, row) for row in pair)
    return pair_cost(better - worse, 1.0)


def squared_error(model: Model, features: jax.Array, example: tuple[jax.Array, ...]) -> jax.Array:
    """Of the example (row of the document, its target)."""
    row, target = example
    return (_score(model, features, row) - target) ** 2


def _score(model: Model, features: jax.Array, row: jax.Array) -> jax.Array:
    return model.score_query(features[row][None])[0]


def descend_one_by_one(
    cost: Cost,
    model: Model,
    features: np.ndarray,
    examples: Callable[[Model], Examples],
    *,
    task: Task,
    learning_rate: float,
    epochs: int,
    patience: int | None = 1,
    finished: Callable[[Model], bool] = lambda model: False,
) -> Fit:
    """Minimise the cost from `model` on and keep the epoch that validates best (the first of equals).

    An epoch is a pass over `examples(model)`, asked for before each pass: so targets can follow the model, and yet stay
    as they are during a pass. `patience` and `finished` are those of `keep_best_epoch`.
    """
    given = jax.device_put(features)  # once, not in every epoch
    random = np.random.default_rng(task.seed)

    def run_epoch(model: Model, epoch: int, learning_rate: float) -> tuple[Model, float]:
        here = examples(model)
        count = len(here[0])
        if not count:
            return model, 0.0
        order = random.permutation(count)
        moved, total = one_pass(model, given, tuple(each[order] for each in here), learning_rate, cost=cost)
        return jax.tree.map(np.asarray, moved), float(total) / count

    return keep_best_epoch(
        run_epoch,
        model,
        task=task,
        learning_rate=learning_rate,
        epochs=epochs,
        patience=patience,
        finished=finished,
    )


@partial(jax.jit, static_argnames="cost")
def one_pass(
    model: Model, features: jax.Array, examples: Examples, learning_rate: float, *, cost: Cost
) -> tuple[Model, jax.Array]:
    """The model after an update for each example in turn, and the sum of the costs, each taken before its update."""

    def step(carry, example):
        model, total = carry
        value, gradient = jax.value_and_grad(cost)(model, features, example)
        return (jax.tree.map(lambda p, slope: p - learning_rate * slope, model, gradient), total + value), None

    # A step is so small that the loop itself counts: four at a time take a quarter less.
    return jax.lax.scan(step, (model, jnp.zeros(())), examples, unroll=4)[0]
