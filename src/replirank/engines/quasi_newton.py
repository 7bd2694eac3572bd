"""L-BFGS on the whole training set, for many grid points at once, in coordinates that are uncorrelated.

Plain descent is far from the least loss after hundreds of steps where features are nearly multiples of each other, as
LETOR's are. Uncorrelated coordinates of unit size make least squares round, and the other losses nearly so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.engines.full_batch import (
    BatchObjective,
    Blocks,
    Solution,
    descend_together,
    evaluate,
    first_evaluation,
)
from replirank.engines.task import Task
from replirank.errors import ReplirankError

STEPS_KEPT = 10  # from which the curvature is estimated
SUFFICIENT = 1e-4  # Armijo: the part of the fall promised by the slope that a step must give
SHRINKAGE = 0.5  # of a step that did not
FIRST_LENGTH = 0.1  # of a step along the gradient, where nothing is known of the curvature
LEAST_FALL = 1e-6  # a step that lowers the loss by less than this part of it is negligible
NEGLIGIBLE_STEPS = 5  # in a row: the grid point has converged
DEPENDENT = 1e-8  # a direction with less than this part of the largest variance is a sum of other features


# The coordinates


class Coordinates(NamedTuple):
    """A linear change of the inputs, with the training set in it."""

    matrix: np.ndarray  # (inputs, coordinates): the coordinates of documents are matrix.T @ inputs
    inverse: np.ndarray  # (coordinates, inputs)
    blocks: Blocks

    def of(self, params: np.ndarray) -> np.ndarray:
        """(..., inputs) -> (..., coordinates), with the same scores of all training documents."""
        return (params @ self.inverse.T).astype(np.float32)

    def back(self, params: np.ndarray) -> np.ndarray:
        return (params @ self.matrix.T).astype(np.float32)


def uncorrelated(blocks: Blocks) -> Coordinates:
    """Coordinates whose second moments over the training documents are 1 and 0.

    A direction in which these do not differ has a coordinate that is 0 for all of them, so that every fold has as many
    coordinates as inputs.
    """
    inputs = np.asarray(blocks.inputs, dtype=np.float64)
    if not np.all(np.isfinite(inputs)):
        raise ReplirankError("a feature is not a finite number", remedy="take it out of the data, or mend it")
    documents = max(sum(int(where.sum()) for where in blocks.where), 1)
    moments, directions = np.linalg.eigh(inputs @ inputs.T / documents)
    there = moments > DEPENDENT * moments[-1]
    sizes = np.sqrt(np.where(there, moments, 0))
    matrix = directions * np.divide(1, sizes, where=there, out=np.zeros_like(sizes))
    rounded = jax.device_put((matrix.T @ inputs).astype(np.float32))
    return Coordinates(matrix, sizes[:, None] * directions.T, blocks._replace(inputs=rounded))


def converge_together(
    objective: BatchObjective,
    params: np.ndarray,
    hyper: Mapping[str, np.ndarray],
    coordinates: Coordinates,
    *,
    score: Callable[[np.ndarray], np.ndarray],
    task: Task,
    epochs: np.ndarray,
) -> list[Solution]:
    """descend_together with L-BFGS in these coordinates; parameters are of the inputs, before and after."""
    found = descend_together(
        QuasiNewton(),
        objective,
        coordinates.of(params),
        hyper,
        coordinates.blocks,
        score=lambda params: score(coordinates.back(params)),
        task=task,
        epochs=epochs,
    )
    return [Solution(coordinates.back(end), coordinates.back(best), history) for end, best, history in found]


# The optimiser


class QuasiNewtonState(NamedTuple):
    params: np.ndarray  # (outputs, points, inputs), and so the gradient and the direction
    gradient: np.ndarray
    loss: np.ndarray  # (points,)
    direction: np.ndarray
    step: np.ndarray  # (points,), along the direction
    moves: np.ndarray  # (steps kept, outputs, points, inputs): the last steps that were taken, the newest at the end
    turns: np.ndarray  # the same: what the gradient changed by
    inverse: np.ndarray  # (steps kept, points): 1 / (move . turn); 0 where there was none
    negligible: np.ndarray  # (points,) negligible steps in a row
    left: np.ndarray  # (points,)

    def take(self, points: np.ndarray) -> QuasiNewtonState:
        axes = (1, 1, 0, 1, 0, 2, 2, 1, 0, 0)
        return QuasiNewtonState(*(np.take(each, points, axis) for each, axis in zip(self, axes, strict=True)))


class QuasiNewton:
    """A step that lowers the loss enough is taken, whole if possible, else halved until it does.

    A grid point has converged when five steps in a row each lower the loss by less than a millionth of it. With an
    epsilon below 1 the loss has jumps, where a document becomes certain or ceases to be. Where no step along the
    direction avoids them, the curvature is forgotten and the gradient is followed; where that does not help either, the
    grid point has ended, too.
    """

    def begin(self, objective, params, hyper, blocks, epochs) -> QuasiNewtonState:
        loss, gradient = first_evaluation(objective, params, hyper, blocks)
        slope = np.linalg.norm(gradient, axis=(0, 2))
        none, kept = np.zeros_like(loss), np.zeros((STEPS_KEPT, *params.shape), dtype=params.dtype)
        return QuasiNewtonState(
            params=params,
            gradient=gradient,
            loss=loss,
            direction=np.asarray(_downhill(gradient)),
            step=none + 1,
            moves=kept,
            turns=kept,
            inverse=np.zeros((STEPS_KEPT, len(loss)), dtype=params.dtype),
            negligible=none.astype(np.int32),
            left=np.where(slope > 0, epochs, 0).astype(np.int32),
        )

    def run(self, state, hyper, blocks, count, *, objective) -> QuasiNewtonState:
        return QuasiNewtonState(*map(np.asarray, _epochs(state, hyper, blocks, count, objective=objective)))


def _dot(a: jax.Array, b: jax.Array) -> jax.Array:
    """Of each grid point."""
    return jnp.sum(a * b, axis=(0, 2))


def _downhill(gradient: jax.Array) -> jax.Array:
    slope = jnp.sqrt(_dot(gradient, gradient))
    return -gradient * (FIRST_LENGTH / jnp.where(slope > 0, slope, 1.0))[None, :, None]


def _newton_direction(gradient: jax.Array, moves: jax.Array, turns: jax.Array, inverse: jax.Array) -> jax.Array:
    """L-BFGS's two loops (Nocedal 1980): minus the estimated inverse Hessian times the gradient."""

    def backwards(number, carry):
        rest, parts = carry
        kept = STEPS_KEPT - 1 - number
        part = inverse[kept] * _dot(moves[kept], rest)
        return rest - part[None, :, None] * turns[kept], parts.at[kept].set(part)

    def forwards(kept, direction):
        part = parts[kept] - inverse[kept] * _dot(turns[kept], direction)
        return direction + part[None, :, None] * moves[kept]

    rest, parts = jax.lax.fori_loop(0, STEPS_KEPT, backwards, (gradient, jnp.zeros_like(inverse)))
    newest = inverse[-1] * _dot(turns[-1], turns[-1])
    scale = jnp.where(newest > 0, 1 / jnp.where(newest > 0, newest, 1.0), 0.0)
    return -jax.lax.fori_loop(0, STEPS_KEPT, forwards, rest * scale[None, :, None])


