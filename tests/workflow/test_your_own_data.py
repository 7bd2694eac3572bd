"""docs/your-own-data.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import yaml
from helpers import ROOT, follow, run_in, scored, small_project

from replirank.data import arrays


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = small_project(tmp_path_factory.mktemp("own") / "project")
    config = yaml.safe_load((project / "config.yaml").read_text())
    config["papers"]["letor"]["methods"].append("ranksvm")
    config["methods"]["ranksvm"] = {"grid": {"C": [0.01, 1.0]}}
    (project / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    steps, outputs = follow(project, "your-own-data.md")
    return project, steps, outputs


def test_following_the_page_adds_a_data_set(project):
    _, steps, outputs = project
    assert [kind for kind, _ in steps] == ["run", "config", "run"]
    methods = ("regression", "bm25", "ranksvm")
    assert scored(outputs[1]) == {f"letor/{data}/{method}" for data in ("ohsumed", "mine") for method in methods}


def test_it_has_the_tables_tests_and_figures_that_letors_sets_have(project):
    folder = project[0] / "results/tables/letor"
    table = pd.read_csv(folder / "mine.csv").set_index("method")
    assert set(table["data"]) == {"real"}
    # The label is a match with some noise, and the match is a feature: least squares must find it.
    assert table.loc["Regression", "NDCG@10"] > 0.9
    assert pd.isna(table.loc["BM25", "NDCG@10"])
    assert "no column known to hold bm25" in (folder / "mine.md").read_text()
    for name in ("data", "choices", "times", "significance"):
        assert set(pd.read_csv(folder / f"{name}.csv")["data set"]) == {"mine"}, name
    [test] = pd.read_csv(folder / "significance.csv").to_dict("records")
    # One of the 40 queries has no relevant document, and the standard convention leaves it out.
    assert (test["A"], test["B"], test["queries"]) == ("Regression", "RankSVM", 39)
    for figure in ("ndcg", "curves"):
        assert (project[0] / f"figures/letor/{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_simulated_data_is_in_tables_of_its_own(project):
    folder = project[0] / "results/tables/letor"
    assert set(pd.read_csv(folder / "data.csv")["data"]) == {"real"}
    assert set(pd.read_csv(folder / "data_simulated.csv")["data"]) == {"simulated"}


def test_query_ids_are_kept_and_features_are_scaled(project):
    results = project[0] / "results"
    card = json.loads((results / "data/mine/card.json").read_text())
    assert (card["queries"], card["documents"], card["features"], len(card["folds"])) == (40, 480, 3, 5)
    dataset = arrays.load(results / "data/mine/arrays.npz")
    assert dataset.data.query_ids.tolist() == [f"shop-{query}" for query in range(40)]
    assert (dataset.data.features.min(axis=0), dataset.data.features.max(axis=0)) == (
        pytest.approx([0, 0, 0]),
        pytest.approx([1, 1, 1]),
    )
    metrics = pd.read_parquet(results / "metrics.parquet").query("dataset == 'mine' and split == 'test'")
    assert set(metrics["query"]) == {f"shop-{query}" for query in range(40)}


def test_the_other_config_of_the_page_is_valid(project):
    text = (ROOT / "docs/your-own-data.md").read_text()
    config = text[text.index("run: [letor]") :].partition("```")[0]
    (project[0] / "mine.yaml").write_text(config)
    assert yaml.safe_load(config)["papers"] == {"letor": {"datasets": ["mine"]}}
    plan = run_in(project[0], "snakemake -n --configfile mine.yaml")
    assert "letor/ohsumed" not in plan


def test_a_path_that_leads_nowhere_is_one_clear_message(project):
    (project[0] / "wrong.yaml").write_text("datasets: {other: {path: nowhere.txt, convention: standard}}\n")
    with pytest.raises(AssertionError) as caught:
        run_in(project[0], "snakemake -n --configfile wrong.yaml")
    assert "data set 'other': there is no" in str(caught.value)
    assert "correct datasets: other: path:" in str(caught.value)
