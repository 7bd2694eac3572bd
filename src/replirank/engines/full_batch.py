"""Descent on the whole training set, for many grid points at once: the data, the loop, and plain gradient descent.

A grid point differs from the next in a few numbers only, so all of them are columns of one matrix product, each with
its own step. The lists stand in blocks by length class: a loss sees (points, queries, documents) and reduces over
the last axis, which on a CPU is several times faster than sums by segment. engines/quasi_newton.py has the optimiser
that converges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.data.pairs import queries_with_pairs
from replirank.engines.batches import LengthClass, fewer_classes
from replirank.engines.task import Task
from replirank.errors import ReplirankError

MOST_CLASSES = 3  # each is compiled by itself, which costs more than some padding
EPOCHS_PER_CALL = 5  # epochs between two looks at the validation queries
SUFFICIENT = 0.3  # Armijo: the part of the decrease promised by the slope that a step must give
GROWTH, SHRINKAGE = 1.25, 0.5  # of the step size, after a step that did and one that did not
LEAST_DECREASE = 1e-6  # a grid point whose loss falls by less than this part of it is finished
FEWEST_POINTS = 5  # below which dropping finished grid points saves less than compiling for their number costs


# The training set


class BlockShapes(NamedTuple):
    """What the training sets of all folds have in common, so that they share one compilation."""

    classes: tuple[tuple[int, int], ...]  # (queries, length) of each, by growing length
    levels: tuple[float, ...]  # the labels there are


class Blocks(NamedTuple):
    inputs: np.ndarray  # (features + 1, documents + padding); the last row is 1, for the offsets
    labels: tuple[np.ndarray, ...]  # for each class (queries, length)
    where: tuple[np.ndarray, ...]  # the same: which are documents and not padding
    queries: np.floating  # their number


def block_shapes(trains: Iterable[RankingData]) -> BlockShapes:
    """Shapes that the lists of all these training sets fit into."""
    levels: set[float] = set()
    lengths = []
    for train in trains:
        levels.update(np.unique(train.labels).tolist())
        lengths.append(queries_with_pairs(train).lengths)
    of_class = fewer_lengths(Counter(np.concatenate(lengths).tolist()))
    most = np.max([np.bincount(np.searchsorted(of_class, each), minlength=len(of_class)) for each in lengths], axis=0)
    return BlockShapes(tuple(zip(most.tolist(), of_class, strict=True)) or ((1, 1),), tuple(sorted(levels)))


def fewer_lengths(queries_of: Mapping[int, int], most: int = MOST_CLASSES) -> list[int]:
    """At most so many lengths to pad to: the one whose queries are cheapest to pad to the next goes, again and again.

    >>> fewer_lengths({8: 2, 39: 5, 40: 1000, 120: 1}, most=3)
    [8, 40, 120]
    """
    by_length = {LengthClass(length, None): count for length, count in queries_of.items()}
    return [found.length for found in fewer_classes(by_length, most)]


def make_blocks(data: RankingData, shapes: BlockShapes) -> Blocks:
    """The training set as blocks of these shapes, put on the device once for all epochs and grid points."""
    data = queries_with_pairs(data)
    class_of = np.searchsorted([length for _, length in shapes.classes], data.lengths)
    rows, where = [], []
    for number, (queries, length) in enumerate(shapes.classes):
        members = np.flatnonzero(class_of == number)
        filled = np.zeros((queries, length), dtype=bool)
        filled[: len(members)] = np.arange(length) < data.lengths[members, None]
        row = np.zeros((queries, length), dtype=np.int64)
        row[: len(members)] = data.offsets[members, None] + np.arange(length)
        rows.append(np.where(filled, row, data.documents))  # one row of padding stands behind the last document
        where.append(filled)
    inputs = np.zeros((data.documents + 1, data.features.shape[1] + 1), dtype=np.float32)
    inputs[:-1, :-1], inputs[:-1, -1] = data.features, 1
    labels = np.append(data.labels, np.float32(0))
    return jax.device_put(
        Blocks(
            inputs=np.ascontiguousarray(inputs[np.concatenate([row.ravel() for row in rows])].T),
            labels=tuple(labels[row] for row in rows),
            where=tuple(where),
            queries=np.float32(data.queries),
        )
    )


def with_offset(data: RankingData) -> np.ndarray:
    """Features as descent sees them: (features + 1, documents), the last row being 1."""
    return np.append(data.features.T, np.ones((1, data.documents), dtype=np.float32), axis=0)


# The loop


class BatchObjective(Protocol):
    """Hashable, and equal for folds that share a compilation."""

    def __call__(self, params: jax.Array, hyper: Mapping[str, jax.Array], blocks: Blocks) -> jax.Array:
        """The loss of each grid point; `params` are (outputs, points, inputs), hyper-parameters (points,)."""


class Progress(Protocol):
    """Where the grid points of a descent are: what the loop needs to know of an optimiser's state."""

    @property
    def params(self) -> np.ndarray:
        """(outputs, points, inputs)"""

    @property
    def gradient(self) -> np.ndarray:
        """The same."""

    @property
    def loss(self) -> np.ndarray:
        """(points,)"""

    @property
    def left(self) -> np.ndarray:
        """(points,) epochs to go; 0: finished"""

    def take(self, points: np.ndarray) -> Progress:
        """The state of these grid points alone."""


