"""Tables that say what is missing, and those of values on training and validation queries."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from replirank import papers
from replirank.papers.common.tables import not_at_hand_table
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol

MISSING = {"td2004": {"title": "TD2004", "remedy": "fetch it"}}
CARD = {
    "original_bytes": True,
    "queries": 3,
    "documents": 9,
    "features": 2,
    "labels": {"0": 6, "1": 3},
    "documents_per_query": {"least": 3, "median": 3.0, "most": 3},
    "queries_without_relevant": 0,
    "folds": [{}] * 3,
    "checksum": "0" * 64,
    "note": "",
}


@pytest.fixture
def evidence() -> Evidence:
    """Two data sets, three folds of a query each; on training queries twice what it is on validation queries."""
    rows = [
        {"dataset": dataset, "method": method, "split": split, "fold": fold, "query": fold, "letor3.map": value * fold}
        for dataset in ("ohsumed", "mine")
        for method in ("regression", "bm25")
        for split, value in (("train", 0.2), ("vali", 0.1), ("test", 0.3))
        for fold in (1, 2, 3)
    ]
    sheet = {"dataset": "ohsumed", "method": "regression", "printed_as": "Regression", "convention": "letor3"}
    published = [("train", "mean", 0.39), ("vali", "mean", 0.25), ("train", "1", 0.9), ("test", "mean", 0.8)]
    sheets = [
        {**sheet, "source": "the makers", "split": split, "fold": fold, "metric": "map", "value": value}
        for split, fold, value in published
    ]
    return Evidence(
        protocol=Protocol(
            paper="letor",
            roles={"ohsumed": "ohsumed", "mine": "mine"},
            methods=["regression", "bm25"],
            conventions={"ohsumed": "letor3", "mine": "letor3"},
            select_by="map",
            splits=["train", "vali", "test"],
            draws=1,
            missing={"td2004": "td2004"},
        ),
        paper={},
        seed=1,
        flips=100,
        titles={"regression": "Regression", "bm25": "BM25"},
        metrics=pd.DataFrame(rows),
        cards={name: {**CARD, "id": name, "title": name.upper(), "origin": "real"} for name in ("ohsumed", "mine")},
        missing=MISSING,
        sheets=pd.DataFrame(sheets),
    )


def make(kind, evidence, **entry):
    return papers.maker("letor", "tables", kind)({"title": "A table", **entry}, evidence)


def test_fits_stand_beside_the_published_means_of_the_same_split(evidence):
    frame = make("fit", evidence, metrics=["map"]).frame
    assert frame.drop(columns="data").to_dict("list") == {
        "data set": ["OHSUMED", "OHSUMED"],
        "queries": ["training", "validation"],
        "method": ["Regression", "Regression"],
        "MAP": pytest.approx([0.4, 0.2]),
        "MAP published": [0.39, 0.25],
        "MAP difference": pytest.approx([0.01, -0.05]),
    }


def test_no_fit_stands_beside_simulated_data(evidence):
    cards = {name: {**card, "origin": "simulated"} for name, card in evidence.cards.items()}
    table = make("fit", replace(evidence, cards=cards), metrics=["map"])
    assert table.frame.empty
    assert not any("the makers" in note for note in table.notes)


def test_the_table_of_data_sets_has_a_row_for_each_missing_one(evidence):
    table = make("data", evidence)
    assert table.frame["data set"].tolist() == ["OHSUMED", "MINE", "TD2004"]
    assert table.frame["data"].tolist() == ["real", "real", "not at hand"]
    assert table.frame["queries"].tolist()[:2] == [3, 3]
    assert table.frame.iloc[2].drop(["data set", "data"]).isna().all()
    assert "TD2004 is not at hand: fetch it." in table.notes


def test_the_table_of_a_missing_data_set_says_how_to_get_it(evidence):
    table = not_at_hand_table({"title": "LETOR's baselines", "role": "td2004"}, evidence)
    assert table.title == "LETOR's baselines: TD2004"
    assert table.frame.to_dict("records") == [
        {"data set": "TD2004", "data": "not at hand", "how to get it": "fetch it"}
    ]
