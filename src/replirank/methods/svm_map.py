"""SVM-MAP (Yue et al. 2007), linear: a structural SVM whose margin is 1 - average precision, C per training query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.lists import is_among_first, is_strict, share_of_list
from replirank.engines.map_hinge import MapHinge
from replirank.engines.margin import Planes, Risk, maximise_margin
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class SVMMAP(Method):
    C: float = 1.0
    # In strict orders labels do not say what is irrelevant: this share of each list, from the top, counts as relevant.
    relevant: float = 0.05
    gap: float = 1e-4  # the relative gap to the optimum at which the solver stops

    title = "SVM-MAP"
    grid = {"C": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)}

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> dict[float, tuple[Risk, Planes]]:
        return {}  # filled by `fit`: those for each value of `relevant`

    def fit(self, task: Task) -> Fit:
        if self.relevant not in task.shared:
            train = task.train
            relevant = relevant_documents(train, self.relevant)
            task.shared[self.relevant] = (
                MapHinge(train.features, relevant, train.offsets),
                Planes(train.features.shape[1]),
            )
        risk, planes = task.shared[self.relevant]
        margin = maximise_margin(risk, self.C, planes, gap=self.gap)
        task.report(f"C {self.C:g}: objective {margin.objective:.6g} in {margin.rounds} rounds")
        return Fit(Linear(margin.w))


def relevant_documents(data: RankingData, share: float) -> np.ndarray:
    """Those with a label above 0, as in MAP; in strict orders the first of each list."""
    return is_among_first(data, share_of_list(data, share)) if is_strict(data) else data.labels > 0
