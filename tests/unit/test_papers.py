"""The papers' rooms: their files fit the schema, all they ask for can be made, and the tables that they share."""

from __future__ import annotations

import copy
import re
from dataclasses import replace

import jsonschema
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT

from replirank import papers
from replirank.errors import ReplirankError
from replirank.papers.common import figures, tables
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol, alternatives
from replirank.reporting.tables import markdown

ROOMS = sorted(path.parent.name for path in (ROOT / "src/replirank/papers").glob("*/paper.yaml"))
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/paper.schema.yaml").read_text())


def paper(room: str) -> dict:
    return yaml.safe_load((ROOT / f"src/replirank/papers/{room}/paper.yaml").read_text())


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_fits_the_schema_and_asks_for_what_can_be_made(room):
    jsonschema.validate(paper(room), SCHEMA)
    for part in ("tables", "figures"):
        for name, entry in paper(room)[part].items():
            assert callable(papers.maker(room, part, entry.get("kind", name)))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_a_protocol_with_its_roles(room):
    """What needs a role that config.yaml does not have would be left out without a word."""
    protocol = yaml.safe_load((ROOT / "config.yaml").read_text())["papers"][room]
    entries = [*paper(room)["tables"].values(), *paper(room)["figures"].values()]
    assert {entry["role"] for entry in entries if "role" in entry} <= set(alternatives(protocol))


def test_a_rooms_own_makers_stand_before_the_common_ones():
    assert papers.maker("letor", "tables", "choices") is tables.choices_table
    assert papers.maker("letor", "figures", "curves") is figures.curves_figure
    assert papers.maker("ranknet2005", "tables", "choices") is tables.choices_table
    assert papers.maker("ranknet2005", "tables", "table1").__module__ == "replirank.papers.ranknet2005.tables"
    assert papers.maker("ranknet2005", "figures", "table1").__module__ == "replirank.papers.ranknet2005.figures"


def test_an_unknown_kind_is_told_with_the_known_ones():
    with pytest.raises(ReplirankError, match="no kind 'tabel1' of tables for letor") as caught:
        papers.maker("letor", "tables", "tabel1")
    assert "choices, comparison" in caught.value.remedy
    assert caught.value.path == "src/replirank/papers/letor/paper.yaml"


@pytest.mark.parametrize(
    "wrong",
    [
        {"printed": {"table1": {"net": "82.39"}}},
        {"printed": {"table1": {"net": [82.39, "n/a"]}}},
        {"printed": {"table1": {"net": True}}},
        {"printed": {"table1": {}}},
        {"printed": {"table1": "see the paper"}},
        {"printed": {"Table 1": 3}},
        {"id": "letor"},
        {"tables": {"table1": {"kind": "table1"}}},
    ],
)
def test_what_does_not_fit_the_schema_is_refused(wrong):
    right = {"title": "T", "printed": {"source": "S", "table1": {"net": [1, None], "poly": [{"queries": 2}]}}}
    jsonschema.validate(right, SCHEMA)
    changed = copy.deepcopy(right)
    for key, value in wrong.items():
        changed[key] = {**changed[key], **value} if key in changed else value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, SCHEMA)


# Tables of all papers


def evidence(unsupported=None, methods=("a", "b", "c")) -> Evidence:
    """Two data sets of six queries; what a method does not support has no rows."""
    unsupported = unsupported or {}
    runs = [(d, m) for d in ("one", "two") for m in methods if (d, m) not in unsupported]
    noise = np.random.default_rng(0)
    rows = [
        {"dataset": d, "method": m, "split": "test", "fold": query % 2, "query": query, "letor3.map": noise.random()}
        for d, m in runs
        for query in range(6)
    ]
    fold = {"fold": 1, "chosen": {"C": 1.0}, "tried": [{}, {}], "seconds": 1.5, "validation": 0.5}
    steps = pd.DataFrame({"fold": 1, "chosen": True, "round": [1, 2], "loss": [2.0, 1.0], "validation": [0.4, 0.5]})
    return Evidence(
        protocol=Protocol(
            paper="p",
            roles={"one": "one", "two": "two"},
            methods=list(methods),
            conventions={"one": "letor3", "two": "letor3"},
            select_by="map",
            splits=["test"],
            draws=1,
        ),
        paper={"published": []},
        seed=1,
        flips=50,
        titles={method: method.upper() for method in methods},
        metrics=pd.DataFrame(rows),
        cards={name: {"title": name.title(), "origin": "real", "note": ""} for name in ("one", "two")},
        choices={run: [fold, {**fold, "fold": 2}] for run in runs},
        history={run: steps for run in runs if run[1] != "a"},
        unsupported=unsupported,
    )


ENTRY = {"title": "T", "role": "one", "metrics": ["map"], "metric": "map"}
MISSING = {("one", "b"): "it needs two levels"}


def test_an_unsupported_method_has_a_dash_and_its_reason_in_the_comparison():
    text = markdown(tables.comparison_table(ENTRY, evidence(MISSING)))
    (line,) = [line for line in text.splitlines() if re.match(r"\| real +\| B ", line)]
    assert line.split("|")[-2].strip() == "–"
    assert "- B on One: it needs two levels." in text.splitlines()


def test_an_unsupported_method_is_in_no_pair():
    frame = tables.significance_table(ENTRY, evidence(MISSING)).frame
    pairs = frame[["data set", "A", "B"]].to_numpy().tolist()
    assert pairs == [["One", "A", "C"], ["Two", "A", "B"], ["Two", "A", "C"], ["Two", "B", "C"]]


def test_numbered_queries_have_the_same_tests_beside_a_data_set_of_text_ids():
    """As text, 10 would sort before 8, and the same seed would give another p-value."""
    numbered = evidence()
    numbered.metrics["query"] += 8
    named = replace(numbered, metrics=numbered.metrics.copy())
    prefix = named.metrics["dataset"].map({"one": "", "two": "WT04-"})
    named.metrics["query"] = prefix + named.metrics["query"].astype(str)
    tested, beside = (tables.significance_table(ENTRY, each).frame for each in (numbered, named))
    pd.testing.assert_frame_equal(tested[tested["data set"] == "One"], beside[beside["data set"] == "One"])


@pytest.mark.parametrize("kind", ["choices", "times"])
def test_an_unsupported_method_has_no_choices_and_no_times(kind):
    table = tables.TABLES[kind](ENTRY, evidence(MISSING))
    assert set(zip(table.frame["data set"], table.frame["method"], strict=True)) == {
        ("One", "A"),
        ("One", "C"),
        ("Two", "A"),
        ("Two", "B"),
        ("Two", "C"),
    }
    assert "B on One: it needs two levels." in table.notes


def test_the_curves_have_a_legend_of_all_methods_that_are_drawn_anywhere():
    figure = figures.curves_figure(ENTRY, evidence(MISSING))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["C", "B"]
    plt.close(figure)


def test_times_name_the_methods_that_they_do_not_have():
    whole = evidence()
    assert not any("benchmarks" in note for note in tables.times_table(ENTRY, whole).notes)
    del whole.choices["one", "c"], whole.choices["two", "c"]
    assert any(note.startswith("C: ") and "benchmarks" in note for note in tables.times_table(ENTRY, whole).notes)