class Optimizer(Protocol):
    """An epoch is one evaluation of loss and gradient, where a step leads."""

    def begin(self, objective: BatchObjective, params: np.ndarray, hyper, blocks: Blocks, epochs: np.ndarray) -> Any:
        """The state at these parameters, with so many epochs to go for each grid point."""

    def run(self, state: Any, hyper, blocks: Blocks, count: int, *, objective: BatchObjective) -> Any:
        """The state after so many epochs."""


class Solution(NamedTuple):
    """What became of a grid point."""

    params: np.ndarray  # (outputs, inputs), where descent ended
    best: np.ndarray  # the same, where the validation queries were ranked best of all that were looked at
    history: pd.DataFrame


def descend_together(
    optimizer: Optimizer,
    objective: BatchObjective,
    params: np.ndarray,
    hyper: Mapping[str, np.ndarray],
    blocks: Blocks,
    *,
    score: Callable[[np.ndarray], np.ndarray],
    task: Task,
    epochs: np.ndarray,
    drop: bool = True,
) -> list[Solution]:
    """Minimise the loss of each grid point from its `params` on, for at most so many epochs.

    `score` gives every grid point's scores of the validation documents, (points, documents). They have no part in the
    descent, which is "without any parameter tuning" (bayesopt2010, section 6.1), the number of steps included.
    """
    state = optimizer.begin(objective, params, hyper, blocks, epochs)
    histories: list[list[tuple[int, float, float, float]]] = [[] for _ in range(len(state.loss))]
    ends = list(state.params.swapaxes(0, 1))
    bests, highest = list(ends), np.full(len(ends), -np.inf)
    number = np.arange(len(ends))  # which grid point it is that stands at a place
    live, epoch = np.ones(len(ends), dtype=bool), 0
    while live.any():
        scores = score(state.params[:, live])
        slopes = np.linalg.norm(state.gradient, axis=(0, 2))
        for place, of_point in zip(np.flatnonzero(live), scores, strict=True):
            point, value = number[place], task.validate(of_point)
            row = min(epoch, int(epochs[point])), float(state.loss[place]), value, float(slopes[place])
            histories[point].append(row)
            ends[point] = state.params[:, place].copy()
            if value > highest[point]:
                bests[point], highest[point] = ends[point], value
        best = max(rows[-1][2] for rows in histories)
        task.report(f"epoch {epoch}, {live.sum()} of {len(ends)} grid points, validation {best:.4f}")
        places = _places(state.left > 0, drop)
        state, number = state.take(places), number[places]
        hyper = {name: values[places] for name, values in hyper.items()}
        live = state.left > 0
        if live.any():
            state = optimizer.run(state, hyper, blocks, EPOCHS_PER_CALL, objective=objective)
            epoch += EPOCHS_PER_CALL
    columns = ["epoch", "loss", "validation", "slope"]
    return [
        Solution(end, best, pd.DataFrame(rows, columns=columns))
        for end, best, rows in zip(ends, bests, histories, strict=True)
    ]


