"""bayesopt2010's tables and figures, from per-query values whose verdicts are known by construction."""

from __future__ import annotations

import itertools
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT, evidence_of

from replirank import papers
from replirank.errors import ReplirankError
from replirank.papers.bayesopt2010 import figures, tables
from replirank.papers.bayesopt2010.tables import LOSSES, METRICS
from replirank.reporting.tables import markdown, write_csv

PAPER = yaml.safe_load((ROOT / "src/replirank/papers/bayesopt2010/paper.yaml").read_text())
TITLES = {f"{loss}_{kind}": f"{title}, {kind}" for loss, title in LOSSES.items() for kind in ("linear", "bayes")}
TITLES["plugin"] = "plug-in"
HERE = {"ohsumed": "real", "td2003": "rebuilt", "np2004_30": "real", "mq2007": "real", "mq2008": "real"}
SEVEN = ["ohsumed", "td2003", "td2004", "hp2003", "hp2004", "np2003", "np2004"]

BETTER = np.full(20, 0.1)
WORSE = -BETTER
SAME = np.tile([0.1, -0.1], 10)  # sums to 0: as far from 0 is every other assignment of signs, p = 1


def evidence(origins, gains=None, *, before=0.5, folds=5, methods=tuple(TITLES)):
    """Every query's NDCG is `before`; Bayes-optimal methods have `gains[dataset, loss, metric]` on top of it."""
    rows = []
    for dataset, method in itertools.product(origins, methods):
        loss, _, kind = method.rpartition("_")
        added = {m: (gains or {}).get((dataset, loss, m), SAME) if kind == "bayes" else 0 * SAME for m in METRICS}
        for query in range(20):
            rows.append(
                {"dataset": dataset, "method": method, "split": "test", "fold": query % folds, "query": str(query)}
                | {f"letor3.{metric}": before + values[query] for metric, values in added.items()}
            )
    history = pd.DataFrame(
        [
            {
                "fold": fold,
                "point": 0,
                "chosen": True,
                "epoch": epoch,
                "loss": 2 / epoch,
                "validation": 0.5 - 0.1 / epoch,
            }
            for fold in range(folds)
            for epoch in range(1, 101)
        ]
    )
    return evidence_of(
        "bayesopt2010",
        origins,
        list(methods),
        paper=PAPER,
        titles=TITLES,
        metrics=pd.DataFrame(rows),
        history={(dataset, method): history for dataset in origins for method in methods if method != "plugin"},
    )


def table(name, given):
    return papers.maker("bayesopt2010", "tables", name)(PAPER["tables"][name], given)


def every(dataset, verdict):
    """The gains of all nine cases of a data set."""
    return {(dataset, loss, metric): verdict for loss in LOSSES for metric in METRICS}


def row(made, name, loss="all"):
    frame = made.frame
    return frame[frame["data set"].str.startswith(name) & (frame["loss"] == loss)].squeeze()


def counts(found):
    return [found["better"], found["same"], found["worse"]]


def test_the_printed_table_adds_up_to_the_papers_63_cases():
    printed = PAPER["printed"]["table1"]
    sets, total = printed["datasets"].values(), printed["total"]
    assert [sum(one[v] for v in ("better", "same", "worse")) for one in sets] == [3 * 3] * 7
    assert {v: sum(one[v] for one in sets) for v in ("better", "same", "worse")} == {
        "better": 23,
        "same": 37,
        "worse": 3,
    }
    assert 23 + 37 + 3 == 63 == sum(total[v] for v in ("better", "same", "worse"))
    assert [f"{100 * total[v] / 63:.1f}" for v in ("better", "same", "worse")] == ["36.5", "58.7", "4.8"]
    # Each printed change may be off by .05, and so may their mean.
    changes = [one["average change %"] for one in sets]
    assert abs(sum(changes) / 7 - total["average change %"]) <= 0.05 + 0.05


