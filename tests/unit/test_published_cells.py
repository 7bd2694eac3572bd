"""The table of all published cells, and its summary, from made-up evidence."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from helpers import evidence_of

from replirank import papers
from replirank.papers.common.published import COLUMNS, MAKERS, OTHERS
from replirank.reporting.evidence import Evidence
from replirank.reporting.published import Published

METRICS = ["ndcg@1", "map"]
# Of every query, so that the interval has no width; one method wavers.
LEVELS = {("a", "one"): 0.5, ("a", "two"): 0.4, ("b", "one"): 0.3}
WAVER = {("b", "one"): 0.2}
SHEET, PAPER = "the makers' sheet", "a later paper"


@pytest.fixture
def evidence() -> Evidence:
    rows = [
        {"dataset": dataset, "method": method, "split": "test", "fold": fold, "query": 10 * fold + turn}
        | {f"letor3.{metric}": level + turn * WAVER.get((dataset, method), 0.0) for metric in METRICS}
        for (dataset, method), level in LEVELS.items()
        for fold in (1, 2)
        for turn in (-1, 1)
    ]
    published = [
        Published("a", "one", "One", "letor3", {"ndcg@1": 0.51, "map": 0.52, "ndcg@9": 0.1}, SHEET),
        Published("a", "two", "Two", "letor3", {"map": 0.401}, PAPER),
        Published("b", "one", "One", "letor3", {"map": 0.2}, SHEET),
        Published("a", "one", "One", "letor4", {"map": 0.9}, PAPER),  # another convention
        Published("a", "three", "Three", "letor3", {"map": 0.9}, PAPER),  # not run
        Published("b", "two", "Two", "letor3", {"map": 0.9}, PAPER),  # not supported
    ]
    return evidence_of(
        "letor",
        {"a": "real", "b": "rebuilt"},
        ["one", "two"],
        titles={"one": "ONE", "two": "TWO"},
        metrics=pd.DataFrame(rows),
        unsupported={("b", "two"): "too large"},
        published=published,
        sheets=pd.DataFrame({"source": [SHEET], "dataset": ["a"]}),
    )


def make(kind: str, evidence: Evidence):
    return papers.maker("letor", "tables", kind)({"title": "T", "metrics": METRICS}, evidence)


def test_every_published_cell_is_there_once_the_largest_difference_of_a_set_first(evidence):
    frame = make("published", evidence).frame
    assert frame[["data set", "data", "method", "metric", "published"]].values.tolist() == [
        ["A", "real", "ONE", "MAP", 0.52],
        ["A", "real", "ONE", "NDCG@1", 0.51],
        ["A", "real", "TWO", "MAP", 0.401],
        ["B", "rebuilt", "ONE", "MAP", 0.2],
    ]
    assert frame["difference"].tolist() == pytest.approx([-0.02, -0.01, -0.001, 0.1])
    assert frame["beyond .015"].tolist() == ["yes", "no", "no", "yes"]
    # 1.96 standard errors of four values .2 above and below: 1.96 * sqrt(4/3) * .2 / 2
    assert frame["\N{PLUS-MINUS SIGN}"].tolist() == pytest.approx([0, 0, 0, 0.2263], abs=1e-4)
    assert frame["outside the interval"].tolist() == ["yes", "yes", "yes", "no"]


def test_the_notes_count_and_name_the_sources(evidence):
    notes = make("published", evidence).notes
    assert notes[0] == "4 cells: the median of |difference| is 0.0150, and 2 are beyond .015."
    assert f"{SHEET}: 3 cells, median 0.0200, 2 beyond .015." in notes
    assert f"{PAPER}: 1 cell, median 0.0010, 0 beyond .015." in notes


def test_the_summary_counts_by_data_set_and_by_source(evidence):
    frame = make("published_summary", evidence).frame.set_index(["data set", "published in"])
    assert frame["cells"].to_dict() == {
        ("A", "all"): 3, ("B", "all"): 1, ("all", MAKERS): 3, ("all", OTHERS): 1, ("all", "all"): 4
    }  # fmt: skip
    assert frame["beyond .015"].tolist() == [1, 1, 2, 0, 2]
    assert frame["of these outside the interval"].tolist() == [1, 0, 1, 0, 1]
    assert frame["median |difference|"].tolist() == pytest.approx([0.01, 0.1, 0.02, 0.001, 0.015])
    assert frame.loc[("all", "all"), "which is"] == "ONE, MAP, B"
    assert frame.loc[("all", "all"), "data"] == "real, rebuilt"


def test_simulated_data_has_no_published_cell(evidence):
    cards = {name: {**card, "origin": "simulated"} for name, card in evidence.cards.items()}
    simulated = replace(evidence, cards=cards)
    assert make("published", simulated).frame.empty
    assert list(make("published", simulated).frame) == COLUMNS
    assert make("published_summary", simulated).frame.empty
