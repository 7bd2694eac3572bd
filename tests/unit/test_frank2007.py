"""frank2007's tables and figures from made-up evidence, and the numbers typed from the paper."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT
from scipy.stats import ttest_rel

from replirank.data.columns import FRANK_FEATURES
from replirank.data.specs import SPECS
from replirank.papers.frank2007.figures import FIGURES
from replirank.papers.frank2007.sizes import ALL, smaller_sizes
from replirank.papers.frank2007.tables import TABLES, by_size, chosen_steps
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol
from replirank.reporting.tables import markdown

PAPER = yaml.safe_load((ROOT / "src/replirank/papers/frank2007/paper.yaml").read_text())
PRINTED = PAPER["printed"]
METHODS = [
    "frank",
    "ranknet_two_layer",
    "rankboost",
    "ranknet_linear",
    "ranksvm",
    "bm25_pagerank",
    "bm25_pagerank_fixed",
    "bm25",
    "bm25_tuned",
]
# In the paper's order where it has one.
LEVELS = dict(zip(METHODS, (0.8, 0.75, 0.7, 0.65, 0.6, 0.5, 0.45, 0.4, 0.35), strict=True))
ROLES = {"web": "set", "trec": "td2003_4", "trec_14": "td2003_4_14"}
DATASETS = list(ROLES.values())
ENTRY = {"title": "T", "role": "trec_14"}
SIZES = smaller_sizes([row["queries"] for row in PRINTED["table5"]])
DRAWS = 3
QUERIES = 8


def waver(method: str, query: int) -> float:
    return (0.1 if query % 2 else -0.1) * (1 + METHODS.index(method) / 10)


def metric_rows(dataset: str, origin: str, levels: dict[str, float], split: str) -> list[dict]:
    """Two folds of four queries; every metric is the method's level, give or take by turns, and .01 for each k.

    Methods differ a little in how much they waver, since differences that are all the same have no t-test.
    """
    columns = ["map", *(f"{name}@{k}" for name in ("ndcg", "p") for k in range(1, 11))]
    return [
        {
            "dataset": dataset,
            "origin": origin,
            "method": method,
            "fold": 1 + (query >= QUERIES / 2),
            "split": split,
            "query": query,
            **{f"burges.{name}": level + waver(method, query) + 0.01 * place for place, name in enumerate(columns)},
        }
        for method, level in levels.items()
        for query in range(QUERIES)
    ]


def history(step: str, rises: bool = False) -> pd.DataFrame:
    """Two folds, two grid points of which the second is chosen; validation is best at 3 in fold 1, at 5 in fold 2."""
    rows = []
    for fold, best in ((1, 3), (2, 5)):
        for point in (1, 2):
            for number in range(1, 7):
                loss = 1 / number if not rises or number < 6 else 1.0
                validation = 0.5 - 0.01 * abs(number - best) if point == 2 else 0.1 * number
                ndcg = {"training_ndcg": 0.1 * number} if step == "round" else {}
                place = {"fold": fold, "point": point, "chosen": point == 2, step: number}
                rows.append({**place, "loss": loss, **ndcg, "validation": validation})
    return pd.DataFrame(rows)


def made_up(folder, origin: str, levels: dict[str, float] = LEVELS, rises: bool = False) -> Evidence:
    paths = []
    for method in (method for method in PRINTED["table6"] if method in levels):
        for draw in range(1, DRAWS + 1):
            rows = [
                {
                    "method": method,
                    "draw": draw,
                    "twelfths": twelfths,
                    "fold": fold,
                    "queries": 10 * twelfths,
                    "documents": 100 * twelfths + fold,
                    "pairs": 1000 * twelfths,
                    # .1 below its level at the least size, and .01 from draw to draw
                    "test": levels[method] - 0.1 / twelfths + 0.01 * draw if twelfths != ALL else None,
                }
                for twelfths in (*SIZES, ALL)
                for fold in (1, 2)
            ]
            paths.append(folder / f"{method}_{draw}.csv")
            pd.DataFrame(rows).to_csv(paths[-1], index=False)
    sizes = {"train": (10, 100), "vali": (5, 50), "test": (5, 60)}
    folds = [{split: {"queries": q, "documents": d} for split, (q, d) in sizes.items()}] * 2
    histories = {"frank": history("round", rises), "rankboost": history("round")}
    histories |= {"ranknet_two_layer": history("epoch"), "ranknet_linear": history("epoch")}
    weights = (0.1, 0.25)
    return Evidence(
        protocol=Protocol(
            paper="frank2007",
            roles=ROLES,
            methods=list(levels),
            conventions=dict.fromkeys(DATASETS, "burges"),
            select_by="ndcg@10",
            splits=["vali", "test"],
            draws=DRAWS,
        ),
        paper=PAPER,
        seed=1,
        flips=100,
        titles={method: method.upper() for method in METHODS},
        metrics=pd.DataFrame([row for dataset in DATASETS for row in metric_rows(dataset, origin, levels, "test")]),
        cards={
            dataset: {
                "title": dataset.upper(),
                "origin": origin,
                "folds": folds,
                "note": "",
                "features": 14 if dataset.endswith("14") else 64,
            }
            for dataset in DATASETS
        },
        choices={
            (dataset, method): [
                {
                    "fold": fold,
                    "chosen": {"weight": weight} if method == "bm25_pagerank" else {},
                    "validation": levels[method] + 0.1 * fold,
                    "tried": [{}],
                    "seconds": 1.0,
                }
                for fold, weight in zip((1, 2), weights, strict=True)
            ]
            for dataset in DATASETS
            for method in levels
        },
        history={
            (dataset, method): frame for dataset in DATASETS for method, frame in histories.items() if method in levels
        },
        needs=paths,
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Evidence:
    return made_up(tmp_path_factory.mktemp("real"), "rebuilt")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> Evidence:
    return made_up(tmp_path_factory.mktemp("simulated"), "simulated")


# What was typed


def test_the_printed_tables_are_consistent_with_the_papers_text():
    """Its sentences on its own numbers, where a typing error would show."""
    table4, table6 = PRINTED["table4"], PRINTED["table6"]
    for k in range(10):  # "FRank outperforms the other ranking algorithms from NDCG@1 to NDCG@10"
        column = [values[k] for values in table4.values()]
        assert column == sorted(column, reverse=True)
        assert len(set(column)) >= 5
    for method in ("frank", "ranknet_two_layer", "ranknet_linear"):  # 12,000 queries are those of Table 4
        assert table6[method][-1] == table4[method][9]
    for size in range(5):
        others = [values[size] for method, values in table6.items() if method != "frank" and values[size] is not None]
        assert table6["frank"][size] > max(others)
    assert table6["rankboost"][4] < table6["rankboost"][3]  # "sometimes even decreases (e.g. RankBoost)"
    assert table6["ranksvm"][3:] == [None, None]
    assert [row["queries"] for row in PRINTED["table5"]] == [1000, 2000, 4000, 8000, 12_000]
    assert SIZES == [1, 2, 4, 8]
    assert PRINTED["table5"][-1]["documents"] == PRINTED["table2"]["train"]["documents"]
    ndcg = [values["ndcg"] for values in PRINTED["table3"].values()]
    assert ndcg == sorted(ndcg, reverse=True)


def test_the_14_columns_of_table1_are_those_of_the_data_set():
    columns = [number - 1 for numbers in FRANK_FEATURES.values() for number in numbers]
    assert columns == list(SPECS["td2003_4_14"].keep)
    assert {feature: len(numbers) for feature, numbers in FRANK_FEATURES.items()} == PRINTED["table1"]


# What is made of it


def test_table1_names_the_columns(real):
    table = TABLES["table1"](ENTRY, real).frame.set_index("feature")
    assert table["number"].sum() == table["number, paper"].sum() == 14
    assert table.loc["PageRank", "LETOR's columns"] == "51"


def test_figure3s_numbers_are_means_over_folds_for_both_sets_of_features(real):
    table = TABLES["trec"](ENTRY, real)
    assert table.frame["features"].tolist() == [64] * 7 + [14] * 7
    row = table.frame.query("features == 14 and system == 'FRANK'").iloc[0]
    assert row["MAP"] == pytest.approx(0.8)  # wavering cancels
    assert row["NDCG@10"] == pytest.approx(0.8 + 10 * 0.01)
    for base, level in (("BM25", 0.4), ("BM25_TUNED", 0.35)):
        gain = 100 * (0.8 / level - 1)
        assert any(f"MAP over {base}'s {level:.3f}: FRANK {gain:+.0f}%" in note for note in table.notes)
    assert any("the best is FRANK." in note for note in table.notes)


def test_gains_are_over_plain_and_over_tuned_bm25(real):
    table = TABLES["gains"](ENTRY, real)
    assert table.frame.groupby("data set").size().to_dict() == {"SET": 6, "TD2003_4": 6, "TD2003_4_14": 6}
    row = table.frame.query("`data set` == 'TD2003_4' and system == 'RANKSVM'").iloc[0]
    assert row["MAP over BM25 %"] == pytest.approx(100 * (0.6 / 0.4 - 1))
    assert row["MAP over BM25_TUNED %"] == pytest.approx(100 * (0.6 / 0.35 - 1))
    assert row["NDCG@1 over BM25 %"] == pytest.approx(100 * (0.61 / 0.41 - 1))
    tuned = table.frame.query("`data set` == 'TD2003_4' and system == 'BM25_TUNED'").iloc[0]
    assert tuned["MAP over BM25 %"] == pytest.approx(-12.5)  # tuned may be worse
    assert np.isnan(tuned["MAP over BM25_TUNED %"])
    assert "MAP on TD2003_4 (rebuilt): BM25 0.4000, BM25_TUNED 0.3500." in table.notes


def test_the_order_of_all_systems_is_told_at_every_cut(tmp_path):
    turned = {**LEVELS, "ranknet_linear": 0.85, "rankboost": 0.8}
    table = TABLES["orders"](ENTRY, made_up(tmp_path, "rebuilt", turned)).frame
    web = table[table["data set"] == "SET"]
    assert web["metric"].tolist() == [f"NDCG@{k}" for k in range(1, 11)]
    assert set(web["order"]) == {
        "RANKNET_LINEAR > FRANK = RANKBOOST > RANKNET_TWO_LAYER > BM25_PAGERANK > BM25",
    }
    theirs = web["order, paper (its own data)"]
    assert theirs.iloc[0] == "FRANK > RANKNET_TWO_LAYER > RANKBOOST > RANKNET_LINEAR > BM25_PAGERANK > BM25"
    # Of 15: the linear net is ahead of three that the paper has before it, RankBoost of one, and as good as FRank.
    assert set(web["pairs in the paper's order"]) == {"10 of 15"}
    assert set(web["FRank's place among the learned"]) == {2}
    assert set(web["of"]) == {4}
    trec = table[table["data set"] == "TD2003_4"]
    assert trec["metric"].tolist() == ["MAP", *(f"{name}@{k}" for name in ("P", "NDCG") for k in range(1, 11))]
    assert set(trec["of"]) == {5}
    assert trec["order"].iloc[0].endswith("BM25 > BM25_TUNED")
    said = trec.set_index("metric")["order, paper (its own data)"]
    assert said[["MAP", "P@7", "NDCG@1", "NDCG@3"]].tolist() == ["FRank first"] * 4
    assert said[["NDCG@2", "NDCG@10"]].isna().all()


def test_table3_has_the_steps_that_validation_chose(real):
    table = TABLES["table3"](ENTRY, real)
    row = table.frame.set_index("system").loc["FRANK"]
    assert (row["parameter"], row["chosen"], row["least"], row["most"]) == ("weak learners", (3 + 5) / 2, 3, 5)
    assert row["validation NDCG@10"] == pytest.approx(0.8 + (0.1 + 0.2) / 2)
    assert row["chosen, paper (its own data)"] == 271
    assert table.frame.set_index("system").loc["RANKNET_LINEAR", "parameter"] == "epochs"


def test_the_rounds_that_boosting_had_and_what_they_did_to_ndcg_are_told(real):
    """Losses 1, 1/2, ... 1/6 in six of FRank's 300 rounds; NDCG@10 rises with each."""
    table = TABLES["loss"](ENTRY, real).frame
    assert len(table) == 2 * len(DATASETS)
    row = table.iloc[0]
    assert (row["rounds"], row["rounds allowed"]) == (6, 300)  # it ended early
    assert (row["loss after 1"], row["loss after all"]) == pytest.approx((1, 1 / 6))
    assert row["least fall"] == pytest.approx(1 - 5 / 6)
    assert row["training NDCG@10 fell in"] == 0
    assert row["Spearman of loss and NDCG@10"] == pytest.approx(-1)