def test_cases_are_counted_by_loss_and_in_all():
    gains = {("ohsumed", "cosine", metric): BETTER for metric in METRICS}
    gains |= {("ohsumed", "cross_entropy", "ndcg@1"): WORSE, ("ohsumed", "squared", "ndcg@10"): BETTER}
    made = table("table1", evidence({"ohsumed": "real"}, gains))
    assert counts(row(made, "OHSUMED", "cosine")) == [3, 0, 0]
    assert counts(row(made, "OHSUMED", "cross entropy")) == [0, 2, 1]
    assert counts(row(made, "OHSUMED", "squared")) == [1, 2, 0]
    assert counts(row(made, "OHSUMED")) == [4, 4, 1]
    assert row(made, "OHSUMED")["cases"] == 9
    assert row(made, "OHSUMED")["better / same / worse %"] == "44.4 / 44.4 / 11.1"
    # .5 -> .6 is 20%, three times of three; .5 -> .4 once of three; once of three; then 3 + 1 - 1 of nine
    assert row(made, "OHSUMED", "cosine")["average change %"] == pytest.approx(100 * 0.1 / 0.5)
    assert row(made, "OHSUMED", "cross entropy")["average change %"] == pytest.approx(-20 / 3)
    assert row(made, "OHSUMED")["average change %"] == pytest.approx((3 - 1 + 1) * 20 / 9)


def test_the_total_is_of_all_data_sets_and_says_what_they_are():
    made = table("table1", evidence(HERE, every("ohsumed", BETTER) | every("td2003", WORSE)))
    total = row(made, "Total of 5, real and rebuilt")
    assert counts(total) == [9, 3 * 9, 9]
    assert total["data"] == "real and rebuilt"
    assert total["average change %"] == pytest.approx((20 - 20 + 0 + 0 + 0) / 5)
    order = made.frame["data set"].drop_duplicates().tolist()
    assert order == ["OHSUMED", "TD2003 (rebuilt)", "NP2004-30", "MQ2007", "MQ2008", "Total of 5, real and rebuilt"]


def test_published_values_stand_beside_the_papers_own_data_only():
    made = table("table1", evidence(HERE, every("ohsumed", BETTER)))
    ohsumed = row(made, "OHSUMED")
    assert [ohsumed[f"{v} published"] for v in ("better", "same", "worse")] == [3, 6, 0]
    assert [ohsumed[f"{v} difference"] for v in ("better", "same", "worse")] == [9 - 3, 0 - 6, 0 - 0]
    assert ohsumed["average change % difference"] == pytest.approx(20 - 1.2)
    beside = ["OHSUMED", "TD2003 (rebuilt)"]
    others = made.frame[~made.frame["data set"].isin(beside) | (made.frame["loss"] != "all")]
    assert others.filter(regex="published|difference").isna().all(axis=None)
    assert any("Of them OHSUMED, TD2003 are at hand" in note and "no total can" in note for note in made.notes)


def test_a_data_set_that_is_not_at_hand_has_a_row_that_says_so_and_how_to_get_it():
    missing = {"hp2003": {"title": "HP2003", "remedy": "fetch it"}, "mslr": {"title": "MSLR", "remedy": "buy it"}}
    made = table("table1", replace(evidence({"ohsumed": "real"}), missing=missing))
    rows = made.frame[made.frame["data"] == "not at hand"].set_index("data set")
    assert rows.index.tolist() == ["HP2003", "MSLR"]
    assert rows["cases"].isna().all()
    assert rows.loc["HP2003", "better published"] == 6
    assert pd.isna(rows.loc["HP2003", "better difference"])
    assert rows.loc["MSLR"].drop("data").isna().all()
    assert "HP2003 is not at hand: fetch it." in made.notes
    assert "MSLR is not at hand: buy it." in made.notes


def test_the_papers_total_stands_beside_the_total_of_its_seven_once_all_are_real():
    eight = dict.fromkeys([*SEVEN, "mq2007"], "real")
    made = table("table1", evidence(eight, every("mq2007", BETTER) | every("np2004", BETTER)))
    seven, whole = row(made, "Total of the paper's 7"), row(made, "Total of 8, real")
    assert counts(seven) == [9, 63 - 9, 0]
    assert [seven[f"{v} published"] for v in ("better", "same", "worse")] == [23, 37, 3]
    assert counts(whole) == [18, 72 - 18, 0]
    assert pd.isna(whole["better published"])
    assert seven["average change % difference"] == pytest.approx(20 / 7 - 10.6)


@pytest.mark.parametrize("name", ["table1", "methods", "cases"])
def test_simulated_data_alone_has_nothing_published_beside_it(name, tmp_path):
    made = table(name, evidence({"ohsumed": "simulated", "mq2008": "simulated"}))
    write_csv(tmp_path / "made.csv", made)
    frame = pd.read_csv(tmp_path / "made.csv")
    assert set(frame["data"]) == {"simulated"}
    assert not [column for column in frame if "published" in column or "difference" in column]
    assert "ublished" not in markdown(made)
    assert "SIMULATED" in markdown(made)