def _places(live: np.ndarray, drop: bool) -> np.ndarray:
    """The places to go on with: all, or the live ones in half as many, halved again where they fit."""
    size = len(live)
    while drop and live.sum() <= -(-size // 2) and size > FEWEST_POINTS:
        size = -(-size // 2)
    return np.arange(size) if size == len(live) else np.argsort(~live, kind="stable")[:size]


def evaluate(objective: BatchObjective, params: jax.Array, hyper: Mapping[str, jax.Array], blocks: Blocks):
    """Each grid point's loss, and its gradient."""

    def total(params):
        losses = objective(params, hyper, blocks)
        return jnp.sum(losses), losses  # no grid point's loss depends on another's parameters: one gradient serves all

    (_, losses), gradient = jax.value_and_grad(total, has_aux=True)(params)
    return losses, gradient


@partial(jax.jit, static_argnames="objective")
def _evaluate(params, hyper, blocks, *, objective):
    return evaluate(objective, params, hyper, blocks)


def first_evaluation(objective: BatchObjective, params: np.ndarray, hyper, blocks: Blocks):
    """The loss and the gradient where descent starts."""
    loss, gradient = map(np.asarray, _evaluate(params, hyper, blocks, objective=objective))
    if not np.all(np.isfinite(loss)):
        raise ReplirankError("the training loss is not finite where descent starts", remedy="scale the features")
    return loss, gradient


# Plain gradient descent


class PlainState(NamedTuple):
    params: np.ndarray
    gradient: np.ndarray
    loss: np.ndarray
    step: np.ndarray  # (points,)
    left: np.ndarray

    def take(self, points: np.ndarray) -> PlainState:
        params, gradient, *rest = self
        return PlainState(params[:, points], gradient[:, points], *(values[points] for values in rest))


class PlainDescent:
    """If the loss falls enough, the step is taken and the next is longer; if not, half of it is tried."""

    def begin(self, objective, params, hyper, blocks, epochs) -> PlainState:
        """The first step is to move the scores by about one."""
        loss, gradient = first_evaluation(objective, params, hyper, blocks)
        slope = np.linalg.norm(gradient, axis=(0, 2))
        documents = sum(int(where.sum()) for where in blocks.where)
        length = np.linalg.norm(blocks.inputs) / max(documents, 1) ** 0.5  # of a document's features, about
        step = np.divide(1, slope * length, where=slope > 0, out=np.zeros_like(slope))
        return PlainState(params, gradient, loss, step, np.where(slope > 0, epochs, 0).astype(np.int32))

    def run(self, state, hyper, blocks, count, *, objective) -> PlainState:
        return PlainState(*map(np.asarray, _plain_epochs(state, hyper, blocks, count, objective=objective)))


@partial(jax.jit, static_argnames="objective")
def _plain_epochs(state, hyper, blocks, count, *, objective) -> PlainState:
    def epoch(_, state: PlainState) -> PlainState:
        trial = state.params - state.step[None, :, None] * state.gradient
        loss, gradient = evaluate(objective, trial, hyper, blocks)
        promised = state.step * jnp.sum(state.gradient**2, axis=(0, 2))
        taken = (loss <= state.loss - SUFFICIENT * promised) & (state.left > 0)  # never if it is not a number
        negligible = jnp.where(taken, state.loss - loss, promised) <= LEAST_DECREASE * state.loss
        here = taken[None, :, None]
        return PlainState(
            params=jnp.where(here, trial, state.params),
            gradient=jnp.where(here, gradient, state.gradient),
            loss=jnp.where(taken, loss, state.loss),
            step=state.step * jnp.where(taken, GROWTH, SHRINKAGE),
            left=jnp.where(negligible, 0, jnp.maximum(state.left - 1, 0)),
        )

    return jax.lax.fori_loop(0, count, epoch, state)
