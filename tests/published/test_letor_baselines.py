"""Numbers that were printed for public data, through the whole pipeline, from the archive to the table."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from replirank.metrics.per_query import fold_mean

# LETOR 4.0's result file for RankSVM-Struct on MQ2008, test set, folds 1 to 5.
STRUCT_NDCG5 = [0.4469, 0.4224, 0.4452, 0.5290, 0.5042]
STRUCT_MAP = [0.4502, 0.4213, 0.4529, 0.5284, 0.4950]


@pytest.fixture(scope="module")
def results(real_data, snakemake, tmp_path_factory):
    real_data("ohsumed")
    real_data("mq2008")
    folder = tmp_path_factory.mktemp("published") / "run"
    methods = ["bm25", "regression", "ranksvm", "listnet", "ranknet_two_layer"]
    methods += ["rankboost", "frank", "adarank_map", "adarank_ndcg"]
    letor = {"datasets": ["ohsumed", "mq2008"], "methods": methods}
    config = {"run": ["letor"], "papers": {"letor": letor}, "flips": 1000, "on_missing": "fail"}
    snakemake(folder, config=config, quick=False)
    return folder / "results"


def test_least_squares_on_ohsumed_is_the_published_regression_row(results):
    """The keystone: data, folds, evaluator and averaging together."""
    table = pd.read_csv(results / "tables/letor/ohsumed.csv").set_index("method").loc["Regression"]
    assert table["data"] == "real"
    for metric, published in {"NDCG@3": 0.4426, "NDCG@5": 0.4278, "NDCG@10": 0.4110, "MAP": 0.4220}.items():
        assert round(table[metric], 4) == published == table[f"{metric} published"]
        assert abs(table[f"{metric} difference"]) < 0.00005


def test_ranksvm_on_mq2008_agrees_with_letors_ranksvm_struct_fold_by_fold(results):
    metrics = pd.read_parquet(results / "metrics.parquet")
    ours = metrics.query("dataset == 'mq2008' and method == 'ranksvm' and split == 'test'")
    folds = ours.groupby("fold")[["letor4.ndcg@5", "letor4.map"]].mean()
    for column, published in (("letor4.ndcg@5", STRUCT_NDCG5), ("letor4.map", STRUCT_MAP)):
        assert folds[column].tolist() == pytest.approx(published, abs=0.012)
        assert folds[column].mean() == pytest.approx(sum(published) / 5, abs=0.005)


def test_ranksvm_on_ohsumed_reaches_its_level(results):
    metrics = pd.read_parquet(results / "metrics.parquet").query("split == 'test'")
    mean = fold_mean(metrics, ["letor3.ndcg@10"], ["dataset", "method"])
    assert mean.loc[("ohsumed", "ranksvm"), "letor3.ndcg@10"] >= 0.44


def test_the_bm25_columns_behave_as_bm25_does(results):
    """Column meanings are from memory of the LETOR papers: a good single feature, worse than what is learned."""
    metrics = pd.read_parquet(results / "metrics.parquet").query("split == 'test'")
    mean = fold_mean(metrics, ["pairwise_correct"], ["dataset", "method"])["pairwise_correct"]
    for dataset in ("ohsumed", "mq2008"):
        assert 0.55 < mean[dataset, "bm25"] < mean[dataset, "ranksvm"]


def test_the_cards_say_that_these_are_the_original_bytes(results):
    for dataset in ("ohsumed", "mq2008"):
        card = json.loads((results / f"data/{dataset}/card.json").read_text())
        assert (card["origin"], card["original_bytes"]) == ("real", True)


def test_listnet_is_at_letors_level(results):
    """Within .02 of LETOR's rows: .441 on OHSUMED, .4747 and .4775 on MQ2008."""
    ohsumed = pd.read_csv(results / "tables/letor/ohsumed.csv").set_index("method").loc["ListNet"]
    assert ohsumed["NDCG@10"] == pytest.approx(0.441, abs=0.02)
    mq2008 = pd.read_csv(results / "tables/letor/mq2008.csv").set_index("method").loc["ListNet"]
    assert mq2008["NDCG@5"] == pytest.approx(0.4747, abs=0.02)
    assert mq2008["MAP"] == pytest.approx(0.4775, abs=0.02)


def test_the_two_layer_ranknet_reaches_the_level_of_letors_better_baselines(results):
    table = pd.read_csv(results / "tables/letor/ohsumed.csv").set_index("method")
    assert table.loc["RankNet, two-layer", "NDCG@10"] >= 0.43


# LETOR 3.0's rows for OHSUMED: NDCG@10 and MAP.
OHSUMED = {
    "RankBoost": (0.430, 0.441),
    "FRank": (0.443, 0.444),
    "AdaRank-NDCG": (0.450, 0.450),
    "AdaRank-MAP": (0.443, 0.449),
}


@pytest.mark.parametrize("method", OHSUMED)
def test_boosting_on_ohsumed_is_at_letors_level(results, method):
    row = pd.read_csv(results / "tables/letor/ohsumed.csv").set_index("method").loc[method]
    ndcg, average_precision = OHSUMED[method]
    if method == "RankBoost":  # may be better
        assert row["NDCG@10"] >= ndcg - 0.015
    else:
        assert row["NDCG@10"] == pytest.approx(ndcg, abs=0.015)
    assert row["MAP"] == pytest.approx(average_precision, abs=0.015)


# LETOR 4.0's result files for MQ2008, mean over folds. AdaRank-NDCG's NDCG@5 is not reached: see docs/deviations.md.
MQ2008 = [
    ("RankBoost", "NDCG@5", 0.4666),
    ("RankBoost", "MAP", 0.4775),
    ("AdaRank-MAP", "NDCG@5", 0.4794),
    ("AdaRank-MAP", "MAP", 0.4764),
    ("AdaRank-NDCG", "MAP", 0.4824),
]


@pytest.mark.parametrize(("method", "metric", "published"), MQ2008)
def test_boosting_on_mq2008_is_at_letors_level(results, method, metric, published):
    row = pd.read_csv(results / "tables/letor/mq2008.csv").set_index("method").loc[method]
    assert row[metric] == pytest.approx(published, abs=0.015)
    assert row[f"{metric} published"] == published


@pytest.mark.parametrize("dataset", ["ohsumed", "mq2008"])
def test_the_fidelity_loss_falls_in_every_round(results, dataset):
    history = pd.read_csv(results / f"history/letor/{dataset}/frank.csv")
    assert history.groupby("fold").size().tolist() == [300] * 5
    assert (history.groupby("fold")["loss"].diff().dropna() < 0).all()
