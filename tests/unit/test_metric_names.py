"""Metrics by name: in the YAML files, whose schemas do not repeat the registry's names, and in the tables."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from replirank import papers
from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.errors import ReplirankError
from replirank.evaluation.per_dataset import metrics_of
from replirank.evaluation.scores import Scored
from replirank.metrics.conventions import CONVENTIONS
from replirank.metrics.registry import METRICS
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol, check_metric_names

ROOT = Path(__file__).parents[2]
CONFIG = {
    "papers": {"p": {"select_by": "kendall_tau"}, "q": {"select_by": "err", "convention": "burges"}},
    "datasets": {"ohsumed": {"convention": "letor3"}},
}
PAPER = {
    "tables": {
        "one": {"kind": "comparison", "metrics": ["kendall_tau", "top10", "ndcg@15"]},
        "two": {"kind": "significance", "metric": "pairwise_correct"},
        "three": {"kind": "data"},
    },
    "published": [{"convention": "letor4", "values": {"p@1": 0.5, "err": 0.25}}],
}


def test_every_registered_name_passes():
    check_metric_names(CONFIG, {"p": PAPER, "bare": {}})


@pytest.mark.parametrize(
    ("keys", "wrong", "message"),
    [
        (("config", "papers", "p", "select_by"), "ndgc@10", "config.yaml: unknown metric 'ndgc@10'"),
        (("config", "papers", "q", "convention"), "trec", "config.yaml: unknown convention 'trec'"),
        (("config", "datasets", "ohsumed", "convention"), "trec", "config.yaml: unknown convention 'trec'"),
        (("paper", "tables", "one", "metrics"), ["map", "mrr"], "paper.yaml: unknown metric 'mrr'"),
        (("paper", "tables", "two", "metric"), "ndcg", "paper.yaml: unknown metric 'ndcg'"),
        (("paper", "published", 0, "convention"), "trec", "paper.yaml: unknown convention 'trec'"),
        (("paper", "published", 0, "values"), {"p@16": 0.5}, "paper.yaml: unknown metric 'p@16'"),
    ],
)
def test_a_wrong_name_is_refused_with_its_file(keys, wrong, message):
    given = copy.deepcopy({"config": CONFIG, "paper": PAPER})
    *path, last = keys
    place = given
    for key in path:
        place = place[key]
    place[last] = wrong
    with pytest.raises(ReplirankError, match=re.escape(message)) as caught:
        check_metric_names(given["config"], {"p": given["paper"]})
    assert caught.value.remedy.startswith("choose one of ")


@pytest.mark.parametrize("name", ["config", "paper"])
def test_the_schemas_are_no_second_list(name):
    def strings(node):
        if isinstance(node, dict):
            return [text for key, value in node.items() if key != "default" for text in strings(value)]
        if isinstance(node, list):
            return [text for value in node for text in strings(value)]
        return re.findall(r"\w+", str(node))

    schema = yaml.safe_load((ROOT / f"workflow/schemas/{name}.schema.yaml").read_text())
    assert not {*CONVENTIONS, *METRICS} & set(strings(schema))


# Fold 1 tests the queries of labels 2 1 0 and 1 1, the latter without pairs; fold 2 that of labels 1 0 1 0, which comes
# out as 0 1 0 1, three of four pairs wrong. The methods differ on the first: "swapped" has one of three pairs wrong.
LABELS = np.array([2, 1, 0, 1, 0, 1, 0, 1, 1], dtype=np.float32)
SECOND, THIRD = [0.4, 0.3, 0.2, 0.5], [1.0, 2.0]
FIRST = {"right": [3.0, 2.0, 1.0], "swapped": [2.0, 3.0, 1.0]}


@pytest.fixture
def evidence():
    data = RankingData(np.zeros((9, 1)), LABELS, np.array([0, 3, 7, 9]), np.array([11, 12, 13]))
    dataset = Dataset(data, (Fold(*map(np.array, ([1], [1], [0, 2]))), Fold(*map(np.array, ([0], [0], [1])))))
    pieces = []
    for method, first in FIRST.items():
        scored = [Scored(0, "test", np.array(first + THIRD)), Scored(1, "test", np.array(SECOND))]
        keys = {"paper": "letor", "dataset": "toy", "origin": "artificial", "method": method}
        pieces.append(metrics_of(dataset, scored, keys))
    chosen = {"fold": 1, "chosen": {"C": 1.0}, "validation": 0.25, "tried": [{}, {}]}
    return Evidence(
        protocol=Protocol(
            paper="letor",
            roles={"toy": "toy"},
            methods=list(FIRST),
            conventions={"toy": "letor4"},
            select_by="kendall_tau",
            splits=["test"],
            draws=1,
        ),
        paper={"published": []},
        seed=1,
        flips=100,
        titles={method: method for method in FIRST},
        metrics=pd.concat(pieces, ignore_index=True),
        cards={"toy": {"title": "Toy", "origin": "artificial", "note": ""}},
        choices={("toy", "right"): [chosen]},
    )


def make(kind, evidence, **entry):
    return papers.maker("letor", "tables", kind)({"title": "A table", "role": "toy", **entry}, evidence)


def test_every_metric_stands_in_a_comparison(evidence):
    names = ["p@1", "map", "mean_ndcg", "err", "pairwise_correct", "kendall_tau", "top10"]
    frame = make("comparison", evidence, metrics=names).frame.set_index("method")
    titles = ["P@1", "MAP", "MeanNDCG", "ERR", "pairwise correct", "Kendall tau", "top-10 rate"]
    assert list(frame.columns) == [
        "data",
        *(f"{title}{end}" for title in titles for end in ("", " \N{PLUS-MINUS SIGN}")),
    ]
    # The queries' values are 0 and 3/4: their standard error is (3/4) / sqrt(2) / sqrt(2).
    assert frame.loc["right", "Kendall tau \N{PLUS-MINUS SIGN}"] == pytest.approx(1.959964 * 3 / 8, rel=1e-6)
    # The query without pairs is in no mean.
    assert frame.loc["right", "Kendall tau"] == pytest.approx((0 / 3 + 3 / 4) / 2)
    assert frame.loc["swapped", "Kendall tau"] == pytest.approx((1 / 3 + 3 / 4) / 2)
    assert frame.loc["swapped", "pairwise correct"] == pytest.approx((2 / 3 + 1 / 4) / 2)
    assert frame["P@1"].tolist() == pytest.approx([((1 + 1) / 2 + 0) / 2] * 2)
    assert frame["top-10 rate"].tolist() == [1, 1]
    # ERR with best label 2: of 2 1 0, of 1 1, and of 0 1 0 1.
    first, third = 3 / 4 + (1 / 4) * (1 / 4) / 2, 1 / 4 + (3 / 4) * (1 / 4) / 2
    second = (1 / 4) / 2 + (3 / 4) * (1 / 4) / 4
    assert frame.loc["right", "ERR"] == pytest.approx(((first + third) / 2 + second) / 2)


def test_significance_is_tested_by_a_metric_without_a_convention(evidence):
    table = make("significance", evidence, metric="kendall_tau")
    [row] = table.frame.to_dict("records")
    assert row["queries"] == 2  # those that have pairs
    assert row["A - B"] == pytest.approx((-1 / 3 + 0) / 2)
    assert table.notes[0].startswith("Kendall tau of each test query")


def test_choices_are_shown_with_the_metric_that_chose(evidence):
    [row] = make("choices", evidence).frame.to_dict("records")
    assert (row["by"], row["validation"]) == ("Kendall tau", 0.25)
