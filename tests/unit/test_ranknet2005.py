"""ranknet2005's tables and figures from made-up evidence, and the numbers typed from the paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT
from scipy.stats import norm

from replirank.papers.common.tables import same_order
from replirank.papers.ranknet2005.draws import DRAWN_AS, pair_trials, trials
from replirank.papers.ranknet2005.figures import FIGURES
from replirank.papers.ranknet2005.tables import TABLES
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol
from replirank.reporting.tables import markdown

PAPER = yaml.safe_load((ROOT / "src/replirank/papers/ranknet2005/paper.yaml").read_text())
PRINTED = PAPER["printed"]
METHODS = ["prank_quadratic", "prank", "oap_bpm", "rankprop", "ranknet_linear", "ranknet_two_layer"]
ENTRY = {"title": "T"}
DRAWS = 3


def protocol(dataset: str) -> Protocol:
    return Protocol(
        paper="ranknet2005",
        roles={"web": dataset},
        methods=METHODS,
        conventions={dataset: "burges"},
        select_by="ndcg@15",
        splits=["train", "vali", "test"],
        draws=DRAWS,
    )


def correct(trial, number: int) -> float:
    """Made up: grows with the size and the layers, and by 1 from draw to draw, by 2 with an update for each pair."""
    grown = 2 * number if trial.update == "pair" else number
    return 60 + np.log10(trial.vectors) + (2 if trial.units else 0) + (0.5 if trial.ties else 0) + grown


@pytest.fixture(scope="module")
def draws(tmp_path_factory) -> Evidence:
    folder = tmp_path_factory.mktemp("draws")
    paths = []
    vectors = {table: PRINTED[table]["vectors"] for table in ("table1", "table2", "capacity")}
    for task in DRAWN_AS:
        for number in range(1, DRAWS + 1):
            rows = [
                {
                    "task": task,
                    "draw": number,
                    **trial._asdict(),
                    "net": trial.net,
                    "trained_pairs": trial.vectors * (20 + trial.ties) + number,
                    "split": split,
                    "correct": 100.0 if (trial.table, split) == ("capacity", "train") else correct(trial, number),
                    "wrong": 0 if (trial.table, split) == ("capacity", "train") else 7,
                    "pairs": 1000,
                    "epoch": 10 * number,
                    "epochs": 100,
                    "starts": number + 3,
                }
                for trial in [*trials(task, vectors), *pair_trials(number, vectors)]
                for split in ("train", "vali", "test")
            ]
            paths.append(folder / f"{task}_{number}.csv")
            pd.DataFrame(rows).to_csv(paths[-1], index=False)
    return Evidence(protocol=protocol("mq2007"), paper=PAPER, seed=1, flips=100, needs=paths)


def on(origin: str, levels: dict[str, float], queries: int = 8) -> Evidence:
    """Two folds of four test queries; a method's NDCG@15 is its level, give or take .1 by turns."""
    rows = [
        {
            "dataset": "set",
            "origin": origin,
            "method": method,
            "fold": fold,
            "split": split,
            "query": query,
            "burges.ndcg@15": level + (0.1 if query % 2 else -0.1) + (0.02 * fold if split == "train" else 0),
        }
        for method, level in levels.items()
        for split in ("train", "vali", "test")
        for fold in (1, 2)
        for query in range(queries)
        if split == "train" or (query < queries / 2) == (fold == 1)
    ]
    sizes = {"train": (10, 100), "vali": (5, 50), "test": (5, 60)}
    folds = [
        {split: {"queries": q, "documents": d + 10 * number} for split, (q, d) in sizes.items()} for number in (0, 1)
    ]
    tried = [{"validation": 0.1}, {"validation": 0.2}]
    trained = {
        at_once: [{"fold": fold, "tried": tried, "seconds": 4.0 * fold, "at_once": at_once} for fold in (1, 2)]
        for at_once in (False, True)
    }
    return Evidence(
        protocol=protocol("set"),
        paper=PAPER,
        seed=1,
        flips=100,
        titles={method: method.upper() for method in METHODS},
        metrics=pd.DataFrame(rows),
        cards={"set": {"title": "Set", "origin": origin, "folds": folds, "note": ""}},
        choices={("set", method): trained[method == "oap_bpm"] for method in METHODS},
    )


