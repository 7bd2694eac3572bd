"""The two classes of ranking functions of bayesopt2010, trained by descent on its surrogates: the family's bases.

A surrogate is a loss of losses/listwise.py, which may have hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.pairs import level_counts
from replirank.engines.full_batch import Blocks, BlockShapes, Solution, block_shapes, descend_together, make_blocks
from replirank.methods.base import Fit, Method, Task
from replirank.models.bayes_optimal import BayesOptimal, expected_gain, gains_of, too_many, warm_start
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


class Shared(NamedTuple):
    blocks: Blocks
    levels: tuple[float, ...]
    counts: tuple[int, ...]  # how many documents have each level


@dataclass(frozen=True)
class Surrogate(Method):
    """Descent on a surrogate: all grid points of a fold at once."""

    epochs: int = 200

    surrogate: ClassVar[Callable[..., jax.Array]]

    plan = staticmethod(block_shapes)

    @classmethod
    def share(cls, train: RankingData, plan: BlockShapes) -> Shared:
        return Shared(make_blocks(train, plan), plan.levels, level_counts(train, plan.levels))

    def fit(self, task: Task) -> Fit:
        return self.fit_together([self], task)[0]  # type: ignore[index]  # subclasses offer it

    @classmethod
    def hyper(cls, points: Sequence[Method]) -> dict[str, np.ndarray]:
        """The hyper-parameters that the loss depends on, of each grid point."""
        names = [field.name for field in fields(cls) if field.name != "epochs"]
        return {name: np.array([getattr(point, name) for point in points], dtype=np.float32) for name in names}


class LinearFunction(Surrogate):
    """With the linear ranking function w.x + b, the paper's baseline. b matters to the cosine and to squares."""

    @classmethod
    def solve(cls, points: Sequence[LinearFunction], task: Task) -> list[Solution]:
        blocks = task.shared.blocks
        return descend_together(
            MeanSurrogate(cls.surrogate, linear),
            np.zeros((1, len(points), len(blocks.inputs)), dtype=np.float32),
            cls.hyper(points),
            blocks,
            score=lambda params, inputs: params[0] @ inputs,
            task=task,
            epochs=np.array([point.epochs for point in points]),
        )

    @classmethod
    def fit_together(cls, points: Sequence[LinearFunction], task: Task) -> list[Fit]:
        return [Fit(Linear(solution.params[0, :-1]), solution.history) for solution in cls.solve(points, task)]


class BayesFunction(Surrogate):
    """With the Bayes-optimal ranking function, from the linear solution on (the warm start of section 6.2)."""

    linear: ClassVar[type[LinearFunction]]  # the same surrogate with the linear function

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_many(np.unique(data.labels))

    @classmethod
    def fit_together(cls, points: Sequence[BayesFunction], task: Task) -> list[Fit]:
        levels, gains = task.shared.levels, gains_of(task.shared.levels)
        own = [field.name for field in fields(cls.linear)]
        wanted = [cls.linear(**{name: getattr(point, name) for name in own}) for point in points]
        distinct = list(dict.fromkeys(wanted))  # epsilon is none of the linear function's
        solved = dict(zip(distinct, cls.linear.solve(distinct, task), strict=True))
        linear = np.stack([solved[point].params[0] for point in wanted])
        found = descend_together(
            MeanSurrogate(cls.surrogate, ExpectedGain(gains)),
            warm_start(linear, levels, task.shared.counts),
            cls.hyper(points),
            task.shared.blocks,
            score=lambda params, inputs: expected_gain(params @ inputs, np.array(gains, dtype=np.float32)),
            task=task,
            epochs=np.array([point.epochs for point in points]),
        )
        return [bayes_optimal(solution, gains) for solution in found]


def bayes_optimal(solution: Solution, gains: Sequence[float]) -> Fit:
    """The model with these parameters (levels, inputs), the last input being the offset's."""
    return Fit(BayesOptimal(solution.params[:, :-1], solution.params[:, -1], np.array(gains)), solution.history)
