"""A paper's entry in the config, and the evidence that its tables are made from."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import yaml

from replirank.errors import ReplirankError
from replirank.pipeline.protocol import Protocol, named, resolve
from replirank.reporting.evidence import Evidence

CONFIG = {
    "datasets": {
        "ohsumed": {"convention": "letor3"},
        "mq2007": {"convention": "letor4"},
        "web": {"convention": "burges"},
    },
    "methods": {"bm25": {}, "other": {"title": "Another"}},
    "papers": {
        "letor": {
            "datasets": ["ohsumed", ["mq2007", "web"]],
            "methods": ["bm25", "other"],
            "select_by": "map",
            "splits": ["vali", "test"],
            "draws": 1,
        },
        "burges": {
            "datasets": [["mq2007", "web"]],
            "methods": ["bm25"],
            "select_by": "ndcg@15",
            "splits": ["train", "test"],
            "draws": 5,
            "convention": "burges",
        },
    },
}


def test_of_alternatives_the_first_at_hand_is_taken_else_the_last():
    assert resolve(CONFIG, "letor", lambda name: True).datasets == ["ohsumed", "mq2007"]
    # OHSUMED has no alternative: it is simulated. Of the other two, the one that was made for this is.
    assert resolve(CONFIG, "letor", lambda name: False).datasets == ["ohsumed", "web"]
    assert list(named(CONFIG["papers"]["letor"])) == ["ohsumed", "mq2007", "web"]


def test_a_papers_own_convention_stands_before_the_data_sets():
    assert resolve(CONFIG, "letor", lambda name: True).conventions == {"ohsumed": "letor3", "mq2007": "letor4"}
    assert resolve(CONFIG, "burges", lambda name: True).conventions == {"mq2007": "burges"}


def test_a_protocol_survives_the_way_through_snakemakes_parameters():
    protocol = resolve(CONFIG, "burges", lambda name: True)
    assert Protocol(**json.loads(json.dumps(vars(protocol)))) == protocol


@pytest.fixture
def files(tmp_path):
    """One data set of two folds, one method, the values chosen so that the two ways of averaging differ."""
    rows = [(1, "test", 7, 0.0), (2, "test", 8, 0.5), (2, "test", 9, 1.0), (1, "vali", 8, 0.25), (2, "vali", 7, 0.25)]
    metrics = pd.DataFrame(rows, columns=["fold", "split", "query", "letor3.map"])
    metrics.assign(paper="letor", dataset="ohsumed", origin="real", method="bm25").to_parquet(tmp_path / "metrics")
    texts = {
        "card": json.dumps({"id": "ohsumed", "title": "OHSUMED", "origin": "real", "note": ""}),
        "ohsumed/bm25.json": json.dumps({"title": "BM25", "folds": [{"fold": 1}]}),
        "ohsumed/bm25.csv": "fold,point,chosen\n",
        "paper": yaml.safe_dump({"id": "letor"}),
    }
    (tmp_path / "ohsumed").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {
        "metrics": tmp_path / "metrics",
        "cards": [tmp_path / "card"],
        "choices": [tmp_path / "ohsumed/bm25.json"],
        "history": [tmp_path / "ohsumed/bm25.csv"],
        "paper": tmp_path / "paper",
    }


def read(files):
    entry = {**CONFIG["papers"]["letor"], "datasets": ["ohsumed"], "methods": ["bm25"]}
    config = {**CONFIG, "papers": {"letor": entry}}
    return Evidence.read(files, protocol=resolve(config, "letor", lambda name: True), config=config)


def test_evidence_means_are_over_queries_then_folds(files):
    evidence = read(files)
    # Fold 1 has one query, fold 2 two: (0 + (.5 + 1) / 2) / 2, not (0 + .5 + 1) / 3.
    assert evidence.means("ohsumed", ["letor3.map"]).loc["bm25", "letor3.map"] == (0 + (0.5 + 1) / 2) / 2
    assert evidence.means("ohsumed", ["letor3.map"], split="vali").loc["bm25", "letor3.map"] == 0.25
    assert evidence.rows("ohsumed")["query"].tolist() == [7, 8, 9]


def test_evidence_without_rows_says_what_to_add(files):
    with pytest.raises(ReplirankError, match="no train results on ohsumed") as caught:
        read(files).rows("ohsumed", "train")
    assert "papers: letor:" in caught.value.remedy


def test_evidence_takes_a_methods_title_from_the_config_first(files):
    evidence = read(files)
    assert evidence.title("bm25") == "BM25"
    assert evidence.title("other") == "Another"
    assert evidence.choices == {("ohsumed", "bm25"): [{"fold": 1}]}
    assert evidence.history == {}  # BM25 has no epochs


def test_evidence_of_files_of_its_own_has_nothing_else(files, tmp_path):
    evidence = read({"paper": files["paper"], "needs": [str(tmp_path / "draw_1.csv")]})
    assert evidence.needs == [tmp_path / "draw_1.csv"]
    assert evidence.metrics.empty
    assert not evidence.cards