PAPERS_ORDER = dict(zip(METHODS, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8), strict=True))
SECTION6 = ["table3", "table4", "table5", "table6", "wilcoxon"]


def test_table1_has_ours_the_papers_and_the_difference(draws):
    table = TABLES["table1"](ENTRY, draws).frame
    assert len(table) == 24
    row = table.query("task == 'net' and net == 'two-layer' and `train size` == 12500").iloc[0]
    ours = 60 + np.log10(12_500) + 2 + (1 + 2 + 3) / 3
    assert row["ours"] == pytest.approx(ours)
    assert row["sd"] == pytest.approx(1)
    assert row["paper"] == 97.67
    assert row["difference"] == pytest.approx(ours - 97.67)
    assert row["training pairs"] == 12_500 * 20 + 2
    assert row["epoch kept"] == 20
    assert table["paper"].tolist()[:4] == [82.39, 88.86, 89.91, 90.06]
    assert (table["data"] == "artificial").all()


def test_both_readings_of_the_polynomial_stand_beside_the_printed_values(draws):
    table = TABLES["table1"](ENTRY, draws)
    printed = {
        name: rows["paper"].tolist() for name, rows in table.frame.query("net == 'linear'").groupby("task", sort=False)
    }
    written, hypothesis = list(printed)[1:]
    assert "as the paper says" in written
    assert "divided by their variance (hypothesis)" in hypothesis
    assert printed[written] == printed[hypothesis] == PRINTED["table1"]["poly"]["linear"]
    assert any("found by comparing readings with the printed values" in note for note in table.notes)


def test_updates_after_each_pair_are_compared_in_the_draws_that_have_them(draws):
    """Made up: a pair's update adds the draw's number. The largest training set is in draw 2 alone."""
    table = TABLES["table1_updates"](ENTRY, draws).frame
    assert len(table) == 24
    small, large = (
        table.query(f"task == 'net' and net == 'linear' and `train size` == {n}").iloc[0] for n in (100, 12_500)
    )
    assert small["update per query"] == pytest.approx(60 + 2 + 2)
    assert small["update per pair"] == pytest.approx(60 + 2 + 4)
    assert small["pair - query"] == pytest.approx((1 + 2 + 3) / 3)
    assert small["sd"] == pytest.approx(1)
    assert small["paper"] == 82.39
    assert small["per pair - paper"] == pytest.approx(66 - 82.39)
    assert (small["draws"], large["draws"]) == (3, 1)
    assert large["update per query"] == pytest.approx(60 + np.log10(12_500) + 2)
    assert large["pair - query"] == pytest.approx(2)


def test_a_single_draw_has_no_row_of_the_largest_training_set_by_pair(draws):
    first = replace(draws, needs=[path for path in draws.needs if path.stem.endswith("_1")])
    table = TABLES["table1_updates"](ENTRY, first).frame
    assert set(table["train size"]) == {100, 500, 2500}
    assert len(table) == 18
    assert table["sd"].isna().all()


def test_gaps_are_two_layer_minus_linear(draws):
    table = TABLES["table1_gaps"](ENTRY, draws).frame
    assert table["ours"].tolist() == pytest.approx([2.0] * 12)
    assert table["paper"].tolist()[:4] == pytest.approx([82.29 - 82.39, 88.80 - 88.86, 96.94 - 89.91, 97.67 - 90.06])
    assert table["draws with the paper's sign"].tolist() == [0, 0, 3, 3, *[0, 3, 3, 3] * 2]
    assert (table["draws"] == 3).all()


