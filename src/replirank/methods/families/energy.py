"""The family of energyndcg2011: the pseudo-likelihood of the optimal order, whose energy has a metric in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from replirank.data.arrays import RankingData
from replirank.data.order import in_feature_order
from replirank.engines.batches import Batches, Shapes, make_batches, pair_shapes
from replirank.engines.stochastic import Objective, Query
from replirank.losses.energy import (
    Metric,
    minus_log_diagonal,
    minus_log_likelihood,
    optimal_order,
    rank_logits_of_reading,
)
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.models import two_layer
from replirank.models.base import Model


@dataclass(frozen=True)
class PseudoLikelihood:
    """The objective: the cost, averaged over `draws` random orders of the ties, drawn anew in every step.

    `widest` bounds the traced width; None: each document is a neighbour of every other. Behind the last document that
    is better than the worst, all are of the lowest label. Of these, all but the first `widest` have neighbours of that
    label only, so that their ranks have even chances, whatever the scores: only their number matters.
    """

    metric: Metric
    draws: int
    widest: int | None

    def __call__(self, model: Model, query: Query, hyper: Mapping[str, jax.Array], key: jax.Array) -> jax.Array:
        length, documents = len(query.labels), jnp.sum(query.mask)
        first = length
        if self.widest is not None and query.preferred is not None:
            first = min(length, query.preferred + self.widest)

        def of_one_draw(key: jax.Array) -> jax.Array:
            order = optimal_order(query.labels, where=query.mask, first=first, key=key)
            where = query.mask[order]
            cost = minus_log_likelihood(
                model.score_query(query.features[order]),
                query.labels[order],
                where=where,
                documents=documents,
                ranks=length,
                metric=self.metric,
                width=hyper.get("width", jnp.inf),
                alpha=hyper["alpha"],
            )
            even = (documents - jnp.sum(where)).astype(cost.dtype)
            return cost + even * jnp.log(documents.astype(cost.dtype))

        return jnp.mean(jax.vmap(of_one_draw)(jax.random.split(key, self.draws)))


@dataclass(frozen=True)
class OtherReading:
    """The same with another reading of Eq. 5 and 12 (losses/energy.py), for one draw of an optimal order."""

    signed: bool
    moving: bool

    def __call__(self, model: Model, query: Query, hyper: Mapping[str, jax.Array], key: jax.Array) -> jax.Array:
        order = optimal_order(query.labels, where=query.mask, first=len(query.labels), key=key)
        where = query.mask[order]
        logits = rank_logits_of_reading(
            model.score_query(query.features[order]),
            query.labels[order],
            where=where,
            width=hyper["width"],
            alpha=hyper["alpha"],
            signed=self.signed,
            moving=self.moving,
        )
        return minus_log_diagonal(logits, where=where, documents=jnp.sum(query.mask))


WIDEST = 20  # up to this width all share one compilation
HIGHEST_LABEL = 30  # 2^31 and up is no gain that anybody means


def too_high(data: RankingData) -> str | None:
    """Why gains of 2^label cannot be used on this data set; None where they can."""
    highest = float(data.labels.max())
    return f"gains of 2^label are too large for labels up to {highest:g}" if highest > HIGHEST_LABEL else None


def share_in_feature_order(train: RankingData, shapes: Shapes) -> Batches:
    """Ties are drawn by chance for documents in this order: the order in which they came does not matter."""
    return make_batches(in_feature_order(train), shapes)


@dataclass(frozen=True)
class Energy(Descent):
    """With a two-layer net, as in the paper. A subclass names the `metric`.

    `alpha` stands for Eq. 12's 2 alpha / (m (m - 1)), the same for queries of all lengths m.
    """

    learning_rate: float = 0.001
    alpha: float = 0.1
    units: int = 10  # as in section V.A
    draws: int = 4  # of the order of documents with equal labels, in each step

    metric: ClassVar[Metric]
    # The ties that are drawn make an epoch's loss rise and fall: the rate is halved after eight epochs above another.
    patience = 8
    plan = staticmethod(pair_shapes)
    share = staticmethod(share_in_feature_order)

    def start(self, task: Task) -> two_layer.TwoLayer:
        return two_layer.start(task.train.features.shape[1], self.units, seed=task.seed)


@dataclass(frozen=True)
class BlanketEnergy(Energy):
    """With the neighbours of Eq. 11: the `width` documents before and behind a document in the optimal order."""

    width: int = 5  # W

    traced = ("width", "alpha")

    def objective(self) -> Objective:
        return PseudoLikelihood(self.metric, self.draws, widest=max(self.width, WIDEST))