def test_a_loss_that_rises_and_an_ndcg_that_falls_are_told(tmp_path):
    risen = made_up(tmp_path, "rebuilt", rises=True)
    for frame in risen.history.values():
        if "training_ndcg" in frame:
            frame.loc[frame["round"] == 6, "training_ndcg"] = 0.1
    row = TABLES["loss"](ENTRY, risen).frame.iloc[0]
    assert row["least fall"] == pytest.approx(1 - 1.0 / (1 / 5))  # from 1/5 to 1
    assert row["training NDCG@10 fell in"] == 1
    assert row["Spearman of loss and NDCG@10"] == pytest.approx(-1)  # rounds 5 and 6: up, down


def test_the_chosen_step_is_the_first_of_the_best():
    frame = history("round")
    frame.loc[frame["round"] == 6, "validation"] = frame.loc[frame["chosen"], "validation"].max()
    assert chosen_steps(frame, "ndcg@10").tolist() == [3, 5]
    turned = frame.assign(validation=1 - frame["validation"])  # as a distance, whose smallest value is the best
    assert chosen_steps(turned, "kendall_tau").tolist() == [3, 5]


def test_table4_has_ours_beside_the_papers_and_counts_orders(real):
    table = TABLES["table4"](ENTRY, real)
    assert table.frame["NDCG@"].tolist() == list(range(1, 11))
    assert table.frame["FRANK, paper"].tolist() == PRINTED["table4"]["frank"]
    assert "BM25_PAGERANK_FIXED" in table.frame
    assert "BM25_PAGERANK_FIXED, paper" not in table.frame
    assert np.diff(table.frame["FRANK"]) == pytest.approx([0.01] * 9)
    for k in range(1, 11):
        assert f"15 of 15 pairs of systems have the paper's order at NDCG@{k}." in table.notes
    assert "PageRank's weight, as validation chose it: 0.1, 0.25." in table.notes


