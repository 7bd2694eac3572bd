"""The table of choices at the edge of a grid, from made-up choices."""

from __future__ import annotations

import pytest
from helpers import evidence_of

from replirank import papers
from replirank.papers.common.edges import offered
from replirank.reporting.evidence import Evidence

GRIDS = {
    "ranksvm": {"C": (0.1, 1.0, 10.0)},
    "bm25_pagerank": {"weight": (0.0, 0.5, 0.9)},
    "adarank_map": {"repeats": (True, False)},
    "listnet": {"learning_rate": (0.01,)},
}
CHOSEN = {
    ("a", "ranksvm"): [0.1, 10.0, 10.0, 1.0],
    ("b", "ranksvm"): [1.0, 1.0],
    ("a", "bm25_pagerank"): [0.0, 0.0, 0.9, 0.5],
    ("a", "adarank_map"): [True] * 4,
    ("a", "listnet"): [0.01] * 4,
}


def folds(method: str, values: list) -> list[dict]:
    [(name, grid)] = GRIDS[method].items()
    tried = [{name: value, "validation": 0.5} for value in grid]
    return [{"fold": place + 1, "chosen": {name: value}, "tried": tried} for place, value in enumerate(values)]


@pytest.fixture
def evidence() -> Evidence:
    choices = {(dataset, method): folds(method, values) for (dataset, method), values in CHOSEN.items()}
    titles = {method: method.upper() for method in GRIDS}
    return evidence_of("letor", {"a": "real", "b": "derived"}, list(GRIDS), titles=titles, choices=choices)


def test_choices_at_both_ends_are_counted_over_the_data_sets_of_a_grid(evidence):
    table = papers.maker("letor", "tables", "edges")({"title": "T", "notes": ["See there."]}, evidence)
    frame = table.frame.set_index("method")
    assert list(frame.index) == ["RANKSVM", "BM25_PAGERANK"]  # yes or no, and one value, are no choice with an edge
    row = frame.loc["RANKSVM"]
    assert (row["data"], row["data sets"], row["smallest"], row["largest"]) == ("real, derived", "A, B", "0.1", "10")
    assert (row["values"], row["folds"], row["at the smallest"], row["at the largest"]) == (3, 6, 1, 2)
    assert row["at an edge %"] == pytest.approx(50)
    assert (row["bounded by"], row["at an edge that could be moved"]) == ("", 3)
    assert table.notes[0].startswith("4 of 10 choices are at an edge that could be moved.")
    assert "See there." in table.notes


def test_an_edge_that_is_the_end_of_what_is_possible_is_told_apart(evidence):
    frame = papers.maker("letor", "tables", "edges")({"title": "T"}, evidence).frame.set_index("method")
    row = frame.loc["BM25_PAGERANK"]  # a weight ends at 0; this grid ends before 1
    assert (row["at the smallest"], row["at the largest"]) == (2, 1)
    assert row["bounded by"] == "0: one feature alone"
    assert row["at an edge that could be moved"] == 1


def test_data_sets_with_grids_of_their_own_have_rows_of_their_own(evidence):
    other = [{**fold, "tried": [{"C": 1.0}, {"C": 5.0}]} for fold in evidence.choices["b", "ranksvm"]]
    evidence.choices["b", "ranksvm"] = other
    frame = papers.maker("letor", "tables", "edges")({"title": "T"}, evidence).frame
    rows = frame[frame["method"] == "RANKSVM"]
    assert rows["data sets"].tolist() == ["A", "B"]
    assert rows["at the smallest"].tolist() == [1, 2]


def test_what_has_no_order_is_not_offered():
    points = [{"name": "x", "flag": True, "C": 1, "one": 2}, {"name": "y", "flag": False, "C": 2.5, "one": 2}]
    assert offered([{"chosen": points[0], "tried": points}]) == {"C": (1, 2.5)}
