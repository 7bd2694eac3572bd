"""energyndcg2011: methods that start at random, each trained with several seeds. A draw is one seed.

EnergyNDCG is trained for each width of Figure 2; what else its grid has is chosen on validation, width by width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank import methods
from replirank.data.arrays import Dataset
from replirank.errors import ReplirankError
from replirank.evaluation.per_dataset import metrics_of
from replirank.models.base import Model
from replirank.models.comparator import Comparator, cyclic_triples
from replirank.seeds import derive
from replirank.training import Trained, train

WIDTHS = (1, 2, 3, 5, 10, 20)
WIDTH = 5  # in the paper's tables
# Of nets, where these are not the methods' own: on clicks 40 hidden units (section V.B); MQ2008 has seven times as many
# queries as OHSUMED, so that half as many epochs still have more steps.
OWN = {"aol": {"units": [40]}, "mq2008": {"epochs": [50]}}
DEPTH = 10
METRICS = [*(f"ndcg@{k}" for k in range(1, DEPTH + 1)), "map"]

Grid = Mapping[str, Sequence]

# Readings of Eq. 5 and 12: by name, whether dNDCG keeps its sign and whether the blanket moves with the candidate rank.
READINGS = {
    "dNDCG, blanket around the candidate rank (to the letter)": (True, True),
    "dNDCG, blanket in the optimal order": (True, False),
    "|dNDCG|, blanket around the candidate rank": (False, True),
    "|dNDCG|, blanket in the optimal order (ours)": (False, False),
}


class Experiment(NamedTuple):
    method: str
    trials: Mapping[str, Grid]  # by name: what is fixed of the method's grid
    short: Grid = MappingProxyType({})  # in the place of the method's own grid, where config.yaml does not say


EXPERIMENTS = {
    "energyndcg": Experiment("energyndcg", {f"W = {width}": {"width": [width]} for width in WIDTHS}),
    "energymap": Experiment("energymap", {"": {}}),
    "boltzrank": Experiment("boltzrank", {"": {}}),
    "boltzrank_pseudo": Experiment("boltzrank_pseudo", {"": {}}),
    "sortnet": Experiment("sortnet", {"": {}}),
    "readings": Experiment(
        "energyndcg",
        {
            name: {"signed": [signed], "moving": [moving], "width": [WIDTH], "alpha": [0.01, 0.1], "draws": [1]}
            for name, (signed, moving) in READINGS.items()
        },
        short={"learning_rate": [0.001], "epochs": [30]},
    ),
}


def run(
    dataset: Dataset,
    experiment: str,
    draw: int,
    *,
    name: str,  # of the data set
    grid: Grid,  # config.yaml's for the method
    convention: str,
    select_by: str,
    seed: int,
    report: Callable[[str], None],
) -> pd.DataFrame:
    """A row for each trial, fold and query of validation and test: its metrics, and what was chosen in that fold.

    `last` is the validation metric of the fold's last epoch.

    Of a comparator, `triples` and `circles` count the triples of a test query's documents and those of them that it
    prefers in a circle.
    """
    if experiment not in EXPERIMENTS:
        raise ReplirankError(f"unknown experiment {experiment!r}", remedy=f"take one of {', '.join(EXPERIMENTS)}")
    method, trials, short = EXPERIMENTS[experiment]
    frames = []
    for trial, fixed in trials.items():
        found = methods.find(method)
        own = OWN.get(name, {})
        trained = train(
            dataset,
            found,
            grid={**short, **own, **grid, **fixed},
            convention=convention,
            select_by=select_by,
            seed=derive(seed, "energyndcg2011", draw),
            names=(name, method),
            splits=("vali", "test"),
            report=lambda text, trial=trial: report(f"{trial or method}: {text}"),
        )
        chosen = {fold["fold"]: _in_words(fold["chosen"], fixed) for fold in trained.choices}
        rows = metrics_of(dataset, trained.scored, {"dataset": name, "experiment": experiment, "trial": trial})
        rows = rows.rename(columns={f"{convention}.{metric}": metric for metric in METRICS})
        rows = rows.assign(draw=draw, chosen=rows["fold"].map(chosen), last=rows["fold"].map(_last(trained)))
        rows[["triples", "circles"]] = circles(dataset, trained.models, rows)
        frames.append(rows)
    keys = ["dataset", "experiment", "trial", "draw", "fold", "split", "query"]
    return pd.concat(frames, ignore_index=True)[[*keys, *METRICS, "chosen", "last", "triples", "circles"]]


def _last(trained: Trained) -> pd.Series:
    """By fold: the validation metric of the last epoch of what was chosen, which is not the best one that was kept."""
    history = trained.history
    return history[history["chosen"]].groupby("fold")["validation"].last()


def _in_words(chosen: Mapping[str, Any], fixed: Grid) -> str:
    """The values that were not fixed."""
    return ", ".join(f"{name} {value:g}" for name, value in chosen.items() if name not in fixed or len(fixed[name]) > 1)


def circles(dataset: Dataset, models: Mapping[str, Model], rows: pd.DataFrame) -> np.ndarray:
    """(rows, 2): triples and circles of the test queries; NaN for others and for models that are not comparators."""
    counts = np.full((len(rows), 2), np.nan)
    for number in range(len(dataset.folds)):
        model = models.get(f"fold{number + 1}")
        if isinstance(model, Comparator):
            here = np.flatnonzero((rows["fold"] == number + 1) & (rows["split"] == "test"))
            test = dataset.split(number, "test")
            for row, documents in zip(here, test, strict=True):
                count = documents.stop - documents.start
                preferences = model.preferences(test.features[documents])
                counts[row] = count * (count - 1) * (count - 2) // 6, cyclic_triples(preferences)
    return counts