def test_the_t_test_is_scipys(real):
    row = TABLES["ttest"](ENTRY, real).frame.set_index("metric").loc["NDCG@5"]
    rows = real.metrics.query("dataset == 'set'").pivot(index="query", columns="method", values="burges.ndcg@5")
    assert row["queries"] == QUERIES
    assert row["A - B"] == pytest.approx(0.8 - 0.75)
    expected = ttest_rel(rows["frank"], rows["ranknet_two_layer"]).pvalue
    assert row["t-test p"] == pytest.approx(expected, abs=1e-12)
    assert row["paper (its own data) p"] == 0.007
    assert row["A - B, paper (its own data)"] == pytest.approx(0.698 - 0.692)


def test_table5_counts_what_is_learned_from(real):
    table = TABLES["table5"](ENTRY, real).frame
    assert table["part"].tolist() == ["1/12", "2/12", "4/12", "8/12", "12/12"]
    assert table["queries"].tolist() == [10, 20, 40, 80, 120]
    assert table["documents"].tolist() == [round(100 * part + 1.5) for part in (1, 2, 4, 8, 12)]
    assert table["pairs, paper (its own data)"].tolist() == [row["pairs"] for row in PRINTED["table5"]]


def test_table6_is_mean_and_spread_over_draws_and_the_usual_result_at_full_size(real):
    table = TABLES["table6"](ENTRY, real)
    frame = table.frame.set_index("part")
    assert frame.loc["2/12", "FRANK"] == pytest.approx(0.8 - 0.1 / 2 + 0.01 * (1 + 2 + 3) / 3)
    assert frame.loc["2/12", "FRANK sd"] == pytest.approx(np.std([0.01, 0.02, 0.03], ddof=1))
    usual = TABLES["table4"](ENTRY, real).frame.set_index("NDCG@").loc[10, "FRANK"]
    assert frame.loc["12/12", "FRANK"] == pytest.approx(usual)
    assert np.isnan(frame.loc["12/12", "FRANK sd"])
    assert frame["RANKSVM, paper"].isna().tolist() == [False, False, False, True, True]
    assert "FRank is the best of 5 at 5 of 5 sizes; in the paper it is at all." in table.notes
    assert any("from 8,000 queries (1,648,314 pairs) on" in note for note in table.notes)
    assert any("12,000 pairs, which are listed one by one" in note for note in table.notes)
    assert any("over 3 draws" in note for note in table.notes)


