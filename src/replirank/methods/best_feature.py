"""One feature alone, rising or falling, whichever ranks the validation queries best: what learning must be above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replirank.methods.base import Fit, Method, Task
from replirank.models.linear import Linear


@dataclass(frozen=True)
class BestFeature(Method):
    title = "Best single feature"

    def fit(self, task: Task) -> Fit:
        count = task.train.features.shape[1]
        signed = [sign * np.eye(count)[feature] for feature in range(count) for sign in (1.0, -1.0)]
        values = [task.validate(Linear(weights).score(task.vali)) for weights in signed]
        best = int(np.argmax(values))
        task.report(f"feature {best // 2 + 1}, {'rising' if best % 2 == 0 else 'falling'}: {values[best]:.4f}")
        return Fit(Linear(signed[best]))
