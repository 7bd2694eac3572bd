"""BM25 of the field that validates best: body, anchor, title, URL or the whole document.

frank2007 tunes BM25's parameters, for which one needs the texts; of what LETOR computed, the field can be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import RankingData
from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class BM25Tuned(Method):
    title = "BM25, tuned"

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        return data.lacks("bm25")

    def fit(self, task: Task) -> Fit:
        whole_document = task.train.column("bm25")
        fields = [whole_document, *(column for name, column in task.train.columns.items() if name.startswith("bm25_"))]
        models = [Linear(np.eye(task.train.features.shape[1])[column]) for column in fields]
        values = [task.validate(model.score(task.vali)) for model in models]
        return Fit(models[int(np.argmax(values))])
