"""energyndcg2011: its experiment on a small problem, its tables and figures from made-up evidence, what was typed."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT, ranking
from numpy.testing import assert_allclose

from replirank.data.arrays import Dataset, Fold
from replirank.errors import ReplirankError
from replirank.evaluation import stats
from replirank.papers.energyndcg2011.figures import FIGURES
from replirank.papers.energyndcg2011.seeds import DEPTH, EXPERIMENTS, METRICS, READINGS, WIDTHS, run
from replirank.papers.energyndcg2011.tables import (
    BESIDE,
    CHOSEN,
    CHOSEN_BY_CUT,
    CUTS,
    EACH_ONCE,
    LEAD,
    MEAN,
    SAID,
    TABLES,
    by_query,
    of_widths,
    over_draws,
)
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol
from replirank.reporting.published import read_sheets

ROOM = ROOT / "src/replirank/papers/energyndcg2011"
PAPER = yaml.safe_load((ROOM / "paper.yaml").read_text())
PRINTED = PAPER["printed"]
SHEETS = read_sheets(PAPER, ROOM)
METHODS = ["adarank_map", "adarank_ndcg", "listnet", "ranksvm", "rankboost", "frank", "regression"]
DRAWS, FOLDS, QUERIES = 3, 2, 6
# Test levels of EnergyNDCG by width. Validation prefers W = 10 at NDCG@10, and W = 2 at all other cuts.
LEVELS = dict(zip(WIDTHS, (0.30, 0.35, 0.37, 0.40, 0.41, 0.39), strict=True))


# What was typed from the paper


def letors(method: str, row: str) -> np.ndarray:
    here = SHEETS[(SHEETS["dataset"] == "ohsumed") & (SHEETS["method"] == method) & (SHEETS["printed_as"] == row)]
    means = here[(here["split"] == "test") & (here["fold"] == "mean")].set_index("metric")["value"]
    return means[CUTS].to_numpy()


@pytest.mark.parametrize("method", METHODS)
def test_table1_is_typed_as_letors_sheet_but_for_adarank_map(method):
    """Cut or rounded to three digits. A typing error would be larger."""
    row = next(sheet["methods"][method] for sheet in PAPER["sheets"] if method in sheet["methods"])
    gap = np.abs(np.array(PRINTED["table1"][method]) - letors(method, row)).max()
    assert (gap > 0.04) if method == "adarank_map" else (gap < 0.001)


def test_what_was_typed_has_ten_cuts_and_the_order_of_the_texts_claims():
    for table in ("table1", "table2"):
        assert all(len(values) == DEPTH for values in PRINTED[table].values())
    means = {method: np.mean(values) for method, values in PRINTED["table1"].items()}
    for method, said in SAID.items():
        gap = means["energyndcg"] - means[method]
        assert abs(gap) < 0.006 if said == "similar" else gap > 0, method
    # Table II rises with n throughout, as DCG over lists of clicks does in the burges convention.
    for values in PRINTED["table2"].values():
        assert np.all(np.diff(values) > 0)


# The experiment


@pytest.fixture(scope="module")
def small() -> Dataset:
    random = np.random.default_rng(0)
    features = random.normal(size=(24 * 8, 4))
    labels = np.digitize(features[:, 0] + 0.3 * random.normal(size=len(features)), [0, 1])
    data = ranking(features, labels, [8] * 24)
    return Dataset(data, (Fold(np.arange(12), np.arange(12, 18), np.arange(18, 24)),))


def run_small(small, experiment, draw=1, grid=None, name="ohsumed"):
    grid = grid or {"learning_rate": [0.05], "epochs": [3]}
    settings = {"convention": "burges", "select_by": "ndcg@10", "seed": 7, "report": lambda text: None}
    return run(small, experiment, draw, name=name, grid=grid, **settings)


def test_energyndcg_is_trained_for_each_width_with_a_row_for_each_query(small):
    frame = run_small(small, "energyndcg")
    assert list(dict.fromkeys(frame["trial"])) == [f"W = {width}" for width in WIDTHS]
    counts = frame.groupby(["trial", "split"]).size()
    assert (counts == 6).all()
    assert len(counts) == 2 * len(WIDTHS)
    assert not frame[METRICS].isna().any().any()
    assert set(frame["chosen"]) <= {f"alpha {alpha}, learning_rate 0.05, epochs 3" for alpha in (0.1, 0.5)}
    # The first feature tells the labels, so that a little training ranks far better than chance.
    assert frame[frame["trial"] == "W = 5"]["ndcg@10"].mean() > 0.9


def test_a_draw_is_a_seed(small):
    one, again, other = (run_small(small, "boltzrank", draw) for draw in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again)
    assert not one[METRICS].equals(other[METRICS])


def test_the_readings_are_all_tried_and_with_signs_nothing_good_is_learned(small):
    frame = run_small(small, "readings", grid={"learning_rate": [0.05], "epochs": [5]})
    means = frame[frame["split"] == "test"].groupby("trial")["ndcg@10"].mean()
    assert set(means.index) == set(READINGS)
    signed = [name for name, (sign, _) in READINGS.items() if sign]
    ours = next(name for name, reading in READINGS.items() if reading == (False, False))
    assert means[ours] > 0.9
    assert means[signed].max() < means[ours] - 0.1


def test_circles_of_sortnet_are_counted_on_test_queries(small):
    frame = run_small(small, "sortnet", grid={"learning_rate": [0.01], "rounds": [2]})
    test = frame["split"] == "test"
    assert (frame.loc[test, "triples"] == 8 * 7 * 6 / 6).all()
    assert (frame.loc[test, "circles"] <= frame.loc[test, "triples"]).all()
    assert frame.loc[~test, ["triples", "circles"]].isna().all().all()
    assert run_small(small, "boltzrank")["triples"].isna().all()


def test_on_clicks_the_nets_have_forty_hidden_units(small, monkeypatch):
    class GridSeenError(Exception):
        pass

    def train(dataset, method, *, grid, **rest):
        raise GridSeenError(grid["units"])

    monkeypatch.setattr("replirank.papers.energyndcg2011.seeds.train", train)
    with pytest.raises(GridSeenError) as caught:
        run_small(small, "energyndcg", name="aol")
    assert caught.value.args == ([40],)


def test_an_unknown_experiment_is_refused_naming_the_known(small):
    with pytest.raises(ReplirankError, match="unknown experiment 'energy'") as caught:
        run_small(small, "energy")
    assert "energyndcg" in caught.value.remedy


# Made-up evidence


def waver(query: int, k: int) -> float:
    return (0.05 if query % 2 else -0.05) * (1 + query / 10) + 0.001 * k


def seed_rows(dataset: str, experiment: str, draw: int) -> pd.DataFrame:
    """Test values are a level that wavers from query to query, and rise by .01 with the draw."""
    rows = []
    for trial in EXPERIMENTS[experiment].trials:
        width = int(trial.removeprefix("W = ")) if trial.startswith("W") else None
        level = LEVELS[width] if width else 0.38
        for split in ("vali", "test"):
            for query in range(QUERIES):
                values = {f"ndcg@{k}": level + waver(query, k) + 0.01 * draw for k in range(1, DEPTH + 1)}
                if split == "vali":
                    values = {f"ndcg@{k}": 0.5 + 0.1 * (width == (10 if k == 10 else 2)) for k in range(1, DEPTH + 1)}
                fold = 1 + (query >= QUERIES / 2)
                place = {"dataset": dataset, "experiment": experiment, "trial": trial, "draw": draw, "fold": fold}
                circles = {"triples": 56.0, "circles": float(query == 0)} if split == "test" else {}
                chosen = {"chosen": f"alpha {fold}", "last": 0.1 * fold}
                rows.append({**place, "split": split, "query": query, **values, "map": 0.5, **chosen, **circles})
    return pd.DataFrame(rows)


def made_up(folder, origin: str) -> Evidence:
    datasets = ["ohsumed", "mq2008", "aol"]
    paths = []
    for dataset in datasets:
        (folder / dataset).mkdir(parents=True)
        for experiment in EXPERIMENTS:
            for draw in range(1, 1 + (1 if experiment == "readings" else DRAWS)):
                paths.append(folder / dataset / f"{experiment}_{draw}.parquet")
                seed_rows(dataset, experiment, draw).to_parquet(paths[-1])
    metrics = [
        {
            "dataset": dataset,
            "method": method,
            "fold": 1 + (query >= QUERIES / 2),
            "split": "test",
            "query": query,
            **{f"letor3.ndcg@{k}": 0.2 + 0.02 * place + waver(query + place, k) for k in range(1, DEPTH + 1)},
            "letor3.map": 0.1 * place,
        }
        for dataset in datasets
        for place, method in enumerate([*METHODS, *EACH_ONCE])
        for query in range(QUERIES)
    ]
    return Evidence(
        protocol=Protocol(
            paper="energyndcg2011",
            roles={name: name for name in datasets},
            methods=[*METHODS, *EACH_ONCE],
            conventions=dict.fromkeys(datasets, "letor3"),
            select_by="ndcg@10",
            splits=["vali", "test"],
            draws=DRAWS,
        ),
        paper=PAPER,
        seed=1,
        flips=2000,
        titles={method: method.upper() for method in [*METHODS, *EACH_ONCE]},
        metrics=pd.DataFrame(metrics),
        cards={name: {"id": name, "title": name.upper(), "origin": origin, "note": ""} for name in datasets},
        sheets=SHEETS,
        needs=paths,
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return made_up(tmp_path_factory.mktemp("real"), "real")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return made_up(tmp_path_factory.mktemp("simulated"), "simulated")


def make(name, evidence):
    return TABLES[PAPER["tables"][name].get("kind", name)](PAPER["tables"][name], evidence)


def line(frame, system, value):
    found = frame[(frame["system"] == system) & (frame["value"] == value)]
    assert len(found) == 1
    return found.iloc[0]


def level(width: int, k: int, draw: float = 2.0) -> float:
    """The mean over queries and folds of what `seed_rows` makes."""
    return LEVELS[width] + float(np.mean([waver(query, k) for query in range(QUERIES)])) + 0.01 * draw


def test_the_width_is_chosen_on_validation_once_and_for_each_cut(real):
    rows = pd.concat([seed_rows("ohsumed", "energyndcg", draw) for draw in (1, 2, 3)])
    systems = of_widths(rows)
    assert set(systems) == {*(f"W = {width}" for width in WIDTHS), CHOSEN, CHOSEN_BY_CUT}
    once, by_cut = over_draws(systems[CHOSEN])[0], over_draws(systems[CHOSEN_BY_CUT])[0]
    assert_allclose(once[CUTS], [level(10, k) for k in range(1, 11)])
    assert_allclose(by_cut[CUTS], [*(level(2, k) for k in range(1, 10)), level(10, 10)])
    assert (once["map"], np.isnan(by_cut["map"])) == (0.5, True)
    for system in systems.values():
        assert len(system) == DRAWS * QUERIES


def test_mean_and_spread_are_over_draws(real):
    mean, spread = over_draws(seed_rows("ohsumed", "sortnet", 1).query("split == 'test'"))
    assert spread.isna().all()
    rows = pd.concat([seed_rows("ohsumed", "sortnet", draw) for draw in (1, 2, 3)]).query("split == 'test'")
    mean, spread = over_draws(rows)
    assert_allclose(spread[CUTS], 0.01)  # of x + .01, x + .02, x + .03
    assert_allclose(mean["ndcg@1"], 0.38 + 0.02 + np.mean([waver(query, 1) for query in range(QUERIES)]))


def test_table1_has_ours_the_papers_letors_and_the_difference(real):
    frame = make("table1", real).frame
    systems = list(dict.fromkeys(frame["system"]))
    assert systems[:2] == ["EnergyNDCG, W = 5", "EnergyNDCG, W chosen"]
    assert len(systems) == 2 + 8 + len(BESIDE) + len(EACH_ONCE)
    ours, paper, gap = (line(frame, "EnergyNDCG, W = 5", value) for value in ("ours", "paper", "ours - paper"))
    assert_allclose(ours["NDCG@10"], level(5, 10))
    assert paper["NDCG@10"] == 0.444
    assert_allclose(gap["NDCG@10"], level(5, 10) - 0.444)
    assert line(frame, "ADARANK_MAP", "LETOR 3.0, AdaRank-MAP")["NDCG@1"] == 0.5388
    assert line(frame, "RANKSVM", "LETOR 3.0, RankSVM")["NDCG@10"] == 0.4140
    assert line(frame, "RANKSVM", "LETOR 3.0, RankSVM-Struct")["NDCG@10"] == 0.4523
    assert line(frame, "RANKSVM", "LETOR 3.0, RankSVM-Struct")["MAP"] == 0.4478
    assert_allclose(line(frame, "RANKSVM", "ours")["MAP"], 0.3)
    assert np.isnan(paper["MAP"])
    assert_allclose(line(frame, "SortNet", "sd over seeds")["NDCG@5"], 0.01)
    assert "paper" not in set(frame[frame["system"] == "EnergyNDCG, W chosen"]["value"])
    assert not frame[(frame["system"] == "RANKSVM") & (frame["value"] == "sd over seeds")].size
    # AdaRank with each feature once is nobody's row: neither the paper's nor LETOR's number stands beside it.
    for method in EACH_ONCE:
        assert list(frame[frame["system"] == method.upper()]["value"]) == ["ours"]


def test_the_two_columns_that_readers_ask_about_have_a_note(real):
    notes = " ".join(make("table1", real).notes)
    assert "AdaRank-MAP (NDCG@1 0.491, NDCG@10 0.410) is not LETOR 3.0's (0.5388, 0.4429)" in notes
    assert "RankSVM-Struct, which ours is like, has 0.4523 at NDCG@10, above the paper's EnergyNDCG (0.444)" in notes


def test_section5_tests_each_metric_query_by_query_with_holms_correction(real):
    frame = make("section5", real).frame
    assert len(frame) == len(SAID) * (DEPTH + 1)
    energy = by_query(of_widths(pd.concat([seed_rows("ohsumed", "energyndcg", draw) for draw in (1, 2, 3)]))["W = 5"])
    other = real.rows("ohsumed").query("method == 'frank'").set_index(["fold", "query"])["letor3.ndcg@3"]
    row = frame[(frame["metric"] == "NDCG@3") & (frame["against"] == "FRANK")].iloc[0]
    gaps = (energy["ndcg@3"] - other).to_numpy()
    assert row["queries"] == QUERIES
    assert_allclose(row[LEAD], gaps.mean())
    assert_allclose(row[f"{LEAD}, paper"], 0.476 - 0.481)
    # With six queries every sign flip can be counted.
    exact = stats.randomization(gaps, np.zeros(QUERIES), seed=0, flips=2000).p
    assert_allclose(row["randomization p"], exact, atol=0.05)
    for _, rows in frame.groupby("metric"):
        assert_allclose(rows["Holm p"], stats.holm(rows["randomization p"]))
    mean = frame[(frame["metric"] == MEAN) & (frame["against"] == "FRANK")].iloc[0]
    assert_allclose(
        mean[f"{LEAD}, paper"], np.mean(PRINTED["table1"]["energyndcg"]) - np.mean(PRINTED["table1"]["frank"])
    )


def test_section5_says_of_each_claim_at_how_many_cuts_it_holds(real):
    table = make("section5", real)
    assert any("is not LETOR 3.0's" in note for note in table.notes)
    notes = [note for note in table.notes if "the paper says" in note]
    assert len(notes) == len(SAID)
    for note in notes:
        rows = table.frame[table.frame["against"] == note.split(" (")[0]]
        cuts = rows[rows["metric"] != MEAN]
        assert f"higher at {np.sum(cuts[LEAD] > 0)} of 10 cuts" in note
        assert f"significantly better at {np.sum((cuts['Holm p'] < 0.05) & (cuts[LEAD] > 0))}," in note


def test_the_sweep_is_of_both_sets_and_says_where_w_5_is_above_w_1(real):
    table = make("widths", real)
    assert set(table.frame["data set"]) == {"OHSUMED", "MQ2008"}
    assert list(dict.fromkeys(table.frame["width"])) == [*(f"W = {w}" for w in WIDTHS), CHOSEN, CHOSEN_BY_CUT]
    assert any("W = 5 is above W = 1 at 10 of 10 cuts" in note for note in table.notes)
    assert any("Of 6 runs (folds and seeds) validation NDCG@10 chose W = 10 in 6." in note for note in table.notes)


def test_other_tables_by_their_numbers(real):
    circles = make("circles", real).frame
    assert (
        circles[["test queries", "with circles", "triples", "in circles"]].to_numpy().tolist() == [[6, 1, 336, 1]] * 3
    )
    assert_allclose(circles["in circles %"], 100 / 336)
    chosen = make("chosen", real).frame
    assert chosen["chosen"].tolist() == ["alpha 1 (3); alpha 2 (3)"] * len(chosen)
    assert len(chosen) == len(WIDTHS) + len(BESIDE) + 1
    readings = make("readings", real).frame
    assert readings["reading"].tolist() == list(READINGS)
    assert_allclose(readings["of the last epoch"], 0.15)  # the mean of .1 and .2
    timed = replace(real, choices={("ohsumed", method): [{"tried": [1], "seconds": 2.0}] for method in METHODS})
    assert any("SortNet" in note and "benchmarks/energyndcg2011" in note for note in make("times", timed).notes)
    table2 = make("table2", real).frame
    assert list(dict.fromkeys(table2["system"])) == ["EnergyNDCG, W = 5", "EnergyNDCG, W chosen", "RANKSVM", "SortNet"]


def test_no_printed_number_stands_beside_simulated_data(simulated, real):
    typed = {value for table in ("table1", "table2") for values in PRINTED[table].values() for value in values}
    for name in ("table1", "section5", "section5_chosen", "table2", "widths"):
        table = make(name, simulated)
        assert not any("paper" in column for column in table.frame.columns)
        assert not {"paper", "ours - paper"} & set(table.frame.get("value", ()))
        assert not typed & set(table.frame.select_dtypes("number").to_numpy().ravel())
        assert any("SIMULATED" in note for note in table.notes)
    # Table II's data was never published: no number of the paper's stands in it, whatever it is made of.
    assert "paper" not in set(make("table2", real).frame["value"])


# Figures


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_drawn(real, name):
    figure = FIGURES[name](PAPER["figures"][name], real)
    assert len(figure.axes) == 2
    plt.close(figure)


def test_figure1_joins_neighbours_up_to_the_width(real):
    figure = FIGURES["figure1"](PAPER["figures"]["figure1"], real)
    assert [len(axis.lines) + len(axis.patches) for axis in figure.axes] == [5, 5 + 4]
    plt.close(figure)


def test_figure2_shows_the_means_of_each_width_with_bars(real):
    figure = FIGURES["figure2"](PAPER["figures"]["figure2"], real)
    axis = figure.axes[0]
    assert axis.get_legend_handles_labels()[1] == [*(f"W = {width}" for width in WIDTHS), CHOSEN_BY_CUT]
    heights = axis.containers[WIDTHS.index(5)][0].get_ydata().astype(float)
    assert_allclose(heights, [level(5, k) for k in range(1, 11)])
    plt.close(figure)


def test_without_mq2008_figure2_has_one_panel(real):
    roles = {name: name for name in ("ohsumed", "aol")}
    alone = replace(real, protocol=replace(real.protocol, roles=roles))
    figure = FIGURES["figure2"](PAPER["figures"]["figure2"], alone)
    assert len(figure.axes) == 1
    plt.close(figure)