def test_table2_sets_ties_beside_no_ties(draws):
    table = TABLES["table2"](ENTRY, draws)
    frame = table.frame
    assert frame["trained on"].tolist() == ["no ties", "all ties"] * 8
    row = frame.query("`train size` == 1000 and `trained on` == 'all ties'").iloc[0]
    ours = (60 + 3 + 2 + 0.5 + 2) / 100
    assert row["ours"] == pytest.approx(ours)
    assert row["difference"] == pytest.approx(ours - 0.682)
    assert row["training pairs"] == 1000 * 21 + 2
    assert row["pairs difference"] == 1000 * 21 + 2 - 24_500
    assert table.notes[-1].count("+0.0050") == 2
    assert frame["paper"].tolist() == [0.595, 0.596, 0.670, 0.669, 0.681, 0.682, 0.690, 0.688] * 2


def test_capacity_says_in_how_many_draws_nothing_was_wrong(draws):
    table = TABLES["capacity"](ENTRY, draws)
    frame = table.frame.set_index("quantity")
    assert frame.loc["training error, %", "ours"] == 0
    assert frame.loc["training pairs", "paper"] == 20_382
    assert frame.loc["training pairs", "ours"] == 1000 * 20 + 2
    assert frame.loc["validation error, %", "ours"] == pytest.approx(100 - (60 + 3 + 2 + 2))
    assert frame["paper"].tolist()[-2:] == [9.61, 10.01]
    assert "in 3 of 3 draws, with 4 to 6 random starts and after 10 to 30 epochs" in table.notes[1]


def test_one_draw_has_no_spread(draws):
    one = Evidence(protocol=draws.protocol, paper=PAPER, seed=1, flips=100, needs=draws.needs[::DRAWS])
    table = TABLES["table1"](ENTRY, one)
    assert table.frame["sd"].isna().all()
    assert "over 1 draws" in table.notes[0]
    plt.close(FIGURES["table1"](ENTRY, one))


def test_table3_is_of_a_fold(draws):
    table = TABLES["table3"](ENTRY, on("real", PAPERS_ORDER)).frame.set_index("split")
    assert table.loc["train", "documents"] == (100 + 110) / 2
    assert table.loc["test", "queries"] == 5
    assert table.loc["vali", "documents, paper (its own data)"] == 2_726_714


def test_table4_has_an_interval_over_the_queries_of_all_folds():
    table = TABLES["table4"](ENTRY, on("real", PAPERS_ORDER))
    row = table.frame.iloc[METHODS.index("rankprop")]
    assert row["test"] == pytest.approx(0.6)
    # Eight queries, four .1 above and four below: the variance is 8 * .01 / 7.
    assert row["test ±"] == pytest.approx(1.959964 * np.sqrt(8 * 0.01 / 7 / 8))
    assert row["place"] == 3
    assert row["test, paper (its own data)"] == 0.460
    assert table.frame["place"].tolist() == [6, 5, 4, 3, 2, 1]
    assert "15 of 15 pairs of systems" in table.notes[-1]
    assert not any("difference" in column for column in table.frame)


def test_the_order_of_systems_is_counted_by_pairs():
    first_two_swapped = {**PAPERS_ORDER, "prank_quadratic": 0.4, "prank": 0.3}
    assert "14 of 15" in TABLES["table4"](ENTRY, on("rebuilt", first_two_swapped)).notes[-1]
    tied = dict.fromkeys(METHODS, 0.5)
    assert "0 of 15" in TABLES["table4"](ENTRY, on("real", tied)).notes[-1]


def test_table5_counts_a_query_once():
    table = TABLES["table5"](ENTRY, on("real", PAPERS_ORDER)).frame
    assert table["system"].tolist() == ["RANKNET_LINEAR", "RANKNET_TWO_LAYER"]
    assert table["training"].tolist() == pytest.approx([0.7 + 0.03, 0.8 + 0.03])
    assert table["training - test"].tolist() == pytest.approx([0.03, 0.03])
    assert table["training ±"].tolist() == pytest.approx([1.959964 * np.sqrt(8 * 0.01 / 7 / 8)] * 2)
    assert table["training, paper (its own data)"].tolist() == [0.479, 0.500]