def test_the_change_is_of_the_mean_over_folds():
    given = evidence({"ohsumed": "real"}, methods=("cosine_linear", "cosine_bayes"))
    bayes = given.metrics["method"] == "cosine_bayes"
    # Fold 0 has 2 queries, fold 1 has 18. Linear: .2 and .6; Bayes-optimal: .4 and .6.
    given.metrics["fold"] = (given.metrics["query"].astype(int) >= 2).astype(int)
    values = np.where(given.metrics["fold"] == 1, 0.6, np.where(bayes, 0.4, 0.2))
    for metric in METRICS:
        given.metrics[f"letor3.{metric}"] = values
    found = tables.compare(given, tables.duels(given))
    assert found["before"].tolist() == pytest.approx([(0.2 + 0.6) / 2] * 3)
    assert found["after"].tolist() == pytest.approx([(0.4 + 0.6) / 2] * 3)
    assert found["change"].tolist() == pytest.approx([100 * (0.5 - 0.4) / 0.4] * 3)
    # Two queries differ, both for the better, as in 2 of the 2**2 assignments of signs.
    assert found["two-sided"].tolist() == [2 / 2**2] * 3
    assert found["one-sided"].tolist() == [1 / 2**2] * 3
    assert found["Holm"].tolist() == [1.0] * 3  # 3 times 1/2
    assert found["one-sided verdict"].tolist() == ["same"] * 3


def test_the_tests_differ_where_one_direction_halves_p_and_three_cases_treble_it():
    """Five queries differ, all for the better: 1 of 2**5 assignments is as high, 2 are as far; so for six, and none."""
    five, six = np.r_[np.full(5, 0.1), np.zeros(15)], np.r_[np.full(6, 0.1), np.zeros(14)]
    gains = {("ohsumed", "cosine", metric): gain for metric, gain in zip(METRICS, (five, -six, 0 * SAME), strict=True)}
    given = evidence({"ohsumed": "real"}, gains, methods=("cosine_linear", "cosine_bayes"))
    found = tables.compare(given, tables.duels(given))
    assert found["one-sided"].tolist() == [1 / 2**5, 1 / 2**6, 1.0]
    assert found["two-sided"].tolist() == [2 / 2**5, 2 / 2**6, 1.0]
    assert found["Holm"].tolist() == pytest.approx([2 * 2 / 2**5, 3 * 2 / 2**6, 1.0])
    assert found["one-sided verdict"].tolist() == ["better", "worse", "same"]
    assert found["two-sided verdict"].tolist() == ["same", "worse", "same"]
    assert found["Holm verdict"].tolist() == ["same"] * 3
    whole = row(table("table1", given), "OHSUMED")
    assert counts(whole) == [1, 1, 1]
    names = ["better, two-sided", "worse, two-sided", "better, Holm", "worse, Holm"]
    assert whole[names].tolist() == [0, 1, 0, 0]
    assert whole["in all"] == "not shown"


def test_every_case_has_its_row():
    made = table("cases", evidence(HERE, every("mq2008", WORSE)))
    frame = made.frame
    assert len(frame) == 5 * 3 * 3
    assert not frame.duplicated(["data set", "loss", "metric"]).any()
    worse = frame[frame["verdict"] == "worse"]
    assert worse["data set"].tolist() == ["MQ2008"] * 9
    assert worse["change %"].tolist() == pytest.approx([-20] * 9)
    assert worse["two-sided p"].tolist() == [1 / (1 + 2000)] * 9  # 2 of 2**20 are as far: none of 2,000 drawn
    assert set(frame[frame["verdict"] != "worse"]["two-sided p"]) == {1.0}


def test_a_baseline_of_zero_has_no_relative_change():
    gains = {("ohsumed", "cosine", metric): BETTER for metric in METRICS}
    made = table("table1", evidence({"ohsumed": "real"}, gains, before=0.0))
    assert counts(row(made, "OHSUMED", "cosine")) == [3, 0, 0]
    assert np.isnan(row(made, "OHSUMED")["average change %"])
    assert any(note.startswith("9 cases have no relative change") for note in made.notes)


def test_methods_are_compared_with_their_baselines_and_plugin_with_listnet():
    made = table("methods", evidence({"ohsumed": "real"}, every("ohsumed", BETTER)))
    frame = made.frame.set_index("method")
    assert frame.index.tolist() == list(TITLES.values())
    assert frame["baseline"].dropna().to_dict() == {
        "cosine, bayes": "cosine, linear",
        "cross entropy, bayes": "cross entropy, linear",
        "squared, bayes": "squared, linear",
        "plug-in": "cross entropy, linear",
    }
    assert frame.loc["squared, bayes", "NDCG@5"] == pytest.approx(0.6)
    assert frame.loc["squared, bayes", "NDCG@5 change %"] == pytest.approx(20)
    assert frame.loc["plug-in", "NDCG@10 two-sided p"] == 1
    assert frame.loc["cosine, linear"].filter(regex="change| p$").isna().all()


