"""What tables and figures share. The folder is a room like a paper's: its makers serve all papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from replirank.reporting.evidence import Evidence

Entry = Mapping[str, Any]  # of a table or figure in paper.yaml


def stand_in(evidence: Evidence) -> tuple[str, bool]:
    """The data set in the place of a commercial engine's, and whether the paper's numbers may stand beside its."""
    dataset = evidence.dataset("web")
    return dataset, evidence.origin(dataset) != "simulated"


def by_step(history: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each epoch or round, a column for each fold, of the chosen grid points.

    A fold that ended early stays where it was.
    """
    chosen = history[history["chosen"]]
    return chosen.pivot(index=step_of(history), columns="fold", values=column).ffill()


def step_of(history: pd.DataFrame) -> str:
    """What the method's steps are called."""
    return "epoch" if "epoch" in history else "round"