def test_table6_is_the_time_of_one_training():
    table = TABLES["table6"](ENTRY, on("real", PAPERS_ORDER)).frame
    # Two grid points in folds of 4 and 8 seconds; OAP-BPM, fifth in the paper's order, trains them at once.
    assert table["seconds"].tolist() == [(4 / 2 + 8 / 2) / 2] * 4 + [(4 + 8) / 2] + [(4 / 2 + 8 / 2) / 2]
    assert table["trained at once"].tolist() == [1, 1, 1, 1, 2, 1]
    assert table["minutes, paper (its own data)"].tolist() == [11, 23, 67, 351, 623, 2392]


def test_wilcoxon_is_over_all_test_queries():
    row = TABLES["wilcoxon"](ENTRY, on("real", PAPERS_ORDER)).frame.iloc[0]
    assert row["queries"] == 8
    assert row["A - B"] == pytest.approx(0.1)
    # All eight differences are tied and positive: the mean rank sum is 18, its variance with ties 8 * 4.5^2 / 4.
    z = (36 - 18) / np.sqrt(8 * 4.5**2 / 4)
    assert row["Wilcoxon p"] == pytest.approx(2 * norm.sf(z))
    assert row["A - B, paper (its own data)"] == pytest.approx(0.488 - 0.477)
    assert row["rejected at, paper (its own data)"] == 0.16


@pytest.mark.parametrize("kind", SECTION6)
def test_simulated_data_has_nothing_of_the_paper_beside_it(kind):
    table = TABLES[kind](ENTRY, on("simulated", PAPERS_ORDER))
    assert not any("paper" in column or "published" in column for column in table.frame)
    assert (table.frame["data"] == "simulated").all()
    assert "SIMULATED" in table.title
    assert any("SIMULATED" in note for note in table.notes)
    assert "paper's order" not in " ".join(table.notes)
    real = TABLES[kind](ENTRY, on("real", PAPERS_ORDER))
    assert any("paper (its own data)" in column for column in real.frame)
    assert any("of other data" in note for note in real.notes)


@pytest.mark.parametrize("kind", SECTION6)
def test_a_run_of_fewer_methods_has_its_tables(kind):
    levels = {"prank": 0.4, "rankprop": 0.6}
    whole = on("real", levels)
    few = replace(
        whole,
        protocol=replace(whole.protocol, methods=list(levels)),
        choices={("set", "prank"): whole.choices["set", "prank"]},
    )
    table = TABLES[kind](ENTRY, few)
    assert "data" in table.frame
    assert markdown(table).startswith("# T: Set")
    if kind == "table4":
        assert "1 of 1 pairs" in table.notes[-1]


def test_what_is_made_of_draws_asks_for_the_tasks_it_needs():
    for part, name, tasks in (
        ("tables", "table1", [*DRAWN_AS]),
        ("tables", "table1_gaps", [*DRAWN_AS]),
        ("tables", "table1_updates", [*DRAWN_AS]),
        ("tables", "table2", ["poly", "poly_variance"]),
        ("tables", "capacity", ["net"]),
        ("figures", "table1", [*DRAWN_AS]),
    ):
        assert [Path(path).stem for path in PAPER[part][name]["needs"]] == [f"{task}_{{draw}}" for task in tasks]