def test_the_note_on_ranksvm_says_how_its_pairs_were_summed(real, monkeypatch):
    monkeypatch.setattr("replirank.papers.frank2007.tables.MOST_LISTED", 12_000)
    notes = TABLES["table6"](ENTRY, real).notes
    assert any("12,000 pairs, which are counted by sorting, as from 12,000." in note for note in notes)


def test_sizes_are_counted_for_each_method_once(real):
    found = by_size(real)
    assert len(found) == 5 * len(PRINTED["table6"])
    assert not found.duplicated(["method", "twelfths"]).any()


OF_RESULTS = ["table1", "trec", "gains", "orders", "loss", "table2", "table3", "table4", "ttest", "table5", "table6"]


@pytest.mark.parametrize("kind", OF_RESULTS)
def test_simulated_data_has_nothing_of_the_paper_beside_it(simulated, kind):
    table = TABLES[kind](ENTRY, simulated)
    words = ("paper", "published", "printed", "difference")
    assert not [column for column in table.frame if any(word in column for word in words)]
    assert set(table.frame["data"]) == {"simulated"}
    assert "SIMULATED" in markdown(table)


@pytest.mark.parametrize("kind", OF_RESULTS)
def test_a_run_of_fewer_methods_has_its_tables(tmp_path, kind):
    table = TABLES[kind](ENTRY, made_up(tmp_path, "rebuilt", {"frank": 0.5, "bm25": 0.4}))
    assert "data" in table.frame


