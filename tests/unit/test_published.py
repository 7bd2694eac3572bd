"""Published values: LETOR's own sheets first, then what papers reported."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
import yaml
from helpers import ROOT

from replirank.errors import ReplirankError
from replirank.reporting.published import published_values, read_sheets

ROOM = ROOT / "src/replirank/papers/letor"
SHARED = ROOT / "../shared/published"
PAPER = {
    "sheets": [{"file": "sheet.csv", "convention": "letor3", "source": "the makers", "methods": {"ols": "Regression"}}],
    "published": [
        {
            "dataset": "ohsumed",
            "method": "ols",
            "as": "Least squares",
            "convention": "letor3",
            "values": {"map": 0.9, "ndcg@10": 0.7},
            "source": "a later paper",
        }
    ],
}


@pytest.fixture
def folder(tmp_path) -> Path:
    lines = ["dataset,algorithm,split,fold,map", "OHSUMED,Regression,test,mean,0.5", "OHSUMED,Regression,train,1,0.6"]
    (tmp_path / "sheet.csv").write_text("\n".join([*lines, "OHSUMED,Other,test,mean,0.1"]) + "\n")
    return tmp_path


def test_a_sheets_value_stands_before_a_later_papers(folder):
    sheet, later = published_values(PAPER, read_sheets(PAPER, folder))
    assert (sheet.dataset, sheet.method, sheet.printed_as, sheet.source) == (
        "ohsumed", "ols", "Regression", "the makers"
    )  # fmt: skip
    assert sheet.values == {"map": 0.5}
    assert later.values == {"ndcg@10": 0.7}
    assert later.printed_as == "Least squares"


def test_a_sheet_has_a_row_for_each_value_of_our_methods(folder):
    sheets = read_sheets(PAPER, folder)
    assert sheets[["split", "fold", "metric", "value"]].to_dict("records") == [
        {"split": "test", "fold": "mean", "metric": "map", "value": 0.5},
        {"split": "train", "fold": "1", "metric": "map", "value": 0.6},
    ]


def test_an_unknown_metric_in_a_sheet_names_the_file(folder):
    path = folder / "sheet.csv"
    path.write_text(path.read_text().replace("map", "mpa"))
    with pytest.raises(ReplirankError, match="unknown metric 'mpa'") as caught:
        read_sheets(PAPER, folder)
    assert caught.value.path == path


def test_without_sheets_there_is_what_the_papers_say():
    paper = {"published": PAPER["published"]}
    [later] = published_values(paper, read_sheets(paper, Path()))
    assert later.values == {"map": 0.9, "ndcg@10": 0.7}


def test_letors_sheets_are_twelve_algorithms_on_seven_data_sets():
    sheet = pd.read_csv(ROOM / "letor3.csv")
    assert sheet.groupby("dataset")["algorithm"].nunique().tolist() == [12] * 7
    # A mean over five folds, of values with four decimals, has an error of at most 0.0001.
    values = sheet.drop(columns=["dataset", "algorithm", "split", "fold"]).columns
    fitted = sheet[sheet["split"] != "test"]
    of_folds = fitted[fitted["fold"] != "mean"].groupby(["dataset", "algorithm", "split"])[list(values)].mean()
    means = fitted[fitted["fold"] == "mean"].set_index(["dataset", "algorithm", "split"])[list(values)]
    off = (of_folds - means).abs().stack()
    assert (off > 0.000101).sum() == 0, off[off > 0.000101]


def test_the_rows_that_ours_are_held_against_are_letors():
    paper = yaml.safe_load((ROOM / "paper.yaml").read_text())
    values = {(row.dataset, row.method): row for row in published_values(paper, read_sheets(paper, ROOM))}
    assert values["ohsumed", "regression"].values["ndcg@10"] == 0.4110
    assert values["td2003", "ranksvm"].printed_as == "RankSVM-Struct"
    assert values["td2003", "ranksvm"].values["map"] == 0.2713
    assert values["mq2008", "adarank_map"].values["mean_ndcg"] == 0.4915
    # AdaRank with each feature once is no row of LETOR's.
    assert not {method for _, method in values} & {"adarank_map_once", "adarank_ndcg_once"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published sheets are not beside this clone")
def test_the_sheets_are_those_that_were_published():
    assert (ROOM / "letor3.csv").read_bytes() == (SHARED / "letor3/letor3_official.csv").read_bytes()
    with open(ROOM / "letor4_mq2008.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    splits = {"test": "testing", "vali": "validation", "train": "training"}
    for row in rows:
        text = (SHARED / f"letor4/{row['algorithm']}.MQ2008.txt").read_text()
        block = text.partition(f"Performance on {splits[row['split']]} set")[2].partition("Performance")[0]
        numbers = [line.split()[1:] for line in block.splitlines() if len(line.split()) == 12]
        ndcg, precision = numbers[1:7], numbers[8:14]  # each under a header: five folds and their mean
        place = 5 if row["fold"] == "mean" else int(row["fold"]) - 1
        assert [row[f"ndcg@{k}"] for k in range(1, 11)] + [row["mean_ndcg"]] == ndcg[place]
        assert [row[f"p@{k}"] for k in range(1, 11)] + [row["map"]] == precision[place]
    assert len(rows) == 4 * 3 * 6