def test_figure1_is_the_papers():
    figure = FIGURES["figure1"](ENTRY, None)
    left, right = figure.axes
    certain_no, even, certain_yes = (line.get_ydata() for line in left.get_lines())
    margins = left.get_lines()[0].get_xdata()
    np.testing.assert_allclose(certain_yes, np.log1p(np.exp(-margins)), rtol=1e-5)
    np.testing.assert_allclose(certain_no, certain_yes[::-1], rtol=1e-5)
    np.testing.assert_allclose(even, (certain_no + certain_yes) / 2, rtol=1e-5)
    assert np.argmin(even) == len(even) // 2
    (combined, same) = (line.get_ydata() for line in right.get_lines())
    # P_ik = P at 0, 1/2 and 1 and only there; confidence builds up on both sides.
    crossings = np.isclose(combined, same, atol=1e-6)
    assert np.flatnonzero(crossings).tolist() == [0, 100, 200]
    assert (combined[1:100] < same[1:100]).all()
    assert (combined[101:200] > same[101:200]).all()
    plt.close(figure)


def test_table1_figure_has_ours_and_the_papers(draws):
    figure = FIGURES["table1"](ENTRY, draws)
    for axis, task in zip(figure.axes[:3], ("net", "poly", "poly"), strict=True):
        assert sorted(axis.get_legend_handles_labels()[1]) == [
            "linear, ours",
            "linear, paper",
            "two-layer, ours",
            "two-layer, paper",
        ]
        shown = [line.get_ydata().tolist() for line in axis.get_lines()]
        assert PRINTED["table1"][task]["two_layer"] in shown
        assert (
            sum(np.allclose(values, [60 + np.log10(n) + 2 for n in (100, 500, 2500, 12_500)]) for values in shown) == 1
        )
    plt.close(figure)


def test_the_printed_numbers_agree_with_the_papers_own_arithmetic():
    table2, table3, table4 = PRINTED["table2"], PRINTED["table3"], PRINTED["table4"]
    assert table2["all_ties_pairs"] == [n // 50 * (50 * 49 // 2) for n in table2["vectors"]]
    # Six equally full bins: one pair in six is a tie.
    assert np.divide(table2["no_ties_pairs"], table2["all_ties_pairs"]) == pytest.approx([5 / 6] * 4, abs=0.01)
    assert PRINTED["capacity"]["pairs"] / (20 * 1225) == pytest.approx(5 / 6, abs=0.01)
    # Table 2's first two sizes are Table 1's, whose net is smaller.
    assert table2["no_ties"][:2] == [round(value / 100, 3) for value in PRINTED["table1"]["poly"]["two_layer"][:2]]
    assert sum(split["queries"] for split in table3.values()) == 17_004
    assert table3["train"]["queries"] == 17_004 * 2 // 3
    assert list(table4) == sorted(table4, key=lambda method: table4[method]["test"]) == METHODS
    assert PRINTED["table6"]["prank_quadratic"] == 39 * 60 + 52
    assert PRINTED["table6"]["oap_bpm"] == 10 * 60 + 23
    assert PRINTED["table6"]["ranknet_two_layer"] == 5 * 60 + 51
    assert PRINTED["table6"]["ranknet_linear"] == 60 + 7
    assert PRINTED["table5"]["ranknet_linear"]["train"] == table4["ranknet_linear"]["vali"]


def test_same_order_leaves_out_what_was_not_run():
    assert same_order({"prank": 0.4}, {"prank": 0.4, "rankprop": 0.5}) == (0, 0)


def test_a_system_that_does_not_support_the_data_has_dashes_and_no_place():
    levels = {method: level for method, level in PAPERS_ORDER.items() if method != "ranknet_linear"}
    given = replace(on("real", levels), unsupported={("set", "ranknet_linear"): "too many pairs"})
    table = TABLES["table4"](ENTRY, given)
    frame = table.frame.set_index("system")
    assert frame.loc["RANKNET_LINEAR", ["validation", "test", "test ±", "place"]].isna().all()
    assert frame["place"].drop("RANKNET_LINEAR").tolist() == [5, 4, 3, 2, 1]
    assert "10 of 10 pairs of systems" in table.notes[-1]
    assert "RANKNET_LINEAR on Set: too many pairs." in table.notes
    assert TABLES["table5"](ENTRY, given).frame["training"].isna().tolist() == [True, False]
    assert TABLES["wilcoxon"](ENTRY, given).frame.empty