def test_a_system_that_does_not_support_a_data_set_has_dashes_and_is_in_no_test(real):
    missing = [("set", "ranknet_two_layer"), ("td2003_4", "bm25_tuned")]
    rows = pd.MultiIndex.from_frame(real.metrics[["dataset", "method"]])
    given = replace(
        real,
        metrics=real.metrics[~rows.isin(missing)],
        choices={run: folds for run, folds in real.choices.items() if run not in missing},
        history={run: frame for run, frame in real.history.items() if run not in missing},
        unsupported=dict.fromkeys(missing, "too large"),
    )
    table4 = TABLES["table4"](ENTRY, given)
    assert table4.frame["RANKNET_TWO_LAYER"].isna().all()
    assert "10 of 10 pairs of systems have the paper's order at NDCG@10." in table4.notes  # of 15
    assert "RANKNET_TWO_LAYER on SET: too large." in table4.notes
    assert TABLES["ttest"](ENTRY, given).frame.empty
    assert TABLES["table3"](ENTRY, given).frame["system"].tolist() == ["FRANK", "RANKBOOST", "RANKNET_LINEAR"]
    trec = TABLES["trec"](ENTRY, given)
    plain = trec.frame.query("system == 'BM25_TUNED'").set_index("features")["MAP"]
    assert plain.isna().to_dict() == {64: True, 14: False}
    # Nothing can be said about gains over what is not there.
    assert not any("TD2003_4 (rebuilt): MAP over BM25_TUNED" in note for note in trec.notes)
    assert any("TD2003_4_14 (rebuilt): MAP over BM25_TUNED" in note for note in trec.notes)
    gains = TABLES["gains"](ENTRY, given).frame.set_index(["data set", "system"])
    assert gains["MAP over BM25_TUNED %"].isna().groupby("data set").all().to_dict() == {
        "SET": False, "TD2003_4": True, "TD2003_4_14": False
    }  # fmt: skip
    orders = TABLES["orders"](ENTRY, given).frame
    assert "RANKNET_TWO_LAYER" not in orders["order"].iloc[0]
    assert orders["pairs in the paper's order"].iloc[0] == "10 of 10"