@partial(jax.jit, static_argnames="objective")
def _epochs(state, hyper, blocks, count, *, objective: BatchObjective) -> QuasiNewtonState:
    def epoch(_, state: QuasiNewtonState) -> QuasiNewtonState:
        trial = state.params + state.step[None, :, None] * state.direction
        loss, gradient = evaluate(objective, trial, hyper, blocks)
        promised = -state.step * _dot(state.gradient, state.direction)
        taken = (loss <= state.loss - SUFFICIENT * promised) & (state.left > 0)  # never if it is not a number
        fall = jnp.where(taken, state.loss - loss, promised)
        negligible = fall <= LEAST_FALL * jnp.abs(state.loss)
        stuck = ~taken & negligible  # there is nothing to be had along this direction

        move, turn = trial - state.params, gradient - state.gradient
        curvature = _dot(move, turn)
        curved = taken & (curvature > 1e-8 * jnp.sqrt(_dot(move, move) * _dot(turn, turn)))

        def kept(values, newest):
            shape = (1, -1) if values.ndim == 2 else (1, 1, -1, 1)
            pushed = jnp.concatenate([values[1:], newest[None]])
            return jnp.where(stuck.reshape(shape), 0.0, jnp.where(curved.reshape(shape), pushed, values))

        moves, turns = kept(state.moves, move), kept(state.turns, turn)
        inverse = kept(state.inverse, 1 / jnp.where(curved, curvature, 1.0))
        gradient = jnp.where(taken[None, :, None], gradient, state.gradient)
        direction = _newton_direction(gradient, moves, turns, inverse)
        unknown = (inverse[-1] <= 0) | (_dot(gradient, direction) >= 0)
        direction = jnp.where(unknown[None, :, None], _downhill(gradient), direction)

        followed_gradient = state.inverse[-1] <= 0
        in_a_row = jnp.where(taken, jnp.where(negligible, state.negligible + 1, 0), state.negligible)
        ended = (in_a_row >= NEGLIGIBLE_STEPS) | (stuck & followed_gradient)
        anew = taken | stuck
        return QuasiNewtonState(
            params=jnp.where(taken[None, :, None], trial, state.params),
            gradient=gradient,
            loss=jnp.where(taken, loss, state.loss),
            direction=jnp.where(anew[None, :, None], direction, state.direction),
            step=jnp.where(anew, 1.0, state.step * SHRINKAGE),
            moves=moves,
            turns=turns,
            inverse=inverse,
            negligible=in_a_row,
            left=jnp.where(ended, 0, jnp.maximum(state.left - 1, 0)),
        )

    return jax.lax.fori_loop(0, count, epoch, state)
