"""The two classes of ranking functions of bayesopt2010, trained by descent on its surrogates: the family's bases.

A surrogate is a loss of losses/listwise.py, which may have hyper-parameters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.engines.full_batch import (
    Blocks,
    BlockShapes,
    PlainDescent,
    Solution,
    block_shapes,
    descend_together,
    make_blocks,
    with_offset,
)
from replirank.engines.quasi_newton import Coordinates, converge_together, uncorrelated
from replirank.methods.base import Fit, Method, Task
from replirank.models.base import Model
from replirank.models.bayes_optimal import (
    BayesOptimal,
    expected_gain,
    gains_of,
    share_boundaries,
    too_many,
    warm_start,
)
from replirank.models.linear import Linear

# The ranking functions in training: (outputs, points, documents) -> (points, documents). They are the models' formulas
# for all grid points at once, as one matrix product.


def linear(outputs: jax.Array, hyper: Mapping[str, jax.Array]) -> jax.Array:
    return outputs[0]


@dataclass(frozen=True)
class ExpectedGain:
    """Section 5.2, with the epsilon of section 6.2."""

    gains: tuple[float, ...]

    def __call__(self, outputs: jax.Array, hyper: Mapping[str, jax.Array]) -> jax.Array:
        return expected_gain(outputs, self.gains, certain_above=hyper["epsilon"][:, None])


@dataclass(frozen=True)
class MeanSurrogate:
    """Eq. 13: the mean over the queries of the surrogate of a ranking function."""

    surrogate: Callable[..., jax.Array]
    function: Callable[[jax.Array, Mapping[str, jax.Array]], jax.Array]

    def __call__(self, params: jax.Array, hyper: Mapping[str, jax.Array], blocks: Blocks) -> jax.Array:
        scores = self.function(jnp.einsum("kld,dn->kln", params, blocks.inputs), hyper)
        own = {name: values[:, None, None] for name, values in hyper.items() if name != "epsilon"}
        total, first = jnp.zeros(len(scores), dtype=scores.dtype), 0
        for labels, where in zip(blocks.labels, blocks.where, strict=True):
            here = scores[:, first : first + labels.size].reshape(-1, *labels.shape)
            total += jnp.sum(self.surrogate(here, labels[None], where=where[None], **own), axis=-1)
            first += labels.size
        return total / jnp.maximum(blocks.queries, 1)


# The methods

PLAIN, CONVERGED = "plain descent", "L-BFGS"
SHARES, EVEN, LOG_SHARES = "shares", "even odds", "log shares"


class How(NamedTuple):
    """What the paper leaves open. The methods take the first of each; bayesopt2010/sensitivity.py tries the others."""

    optimizer: str = CONVERGED  # the same for both classes of functions
    start: str = SHARES  # of the Bayes-optimal function, from the linear one
    lowest: int = 0  # the number of the lowest level, in G and in psi


class Shared(NamedTuple):
    blocks: Blocks
    coordinates: Coordinates
    levels: tuple[float, ...]


@dataclass(frozen=True)
class Surrogate(Method):
    """Descent on a surrogate: all grid points of a fold at once."""

    epochs: int = 1000

    surrogate: ClassVar[Callable[..., jax.Array]]

    plan = staticmethod(block_shapes)

    @classmethod
    def share(cls, train: RankingData, plan: BlockShapes) -> Shared:
        blocks = make_blocks(train, plan)
        return Shared(blocks, uncorrelated(blocks), plan.levels)

    def fit(self, task: Task) -> Fit:
        return self.fit_together([self], task)[0]

    @classmethod
    def fit_together(cls, points: Sequence[Surrogate], task: Task) -> list[Fit]:
        model = cls.model_of(task, How())
        return [Fit(model(solution.params), solution.history) for solution in cls.solve(points, task, How())]

    @classmethod
    @abstractmethod
    def solve(cls, points: Sequence[Surrogate], task: Task, how: How) -> list[Solution]:
        """What becomes of each grid point."""

    @classmethod
    @abstractmethod
    def model_of(cls, task: Task, how: How) -> Callable[[np.ndarray], Model]:
        """The ranking function with given parameters (outputs, inputs), the last input being the offset's."""

    @classmethod
    def descend(
        cls,
        function: Callable[[jax.Array, Mapping[str, jax.Array]], jax.Array],
        start: np.ndarray,
        points: Sequence[Surrogate],
        task: Task,
        how: How,
        score: Callable[[np.ndarray], np.ndarray],
    ) -> list[Solution]:
        names = [field.name for field in fields(cls) if field.name != "epochs"]
        hyper = {name: np.array([getattr(point, name) for point in points], dtype=np.float32) for name in names}
        objective = MeanSurrogate(cls.surrogate, function)
        epochs = np.array([point.epochs for point in points])
        blocks, coordinates, _ = with_lowest(task.shared, how.lowest)
        if how.optimizer == CONVERGED:
            return converge_together(objective, start, hyper, coordinates, score=score, task=task, epochs=epochs)
        return descend_together(PlainDescent(), objective, start, hyper, blocks, score=score, task=task, epochs=epochs)


