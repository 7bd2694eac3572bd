"""BoltzRank (Volkovs and Zemel 2009): descent on minus the expected NDCG, estimated from drawn orders.

As energyndcg2011 describes it, with a score for each document and none for pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax

from replirank.data.arrays import RankingData
from replirank.engines.stochastic import Query
from replirank.losses.boltzmann import expected_ndcg
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.methods.families.energy import share_in_feature_order, too_high
from replirank.models import two_layer
from replirank.models.base import Model


@dataclass(frozen=True)
class ExpectedNDCG:
    draws: int

    def __call__(self, model: Model, query: Query, hyper: Mapping[str, jax.Array], key: jax.Array) -> jax.Array:
        scores = model.score_query(query.features)
        drawn = {"alpha": hyper["alpha"], "draws": self.draws, "key": key}
        return -expected_ndcg(scores, query.labels, where=query.mask, **drawn)


@dataclass(frozen=True)
class BoltzRank(Descent):
    learning_rate: float = 0.003
    epochs: int = 60
    alpha: float = 10.0
    units: int = 10
    draws: int = 20  # orders for each query and step

    title = "BoltzRank"
    traced = ("alpha",)
    grid = {"alpha": (3.0, 10.0), "learning_rate": (0.003,)}
    patience = None  # the orders that are drawn make an epoch's loss rise and fall
    share = staticmethod(share_in_feature_order)

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return too_high(data)

    def objective(self) -> ExpectedNDCG:
        return ExpectedNDCG(self.draws)

    def start(self, task: Task) -> two_layer.TwoLayer:
        return two_layer.start(task.train.features.shape[1], self.units, seed=task.seed)
