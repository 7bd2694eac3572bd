"""A paper's entry in the config, and the evidence that its tables are made from."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
import yaml

from replirank.errors import ReplirankError
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol, alternatives, outputs, resolve

CONFIG = {
    "on_missing": "skip",
    "always_simulate": False,
    "datasets": {
        "ohsumed": {"convention": "letor3"},
        "np2004": {"convention": "letor3"},
        "np2004_30": {"convention": "letor3"},
        "mq2007": {"convention": "letor4"},
        "web": {"convention": "burges"},
        "aol": {"convention": "burges"},
    },
    "papers": {
        "letor": {
            "datasets": {"medical": "ohsumed", "web": ["mq2007", "web"]},
            "methods": ["bm25", "other"],
            "select_by": "map",
            "splits": ["vali", "test"],
            "draws": 1,
        },
        "burges": {
            "datasets": ["mq2007"],
            "methods": ["bm25"],
            "select_by": "ndcg@15",
            "splits": ["train", "test"],
            "draws": 5,
            "convention": "burges",
        },
    },
}


def everything(name):
    return name not in ("web", "aol")


def nothing(name):
    return False


def resolved(datasets, *at_hand, on_missing="skip"):
    """A paper with these data sets, on a machine that has some of them."""
    paper = {**CONFIG["papers"]["letor"], "datasets": datasets}
    config = {**CONFIG, "on_missing": on_missing, "papers": {"p": paper}}
    return resolve(config, "p", lambda name: name in at_hand)


def test_of_alternatives_the_first_at_hand_is_taken():
    assert resolve(CONFIG, "letor", everything).roles == {"medical": "ohsumed", "web": "mq2007"}
    names = ["ohsumed", ["np2004", "np2004_30"]]
    assert resolved(names, "ohsumed", "np2004", "np2004_30").roles == {"ohsumed": "ohsumed", "np2004": "np2004"}
    assert resolved(names, "ohsumed", "np2004_30").roles == {"ohsumed": "ohsumed", "np2004": "np2004_30"}
    assert alternatives(CONFIG["papers"]["letor"]) == {"medical": ["ohsumed"], "web": ["mq2007", "web"]}


def test_where_nothing_is_at_hand_all_is_simulated():
    protocol = resolve(CONFIG, "letor", nothing)
    # OHSUMED is simulated itself. Of the other two, the one that was made for this is.
    assert protocol.roles == {"medical": "ohsumed", "web": "web"}
    assert protocol.simulated == ["ohsumed", "web"]
    assert not protocol.missing
    assert resolve(CONFIG, "burges", nothing).roles == {"mq2007": "mq2007"}


def test_where_something_is_at_hand_the_rest_is_left_out():
    protocol = resolved({"medical": "ohsumed", "web": ["mq2007", "web"]}, "ohsumed")
    assert protocol.roles == {"medical": "ohsumed"}
    assert protocol.missing == {"web": "mq2007"}
    assert protocol.simulated == []
    assert resolved(["ohsumed", ["np2004", "np2004_30"]], "ohsumed").missing == {"np2004": "np2004"}


def test_data_that_was_never_published_is_simulated_whatever_else_is_at_hand():
    protocol = resolved({"medical": "ohsumed", "clicks": "aol"}, "ohsumed")
    assert protocol.roles == {"medical": "ohsumed", "clicks": "aol"}
    assert protocol.simulated == ["aol"]


def test_a_role_may_be_simulated_though_other_data_is_at_hand():
    paper = {
        **CONFIG["papers"]["letor"],
        "simulate_missing": ["web"],
        "datasets": {"medical": "ohsumed", "web": "mq2007"},
    }
    config = {**CONFIG, "papers": {"p": paper}}
    some = resolve(config, "p", lambda name: name == "ohsumed")
    assert some.roles == {"medical": "ohsumed", "web": "mq2007"}
    assert some.simulated == ["mq2007"]
    assert some.missing == {}
    assert resolve(config, "p", lambda name: True).simulated == []


def test_what_is_missing_is_simulated_where_the_config_asks_for_it():
    protocol = resolved(["ohsumed", "np2004", "mq2007"], "ohsumed", on_missing="simulate")
    assert protocol.datasets == ["ohsumed", "np2004", "mq2007"]
    assert protocol.simulated == ["np2004", "mq2007"]


def test_where_missing_data_is_a_failure_it_is_asked_for():
    protocol = resolved(["ohsumed", "np2004"], "ohsumed", on_missing="fail")
    assert protocol.datasets == ["ohsumed", "np2004"]
    assert not protocol.missing


def test_a_data_set_in_two_roles_is_run_once():
    datasets = {"first": "mq2007", "other": "ohsumed", "again": "mq2007"}
    assert resolved(datasets, "mq2007", "ohsumed").datasets == ["mq2007", "ohsumed"]


TABLES = {
    "data": {"title": "Data"},
    "comparison": {"title": "All methods", "for_each_dataset": True},
    "clicks": {"title": "Clicks", "role": "clicks", "kind": "special"},
}


def test_a_table_for_each_data_set_has_the_name_of_its_role():
    made = outputs(TABLES, resolved(["ohsumed", "mq2007"], "ohsumed", "mq2007"), of_missing=True)
    assert list(made) == ["data", "ohsumed", "mq2007"]
    assert made["ohsumed"].entry == {
        "kind": "comparison", "title": "All methods", "for_each_dataset": True, "role": "ohsumed"
    }  # fmt: skip
    assert made["data"].entry["kind"] == "data"


def test_a_missing_data_set_has_a_table_that_says_so_and_no_figure():
    protocol = resolved(["ohsumed", "mq2007"], "ohsumed")
    assert list(outputs(TABLES, protocol, of_missing=True)) == ["data", "ohsumed", "mq2007"]
    assert list(outputs(TABLES, protocol, of_missing=False)) == ["data", "ohsumed"]


def test_simulated_data_stands_in_tables_of_its_own():
    protocol = resolved(["ohsumed", "mq2007"], "ohsumed", on_missing="simulate")
    made = outputs(TABLES, protocol, of_missing=True)
    assert {name: output.protocol.datasets for name, output in made.items()} == {
        "data": ["ohsumed"],
        "ohsumed": ["ohsumed"],
        "data_simulated": ["mq2007"],
        "mq2007": ["mq2007"],
    }
    assert made["data_simulated"].entry == {"kind": "data", "title": "Data (SIMULATED data)"}


def test_a_table_of_a_role_that_is_always_simulated_keeps_its_name():
    datasets = {"medical": "ohsumed", "clicks": "aol"}
    tables = {"data": TABLES["data"], "clicks": TABLES["clicks"]}
    made = outputs(tables, resolved(datasets, "ohsumed"), of_missing=True)
    assert {name: output.protocol.datasets for name, output in made.items()} == {
        "data": ["ohsumed"],
        "data_simulated": ["aol"],
        "clicks": ["aol"],
    }
    assert made["clicks"].entry["kind"] == "special"


def test_a_table_of_real_data_only_is_not_made_of_simulated_data():
    tables = {"fit": {"title": "Fit", "real_only": True}}
    assert list(outputs(tables, resolved(["ohsumed", "mq2007"], "ohsumed"), of_missing=True)) == ["fit"]
    assert not outputs(tables, resolved(["ohsumed", "mq2007"]), of_missing=True)
    mixed = resolved(["ohsumed", "mq2007"], "ohsumed", on_missing="simulate")
    assert outputs(tables, mixed, of_missing=True)["fit"].protocol.datasets == ["ohsumed"]


def test_two_tables_of_one_name_are_refused():
    with pytest.raises(ReplirankError, match="would be called 'data'"):
        outputs(TABLES, resolved({"data": "ohsumed"}, "ohsumed"), of_missing=True)


def test_a_papers_own_convention_stands_before_the_data_sets():
    assert resolve(CONFIG, "letor", everything).conventions == {"ohsumed": "letor3", "mq2007": "letor4"}
    assert resolve(CONFIG, "burges", everything).conventions == {"mq2007": "burges"}


def test_a_protocol_survives_the_way_through_snakemakes_parameters():
    protocol = resolve(CONFIG, "burges", everything)
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
        "ohsumed/other.json": json.dumps({"title": "Other", "folds": [], "unsupported": "it needs two levels"}),
        "ohsumed/other.csv": "fold,point,chosen\n",
        "paper": yaml.safe_dump({"title": "LETOR"}),
    }
    (tmp_path / "ohsumed").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {
        "metrics": tmp_path / "metrics",
        "cards": [tmp_path / "card"],
        "choices": [tmp_path / f"ohsumed/{method}.json" for method in ("bm25", "other")],
        "history": [tmp_path / f"ohsumed/{method}.csv" for method in ("bm25", "other")],
        "paper": tmp_path / "paper",
    }


def read(files, titles=None):
    entry = {**CONFIG["papers"]["letor"], "datasets": {"medical": "ohsumed"}}
    protocol = resolve({**CONFIG, "papers": {"letor": entry}}, "letor", everything)
    return Evidence.read(files, protocol=protocol, titles=titles or {}, missing={}, seed=1, flips=100)


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
    assert read(files).title("other") == "Other"
    evidence = read(files, {"other": "Another"})
    assert evidence.title("bm25") == "BM25"
    assert evidence.title("other") == "Another"
    assert evidence.choices == {("ohsumed", "bm25"): [{"fold": 1}]}
    assert evidence.history == {}  # BM25 has no epochs


def test_evidence_knows_data_sets_by_role(files):
    assert read(files).dataset("medical") == "ohsumed"
    with pytest.raises(ReplirankError, match="without a data set in the role 'web'") as caught:
        read(files).dataset("web")
    assert "papers: letor: datasets:" in caught.value.remedy


def test_a_method_that_does_not_support_a_data_set_has_no_numbers_and_a_note(files):
    evidence = read(files)
    assert evidence.unsupported == {("ohsumed", "other"): "it needs two levels"}
    assert evidence.supported("ohsumed") == ["bm25"]
    means = evidence.means("ohsumed", ["letor3.map"])
    assert means.index.tolist() == ["bm25", "other"]
    assert means["letor3.map"].isna().tolist() == [False, True]
    assert evidence.notes(["ohsumed"]) == ["Other on OHSUMED: it needs two levels."]


def test_a_method_without_results_and_without_a_reason_is_an_error(files):
    missing = replace(read(files), unsupported={})
    with pytest.raises(KeyError, match="other"):
        missing.means("ohsumed", ["letor3.map"])


def test_evidence_of_files_of_its_own_has_nothing_else(files, tmp_path):
    evidence = read({"paper": files["paper"], "needs": [str(tmp_path / "draw_1.csv")]})
    assert evidence.needs == [tmp_path / "draw_1.csv"]
    assert evidence.metrics.empty
    assert not evidence.cards