def with_lowest(shared: Shared, lowest: int) -> Shared:
    """The same with levels numbered from `lowest` on, and not from 0."""
    if not lowest:
        return shared
    blocks = shared.blocks
    blocks = blocks._replace(labels=tuple(labels + lowest * where for labels, where in zip(*blocks[1:3], strict=True)))
    coordinates = shared.coordinates
    moved = coordinates._replace(blocks=coordinates.blocks._replace(labels=blocks.labels))
    return Shared(blocks, moved, tuple(level + lowest for level in shared.levels))


class LinearFunction(Surrogate):
    """With the linear ranking function w.x + b, the paper's baseline. b matters to the cosine and to squares."""

    @classmethod
    def solve(cls, points: Sequence[Surrogate], task: Task, how: How) -> list[Solution]:
        vali = with_offset(task.vali)
        start = np.zeros((1, len(points), len(vali)), dtype=np.float32)
        return cls.descend(linear, start, points, task, how, score=lambda params: params[0] @ vali)

    @classmethod
    def model_of(cls, task: Task, how: How) -> Callable[[np.ndarray], Model]:
        return lambda params: Linear(params[0, :-1])


class BayesFunction(Surrogate):
    """With the Bayes-optimal ranking function, from the linear solution on (the warm start of section 6.2)."""

    linear: ClassVar[type[LinearFunction]]  # the same surrogate with the linear function

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_many(np.unique(data.labels))

    @classmethod
    def gains(cls, task: Task, how: How) -> tuple[float, ...]:
        return gains_of([level + how.lowest for level in task.shared.levels])

    @classmethod
    def linear_point(cls, point: Surrogate) -> LinearFunction:
        """The linear method with the same hyper-parameters: epsilon is none of its own."""
        return cls.linear(**{field.name: getattr(point, field.name) for field in fields(cls.linear)})

    @classmethod
    def solve(cls, points: Sequence[Surrogate], task: Task, how: How) -> list[Solution]:
        wanted = [cls.linear_point(point) for point in points]
        distinct = list(dict.fromkeys(wanted))
        solved = dict(zip(distinct, cls.linear.solve(distinct, task, how), strict=True))
        return cls.solve_from(np.stack([solved[point].params[0] for point in wanted]), points, task, how)

    @classmethod
    def solve_from(cls, linear: np.ndarray, points: Sequence[Surrogate], task: Task, how: How) -> list[Solution]:
        """From these linear functions (points, inputs)."""
        vali, gains = with_offset(task.vali), cls.gains(task, how)
        return cls.descend(
            ExpectedGain(gains),
            start_from(linear, task.shared, how.start),
            points,
            task,
            how,
            score=lambda params: expected_gain(params @ vali, np.array(gains, dtype=np.float32)),
        )

    @classmethod
    def model_of(cls, task: Task, how: How) -> Callable[[np.ndarray], Model]:
        return bayes_optimal(cls.gains(task, how))


def start_from(linear: np.ndarray, shared: Shared, start: str) -> np.ndarray:
    """(levels, points, inputs): the warm start from linear functions (points, inputs)."""
    there = np.concatenate([np.asarray(where).ravel() for where in shared.blocks.where])
    labels = np.concatenate([np.asarray(each).ravel() for each in shared.blocks.labels])[there]
    scores = linear.astype(np.float64) @ np.asarray(shared.blocks.inputs)[:, there]
    levels, none = shared.levels, np.zeros((len(shared.levels) - 1, len(linear)))
    if start == LOG_SHARES:
        # As it was before: the logarithm of a level's share is added to a part of the linear function as it is.
        shares = np.array([max(np.count_nonzero(labels == level), 0.5) for level in levels]) / max(len(labels), 1)
        parts = warm_start(linear, levels, none, np.ones(len(linear)))
        parts[..., -1] += np.log(shares)[:, None]
        return parts
    if not len(labels):  # no query has a pair: there is nothing to learn from
        return warm_start(linear, levels, none, np.ones(len(linear)))
    spread = scores.std(axis=1)
    boundaries = share_boundaries(scores, labels, levels) if start == SHARES else none + scores.mean(axis=1)
    return warm_start(linear, levels, boundaries, np.where(spread > 0, spread, 1.0))


def bayes_optimal(gains: Sequence[float]) -> Callable[[np.ndarray], Model]:
    """Parameters (levels, inputs), the last input being the offset's -> the model."""
    return lambda params: BayesOptimal(params[:, :-1], params[:, -1], np.array(gains))
