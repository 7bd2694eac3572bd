"""RankSVM (Joachims 2002, 2006), linear, as LETOR's RankSVM-Struct: hinge loss on all pairs, C per training query."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.data.arrays import RankingData
from replirank.engines.margin import Planes, Risk, maximise_margin
from replirank.engines.pair_hinge import pair_hinge
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class RankSVM(Method):
    C: float = 1.0
    gap: float = 1e-5  # the relative gap to the optimum at which the solver stops

    title = "RankSVM"
    grid = {"C": (0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)}

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> tuple[Risk, Planes]:
        return pair_hinge(train), Planes(train.features.shape[1])

    def fit(self, task: Task) -> Fit:
        risk, planes = task.shared
        margin = maximise_margin(risk, self.C, planes, gap=self.gap)
        task.report(f"C {self.C:g}: objective {margin.objective:.6g} in {margin.rounds} rounds")
        return Fit(Linear(margin.w))
