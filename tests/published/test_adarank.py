"""AdaRank as in its paper and with each feature once, on real data: what docs/deviations.md says of validation."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT

from replirank import methods
from replirank.data.arrays import Dataset
from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.methods.base import Task
from replirank.metrics.per_query import Judge

SETS = ("ohsumed", "mq2008", "td2003")
NAMES = {
    "adarank_map": "AdaRank-MAP",
    "adarank_map_once": "AdaRank-MAP, each feature once",
    "adarank_ndcg": "AdaRank-NDCG",
    "adarank_ndcg_once": "AdaRank-NDCG, each feature once",
}


@pytest.mark.parametrize("name", SETS)
def test_validation_map_is_as_the_deviations_say(real_data, name):
    said = " ".join((ROOT / "docs/deviations.md").read_text().split())
    dataset = prepare(spec(name), source=real_data(name), report=lambda text: None).dataset
    for_ever = 0
    for method, title in NAMES.items():
        histories = [history(method, dataset, fold) for fold in range(len(dataset.folds))]
        found = np.mean([curve["validation"].max() for curve in histories])
        values = re.search(rf"{title}: (\.\d+), (\.\d+), (\.\d+)", said).groups()
        assert f"{found:.4f}".lstrip("0") == values[SETS.index(name)], method
        # Where one feature is chosen for ever, the ranking is the same in all rounds, and so is the loss.
        for_ever += sum(np.ptp(curve["loss"]) < 1e-12 for curve in histories)
    assert str(for_ever) == re.search(r"so it is in (\d), (\d) and (\d) of the ten folds", said)[SETS.index(name) + 1]


def history(method: str, dataset: Dataset, fold: int) -> pd.DataFrame:
    train, vali = dataset.split(fold, "train"), dataset.split(fold, "vali")
    judge = Judge(vali.labels, vali.offsets, "letor3.map")  # all conventions agree on it
    task = Task(
        train=train,
        vali=vali,
        seed=0,
        validate=lambda scores: float(np.mean(judge(scores))),
        report=lambda text: None,
    )
    return methods.find(method).make().fit(task).history
