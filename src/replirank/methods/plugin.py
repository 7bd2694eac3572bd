"""The plug-in estimate (bayesopt2010, Algorithm 1): multiclass logistic regression, ranked by the expected gain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.engines.full_batch import Blocks, BlockShapes, block_shapes, make_blocks, with_offset
from replirank.engines.quasi_newton import converge_together, uncorrelated
from replirank.methods.base import Fit, Method, Task
from replirank.methods.families.surrogates import Shared, bayes_optimal
from replirank.models.bayes_optimal import expected_gain, gains_of, too_many


def one_list(data: RankingData) -> RankingData:
    """All documents side by side: the likelihood of a label asks for no query."""
    return replace(data, offsets=np.array([0, data.documents]), query_ids=np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class NegativeLogLikelihood:
    """Of Eq. 12, the mean over the documents."""

    levels: tuple[float, ...]

    def __call__(self, params: jax.Array, hyper: Mapping[str, jax.Array], blocks: Blocks) -> jax.Array:
        (labels,), (where,) = blocks.labels, blocks.where
        logarithms = jax.nn.log_softmax(jnp.einsum("kld,dn->kln", params, blocks.inputs), axis=0)
        levels = jnp.asarray(self.levels, dtype=labels.dtype)
        observed = (labels == levels[:, None]) & where  # (levels, documents)
        return -jnp.einsum("kln,kn->l", logarithms, observed.astype(logarithms.dtype)) / jnp.maximum(jnp.sum(where), 1)


@dataclass(frozen=True)
class Plugin(Method):
    epochs: int = 1000

    title = "Plug-in estimate"

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_many(np.unique(data.labels))

    @classmethod
    def plan(cls, trains: Iterable[RankingData]) -> BlockShapes:
        return block_shapes(map(one_list, trains))

    @classmethod
    def share(cls, train: RankingData, plan: BlockShapes) -> Shared:
        # The folds differ in length; one class holds them all.
        longest = BlockShapes(((1, plan.classes[-1][1]),), plan.levels)
        blocks = make_blocks(one_list(train), longest)
        return Shared(blocks, uncorrelated(blocks), plan.levels)

    def fit(self, task: Task) -> Fit:
        _, coordinates, levels = task.shared
        vali, gains = with_offset(task.vali), gains_of(levels)
        (solution,) = converge_together(
            NegativeLogLikelihood(levels),
            np.zeros((len(levels), 1, len(vali)), dtype=np.float32),
            {},
            coordinates,
            score=lambda params: expected_gain(params @ vali, np.array(gains, dtype=np.float32)),
            task=task,
            epochs=np.array([self.epochs]),
        )
        return Fit(bayes_optimal(gains)(solution.params), solution.history)