def test_without_the_14_features_there_is_one_set_of_trec_data(real):
    roles = {role: dataset for role, dataset in ROLES.items() if role != "trec_14"}
    given = replace(real, protocol=replace(real.protocol, roles=roles))
    assert set(TABLES["trec"](ENTRY, given).frame["features"]) == {64}


# Figures: what is drawn, for how it looks see docs/reference


def lines(axis) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in axis.get_lines()}


def test_figure1_shows_both_losses(real):
    figure = FIGURES["figure1"](ENTRY, real)
    left, right = (lines(axis) for axis in figure.axes)
    half = r"$P^*_{ij} = 0.5$"
    middle = left[half][:, 0] == 0
    assert left[half][middle, 1] == pytest.approx(np.log(2))  # cross entropy never is 0 there
    assert right[half][middle, 1] == pytest.approx(0, abs=1e-7)  # fidelity is
    one = right[r"$P^*_{ij} = 1$"]
    assert one[:, 1] == pytest.approx(1 - np.sqrt(1 / (1 + np.exp(-one[:, 0]))), abs=1e-6)
    plt.close(figure)


def test_figure3_has_a_row_of_panels_for_each_set_of_features(real):
    figure = FIGURES["figure3"](ENTRY, real)
    assert len(figure.axes) == 6
    assert [axis.get_ylabel() or axis.get_xlabel() for axis in figure.axes] == ["MAP", "P@n", "NDCG@n"] * 2
    assert [axis.get_title() for axis in figure.axes] == ["64 features (rebuilt)"] * 3 + ["14 features (rebuilt)"] * 3
    assert [len(axis.patches) for axis in figure.axes] == [7, 0, 0] * 2
    assert len(lines(figure.axes[2])) == 7
    plt.close(figure)


def test_figure4_shows_loss_and_training_ndcg_of_the_chosen_point(real):
    figure = FIGURES["figure4"](ENTRY, real)
    left, right = (lines(axis)["mean"] for axis in figure.axes)
    assert left[:, 1] == pytest.approx([1 / number for number in range(1, 7)])
    assert right[:, 1] == pytest.approx([0.1 * number for number in range(1, 7)])
    plt.close(figure)


def test_figure5_has_boosters_by_weak_learners_and_nets_by_epochs(real):
    figure = FIGURES["figure5"](ENTRY, real)
    left, right = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("number of weak learners", "number of epochs")
    assert lines(left)["FRANK"][2, 1] == pytest.approx((0.5 + 0.48) / 2)
    assert set(lines(right)) == {"RANKNET_TWO_LAYER", "RANKNET_LINEAR"}
    plt.close(figure)


def test_figure6_has_table4s_systems(real):
    figure = FIGURES["figure6"](ENTRY, real)
    drawn = lines(figure.axes[0])
    assert list(drawn) == [method.upper() for method in PRINTED["table4"]]
    assert drawn["FRANK"][:, 1] == pytest.approx(TABLES["table4"](ENTRY, real).frame["FRANK"].to_numpy())
    plt.close(figure)


def test_figure7_has_a_point_for_each_size(real):
    figure = FIGURES["figure7"](ENTRY, real)
    (axis,) = figure.axes
    assert [len(container.lines[0].get_xdata()) for container in axis.containers] == [5] * 5
    assert [label.get_text() for label in axis.get_xticklabels()] == ["10", "20", "40", "80", "120"]
    plt.close(figure)


@pytest.mark.parametrize("kind", ["figure3", "figure4", "figure5", "figure6", "figure7"])
def test_every_figure_of_simulated_data_says_so(simulated, kind):
    figure = FIGURES[kind](ENTRY, simulated)
    assert all("SIMULATED" in axis.get_title() for axis in figure.axes)
    plt.close(figure)
