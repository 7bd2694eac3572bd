"""What an engine is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class Task:
    """One fold's work: learn from `train`; `vali` and `validate` are for choices; the test queries are not here."""

    train: RankingData
    vali: RankingData
    seed: int
    validate: Callable[[np.ndarray], float]  # scores of vali's documents -> the metric that chooses, higher is better
    report: Callable[[str], None]  # progress, for people
    shared: Any = None  # what the method's `share` returned, the same for every grid point of a fold


class Fit(NamedTuple):
    model: Model
    history: pd.DataFrame | None = None  # one row for each epoch or round, for methods that have them