def test_losses_without_both_ranking_functions_are_left_out():
    given = evidence({"ohsumed": "real"}, methods=("cosine_linear", "cosine_bayes", "squared_linear", "plugin"))
    assert set(table("table1", given).frame["loss"]) == {"cosine", "all"}
    assert len(table("methods", given).frame) == 4
    with pytest.raises(ReplirankError, match="no loss was run with both"):
        table("cases", evidence({"ohsumed": "real"}, methods=("cosine_linear", "squared_bayes")))


@pytest.mark.parametrize("name", ["figure1", "curves"])
@pytest.mark.parametrize("origin", ["real", "simulated"])
def test_figures_of_nine_data_sets_say_what_is_simulated_and_stay_small(name, origin, tmp_path):
    gains = every("ohsumed", BETTER) | every("hp2003", WORSE)
    entry, nine = PAPER["figures"][name], dict.fromkeys([*SEVEN, "mq2007", "mq2008"], origin)
    with plt.rc_context(fname=ROOT / "workflow/matplotlibrc"):
        figure = papers.maker("bayesopt2010", "figures", entry.get("kind", name))(entry, evidence(nine, gains))
        figure.suptitle(entry["title"])
        figure.savefig(tmp_path / "figure.png")
    titles = [axis.get_title() for axis in figure.axes]
    titles = [title for title in titles if title]  # a panel of the grid may be empty
    assert len(titles) == 9 * {"figure1": 1, "curves": 2}[name]
    for dataset in nine:
        own = [title for title in titles if dataset.upper() in title.replace(":", "").split()]
        assert len(own) == len(titles) / 9
        assert all(("SIMULATED" in title) == (origin == "simulated") for title in own)
    assert (tmp_path / "figure.png").stat().st_size < 400_000
    plt.close(figure)


def test_figure_1_draws_the_means_and_marks_what_is_significant():
    given = evidence({"ohsumed": "real", "hp2003": "simulated"}, every("ohsumed", BETTER) | every("hp2003", WORSE))
    figure = figures.figure1({}, given)
    better, worse = figure.axes
    linear, bayes = ([bar.get_height() for bar in bars] for bars in better.containers)
    assert linear == pytest.approx([0.5] * 9)
    assert bayes == pytest.approx([0.6] * 9)
    assert [text.get_text() for text in better.texts] == ["+"] * 9
    assert [text.get_text() for text in worse.texts] == ["\N{MINUS SIGN}"] * 9
    assert better.get_facecolor() != worse.get_facecolor()
    plt.close(figure)


def test_what_a_method_does_not_support_makes_no_cases():
    whole = evidence({"ohsumed": "real", "mq2008": "real"}, every("ohsumed", BETTER))
    missing = [("ohsumed", "squared_bayes"), *(("mq2008", f"{loss}_linear") for loss in LOSSES)]
    rows = pd.MultiIndex.from_frame(whole.metrics[["dataset", "method"]])
    given = replace(
        whole, metrics=whole.metrics[~rows.isin(missing)], unsupported=dict.fromkeys(missing, "it cannot learn this")
    )
    made = table("table1", given)
    # MQ2008 has no pair at all, OHSUMED two.
    assert not made.frame["data set"].str.startswith("MQ2008").any()
    assert counts(row(made, "OHSUMED")) == [2 * 3, 0, 0]
    assert made.frame.query("`data set` == 'OHSUMED'")["loss"].tolist() == ["cosine", "cross entropy", "all"]
    assert row(made, "Total of 2")["cases"] == 6
    assert "squared, bayes on OHSUMED: it cannot learn this." in made.notes
    assert len(table("cases", given).frame) == 2 * 3
    methods = table("methods", given).frame.set_index(["data set", "method"])
    assert methods.loc[("OHSUMED", "squared, bayes"), ["NDCG@1", "NDCG@5", "NDCG@10"]].isna().all()
    assert methods.loc[("OHSUMED", "squared, linear"), "NDCG@1"] == pytest.approx(0.5)
    figure = figures.figure1({}, given)
    assert [axis.get_title().partition(":")[0] for axis in figure.axes if axis.axison] == ["OHSUMED"]
    plt.close(figure)
