"""What README and docs state about data and results, beside the blocks of tools/readme_numbers.py: worked out anew."""

from __future__ import annotations

import numpy as np
import pandas as pd
import yaml
from helpers import ROOT

from replirank import methods
from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.evaluation.per_dataset import metrics_of
from replirank.metrics.per_query import evaluate, fold_mean
from replirank.training import train

REFERENCE = ROOT / "docs/reference"
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())


def words(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


README, DEVIATIONS = words("README.md"), words("docs/deviations.md")
NUMBERS = {20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three", 24: "twenty-four", 25: "twenty-five"}


def test_the_figure_of_ndcg_has_as_many_methods_as_readme_says():
    letor = CONFIG["papers"]["letor"]
    assert len(letor["datasets"]) == 4
    assert f"of {NUMBERS[len(letor['methods'])]} methods on four data sets" in README


def test_half_of_mq2008s_lists_are_shorter_than_9():
    data = pd.read_csv(REFERENCE / "letor/data.csv").set_index("data set")
    median = float(data.loc["MQ2008", "documents per query"].rpartition(" ")[2])
    assert median < 9
    assert "half of MQ2008's lists are shorter than 9" in README


def test_one_name_has_several_metrics(real_data):
    """Least squares on MQ2008: NDCG@10 in three conventions."""
    dataset = prepare(spec("mq2008"), source=real_data("mq2008"), report=lambda text: None).dataset
    trained = train(
        dataset, methods.find("regression"), grid={}, convention="letor4", select_by="map", seed=1,
        names=("mq2008", "regression"), splits=["test"], report=lambda text: None,
    )  # fmt: skip
    rows = metrics_of(dataset, trained.scored, {"method": "regression"})
    columns = [f"{name}.ndcg@10" for name in ("letor4", "burges", "standard")]
    letor4, burges, standard = (f"{value:.2f}".lstrip("0") for value in fold_mean(rows, columns, ["method"]).iloc[0])
    assert f"an NDCG@10 of {letor4} (`letor4`), {burges} (`burges`) or {standard} (`standard`)" in README


def test_the_derived_lists_are_as_deviations_say(real_data):
    """Documents that share a value with another of their query, and how near other features are to the order."""
    dataset = prepare(spec("td2003"), source=real_data("td2003"), report=lambda text: None).dataset
    data = dataset.data

    def left(feature: int) -> np.ndarray:
        """Which documents share their value of this feature with no other of their query."""
        kept = []
        for rows in data:
            values = pd.Series(data.features[rows.start : rows.stop, feature - 1])
            kept.append(~values.duplicated(keep=False).to_numpy())
        return np.concatenate(kept)

    def distance(feature: int, other: int) -> float:
        """Kendall tau, a distance, of one feature to the order of the other, over queries."""
        kept, taus = left(other), []
        for rows in data:
            here = np.arange(rows.start, rows.stop)[kept[rows.start : rows.stop]]
            labels = data.features[here, other - 1].argsort().argsort().astype(float)
            metrics = evaluate(data.features[here, feature - 1].astype(float), labels, np.array([0, len(here)]))
            taus.append(float(metrics["kendall_tau"].iloc[0]))
        return float(np.mean(taus))

    counts = {feature: int(left(feature).sum()) for feature in (25, 30, 35, 40)}
    assert counts[30] == max(counts.values())
    assert f"leaves {counts[30]:,} of {data.documents:,}" in DEVIATIONS
    assert f"(BM25 would leave {counts[25]:,})" in DEVIATIONS
    assert "LMIR.ABS of the body, is at a Kendall tau of " + f"{distance(26, 30):.3f}".lstrip("0") in DEVIATIONS
    nearest = min(distance(feature, 25) for feature in (41, 42))
    assert "propagated along the sitemap, at " + f"{nearest:.3f}".lstrip("0") in DEVIATIONS


def test_mq2008_list_is_simulated_with_an_eighth_of_its_queries():
    assert 8 * CONFIG["datasets"]["mq2008_list"]["simulate"]["queries"] == spec("mq2008_list").queries
    assert "has 98 queries in `make reproduce`, an eighth of the real one's" in DEVIATIONS


def test_mq2007_has_about_1015_training_queries():
    table = pd.read_csv(REFERENCE / "frank2007/table2.csv").set_index("split")
    assert f"about {table.loc['train', 'queries']:,.0f} training queries" in DEVIATIONS


def test_tuned_bm25_is_worse_than_plain_bm25_on_trec():
    gains = pd.read_csv(REFERENCE / "frank2007/gains.csv").set_index(["data set", "system"])
    tuned = gains.loc[("TD2003 in 4 folds", "BM25, tuned")].filter(like="over BM25 %")
    assert (tuned < 0).all()
    assert "On test queries the field so chosen is worse than the whole document with all 64 features" in DEVIATIONS


def test_svm_maps_c_is_at_the_upper_end_on_most_lists_in_strict_order():
    for name, title in (("edges", "TD2003 lists"), ("edges_simulated", "MQ2008-list")):
        table = pd.read_csv(REFERENCE / f"diffrank2011/{name}.csv")
        [row] = table[(table["method"] == "SVM-MAP") & (table["data sets"] == title)].to_dict("records")
        assert 2 * row["at the largest"] > row["folds"]
    assert "C is at the upper end of its grid in most folds of the lists in strict order" in DEVIATIONS


def test_energyndcg2011s_columns_are_letors_but_for_adarank_map():
    """To the third digit, of which the paper cut or rounded the last."""
    printed = yaml.safe_load((ROOT / "src/replirank/papers/energyndcg2011/paper.yaml").read_text())["printed"]["table1"]
    sheet = pd.read_csv(ROOT / "src/replirank/papers/letor/letor3.csv").query(
        "dataset == 'OHSUMED' and split == 'test'"
    )
    letor = sheet[sheet["fold"] == "mean"].set_index("algorithm")[[f"ndcg@{k}" for k in range(1, 11)]]
    rows = {
        "adarank_map": "AdaRank-MAP", "adarank_ndcg": "AdaRank-NDCG", "listnet": "ListNet", "ranksvm": "RankSVM",
        "rankboost": "RankBoost", "frank": "FRank", "regression": "Regression",
    }  # fmt: skip
    far = {method: float(np.abs(letor.loc[row] - printed[method]).max()) for method, row in rows.items()}
    assert [method for method, gap in far.items() if gap >= 0.001] == ["adarank_map"], far
    assert "The paper's AdaRank-MAP column is not LETOR's." in README
    assert "agrees with LETOR's sheet, except AdaRank-MAP's" in DEVIATIONS


def test_the_polynomials_second_reading_and_updates_by_pair_are_quoted_as_in_the_tables():
    table, updates = (pd.read_csv(REFERENCE / f"ranknet2005/{name}.csv") for name in ("table1", "table1_updates"))
    rows = table[table["task"].str.contains("hypothesis") & (table["net"] == "linear")]
    ours, printed = (" / ".join(f"{value:.2f}" for value in rows[column]) for column in ("ours", "paper"))
    spread = f"{rows['sd'].min():.2f} to {rows['sd'].max():.2f}"
    assert f"five draws: {ours} (print: {printed}; spread over draws {spread})" in DEVIATIONS
    first = rows.iloc[0]
    assert 2 <= first["difference"] / first["sd"] < 3
    gains = updates.set_index(["net", "train size"])["pair - query"]
    assert gains["linear"].abs().max() <= 0.05
    two = updates[updates["net"] == "two-layer"].set_index("pair - query")
    named = sorted(two.index[two.index > 0.1])
    assert [f"{value:.2f}" for value in named] == ["0.19", "0.32", "0.75"]
    assert two.index[two.index <= 0.1].to_series().abs().max() < 0.095
