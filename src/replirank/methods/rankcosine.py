"""RankCosine (Qin et al. 2008): the angle between scores and labels, with a linear function."""

from __future__ import annotations

from dataclasses import dataclass

from replirank.losses.listwise import cosine
from replirank.methods.base import Task
from replirank.methods.families.descent import Descent
from replirank.models import linear


@dataclass(frozen=True)
class RankCosine(Descent):
    title = "RankCosine"
    loss = staticmethod(cosine)

    def start(self, task: Task) -> linear.Linear:
        """Not zero, where scores have no direction; their length does not matter but for the speed of turning."""
        return linear.start(task.train.features.shape[1], value=0.1)
