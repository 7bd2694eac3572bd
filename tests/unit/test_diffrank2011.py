"""diffrank2011: its experiment on small lists, its tables and figures from made-up evidence, what was typed."""

from __future__ import annotations

import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT, ranking
from numpy.testing import assert_array_equal

from replirank.data.arrays import Dataset, Fold
from replirank.evaluation import stats
from replirank.papers.diffrank2011.figures import FIGURES
from replirank.papers.diffrank2011.lists import (
    ALL,
    EXPERIMENTS,
    FIGURE,
    FIRST_50,
    FIRST_SHARE,
    THEOREM,
    run,
    with_shorter_training_lists,
)
from replirank.papers.diffrank2011.random_lists import random_lists
from replirank.papers.diffrank2011.tables import MEASURES, TABLES
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol

PAPER = yaml.safe_load((ROOT / "src/replirank/papers/diffrank2011/paper.yaml").read_text())
METHODS = ["svm_map", "listmle", "featurerank", "diffrank", "best_feature"]
TITLES = {
    "svm_map": "SVM-MAP",
    "listmle": "ListMLE",
    "featurerank": "FeatureRank (reconstruction)",
    "diffrank": "DiffRank",
    "best_feature": "Best single feature",
}
FOLDS, QUERIES = 2, 6
# Kendall tau of each system; its top-10 rate is 1 less that.
LEVELS = {
    ("svm_map", FIRST_SHARE, ""): 0.20,
    ("svm_map", ALL, ""): 0.10,
    ("listmle", ALL, ""): 0.30,
    ("best_feature", ALL, ""): 0.50,
    ("featurerank", ALL, ""): 0.25,
    ("diffrank", FIRST_50, THEOREM): 0.15,
    ("diffrank", FIRST_50, FIGURE): 0.40,
    ("diffrank", ALL, THEOREM): 0.15,
    ("diffrank", ALL, FIGURE): 0.45,
}


# The experiment


def strict(queries=10, documents=70, seed=0) -> Dataset:
    random = np.random.default_rng(seed)
    features = random.normal(size=(queries * documents, 3))
    worth = features[:, 0] + 0.2 * random.normal(size=len(features))
    labels = np.concatenate([part.argsort().argsort() for part in np.split(worth, queries)])
    data = ranking(features, labels, [documents] * queries)
    return Dataset(data, (Fold(np.arange(6), np.array([6, 7]), np.array([8, 9])),))


def run_small(dataset, experiment, **grid):
    settings = {"convention": "letor4", "select_by": "kendall_tau", "seed": 7, "report": lambda text: None}
    return run(dataset, experiment, name="lists", grid=grid, **settings)


@pytest.mark.parametrize(("part", "first"), [(FIRST_50, 50), (FIRST_SHARE, 4)])
def test_training_lists_have_their_first_documents_and_others_are_whole(part, first):
    dataset = strict()
    short = with_shorter_training_lists(dataset, part)
    train = short.split(0, "train")
    assert train.lengths.tolist() == [first] * 6
    for rows, whole in zip(train, dataset.split(0, "train"), strict=False):
        ours = dataset.split(0, "train")
        best = np.argsort(-ours.labels[whole])[:first]
        assert_array_equal(np.sort(train.labels[rows]), np.sort(ours.labels[whole][best]))
        assert_array_equal(np.sort(train.features[rows, 0]), np.sort(ours.features[whole][best, 0]))
    for split in ("vali", "test"):
        assert short.split(0, split).checksum() == dataset.split(0, split).checksum()
    assert with_shorter_training_lists(dataset, ALL) is dataset


def test_diffrank_has_both_readings_on_both_parts_and_its_bound_holds():
    metrics, history = run_small(strict(), "diffrank")
    trials = [(part, reading) for part in (FIRST_50, ALL) for reading in (THEOREM, FIGURE)]
    assert list(metrics.groupby(["part", "reading"], sort=False).groups) == trials
    assert (metrics.groupby(["part", "reading"]).size() == 2).all()
    assert set(metrics["split"]) == {"test"}
    theorem = history[history["reading"] == THEOREM]
    assert theorem.groupby("part")["round"].apply(list).to_dict() == {FIRST_50: [1, 2, 3], ALL: [1, 2, 3]}
    assert (theorem["error"] <= theorem["loss"]).all()
    # The first feature tells the order.
    assert (metrics["kendall_tau"] < 0.2).all()


def test_svm_map_chooses_how_many_are_relevant():
    metrics, _ = run_small(strict(), "svm_map", C=[1000.0])
    assert set(metrics["part"]) == {FIRST_SHARE}
    (chosen,) = set(metrics["chosen"])
    assert re.fullmatch(r"C 1000, relevant 0.\d+", chosen)
    assert len(EXPERIMENTS["svm_map"][0].grid["relevant"]) == 4
    assert (metrics["kendall_tau"] < 0.2).all()


def test_graded_lists_are_trained_on_whole():
    dataset = strict(documents=30)
    graded = replace(dataset, data=replace(dataset.data, labels=np.floor(dataset.data.labels / 10)))
    metrics, history = run_small(graded, "diffrank")
    assert set(metrics["part"]) == set(history["part"]) == {ALL}


# Tables from made-up evidence


def made_up(folder, origin, needs="metrics"):
    random = np.random.default_rng(0)
    place = [(fold, query) for fold in range(1, FOLDS + 1) for query in range(10 * fold, 10 * fold + QUERIES)]
    dataset, keys = "td2003_list", pd.DataFrame(place, columns=["fold", "query"]).assign(split="test")
    frames = {}
    for (method, part, reading), level in LEVELS.items():
        tau = level + 0.01 * random.normal(size=len(keys))
        frames[method, part, reading] = keys.assign(
            kendall_tau=tau, top10=1 - tau, part=part, reading=reading, chosen="relevant 0.1" if reading == "" else ""
        )
    tidy = [
        frame.assign(method=method, dataset=dataset)
        for (method, part, reading), frame in frames.items()
        if part == ALL and reading != FIGURE
    ]
    (folder / dataset).mkdir()
    paths = []
    for method in ("diffrank", "svm_map"):
        paths.append(folder / dataset / f"{method}_metrics.parquet")
        own = [frame for (m, part, _), frame in frames.items() if m == method and (m == "diffrank" or part != ALL)]
        pd.concat(own).to_parquet(paths[-1])
    if needs == "history":
        paths = [folder / dataset / "diffrank_history.parquet"]
        rounds_of_fold(random).to_parquet(paths[0])
    return Evidence(
        protocol=Protocol("diffrank2011", {"derived": dataset}, METHODS, {dataset: "letor3"}, "kendall_tau", [], 1),
        paper=PAPER,
        seed=1,
        flips=500,
        titles=TITLES,
        metrics=pd.concat(tidy),
        cards={dataset: {"title": "Lists", "origin": origin, "note": ""}},
        needs=paths,
    )


def rounds_of_fold(random):
    """Theorem 2: falls and bounds. Figure 1: rises once, and the error is above it in the last two of five rounds."""
    rows = []
    for part in (FIRST_50, ALL):
        for fold in range(1, FOLDS + 1):
            for reading, loss, error in (
                (THEOREM, [0.9, 0.8, 0.7, 0.65, 0.6], [0.4, 0.3, 0.31, 0.2, 0.1]),
                (FIGURE, [0.9, 0.95, 0.5, 0.3, 0.2], [0.4, 0.4, 0.4, 0.4, 0.4]),
            ):
                for number, (one, other) in enumerate(zip(loss, error, strict=True), 1):
                    place = {"part": part, "reading": reading, "fold": fold, "round": number}
                    rows.append({**place, "loss": one, "error": other, "kendall": other - 0.05 + 0.01 * fold})
    return pd.DataFrame(rows)


ENTRY = {"title": "Table 1", "role": "derived"}


def test_table1_has_the_papers_rows_and_what_stands_beside_them(tmp_path):
    table = TABLES["table1"](ENTRY, made_up(tmp_path, "derived")).frame.set_index("method")
    assert table["trained on"].to_dict() == {
        "SVM-MAP": FIRST_SHARE,
        "SVM-MAP, all documents": "all documents, of which the first 5% are relevant",
        "ListMLE": ALL,
        "FeatureRank (reconstruction)": ALL,
        "DiffRank": FIRST_50,
        "DiffRank, Figure 1's differences": FIRST_50,
        "DiffRank, all documents": ALL,
        "Best single feature": ALL,
    }
    assert table.loc["SVM-MAP", "Kendall tau"] == pytest.approx(0.20, abs=0.01)
    assert table.loc["SVM-MAP, all documents", "top-10 rate"] == pytest.approx(0.90, abs=0.01)
    assert table.loc["DiffRank, Figure 1's differences", "Kendall tau"] == pytest.approx(0.40, abs=0.01)
    assert (table["Kendall tau \N{PLUS-MINUS SIGN}"] < 0.01).all()


def test_table1_says_what_validation_chose_of_a_part(tmp_path):
    notes = TABLES["table1"](ENTRY, made_up(tmp_path, "derived")).notes
    assert [note for note in notes if note.startswith("Chosen")] == [
        f"Chosen for SVM-MAP on the {FIRST_SHARE}, fold by fold: relevant 0.1; relevant 0.1."
    ]


@pytest.mark.parametrize("origin", ["derived", "simulated"])
def test_published_values_stand_beside_real_data_only(tmp_path, origin):
    table = TABLES["table1"](ENTRY, made_up(tmp_path, origin))
    assert set(table.frame["data"]) == {origin}
    assert not [column for column in table.frame if "published" in column or "difference" in column]
    assert not any("Wang" in note for note in table.notes)
    (tmp_path / "real").mkdir()
    real = TABLES["table1"](ENTRY, made_up(tmp_path / "real", "real")).frame.set_index("method")
    assert real["Kendall tau published"].dropna().to_dict() == {
        "SVM-MAP": 0.204,
        "ListMLE": 0.294,
        "FeatureRank (reconstruction)": 0.208,
        "DiffRank": 0.134,
    }
    assert real.loc["ListMLE", "top-10 rate published"] == 0.099
    assert real.loc["DiffRank", "Kendall tau difference"] == pytest.approx(real.loc["DiffRank", "Kendall tau"] - 0.134)


def test_the_tests_say_who_is_better_by_the_direction_of_the_measure(tmp_path):
    evidence = made_up(tmp_path, "derived")
    frame = TABLES["tests"](ENTRY, evidence).frame
    assert len(frame) == 2 * 7
    for measure in ("Kendall tau", "top-10 rate"):
        better = frame[frame["measure"] == measure].set_index("against")["better"].to_dict()
        assert better["SVM-MAP, all documents"] == "other"  # 0.10 is better than 0.15
        assert better["ListMLE"] == better["DiffRank, Figure 1's differences"] == "DiffRank"
        assert better["DiffRank, all documents"] == "neither"
    row = frame.iloc[0]
    assert row["DiffRank - other"] == pytest.approx(row["DiffRank"] - row["other"])
    assert row["95% from"] <= row["DiffRank - other"] <= row["95% to"]
    assert_array_equal(frame["Holm p"], stats.holm(frame["randomization p"]))


def test_featurerank_is_called_a_reconstruction_wherever_it_appears(tmp_path):
    evidence = made_up(tmp_path, "derived")
    for kind in ("table1", "tests"):
        table = TABLES[kind](ENTRY, evidence)
        assert any("reconstruction" in note for note in table.notes)
        cells = table.frame.astype(str).to_numpy().ravel()
        assert all("reconstruction" in cell for cell in cells if "FeatureRank" in cell)


def test_the_table_of_the_bound_counts_what_holds(tmp_path):
    table = TABLES["bound"]({"title": "Bound"}, made_up(tmp_path, "derived", needs="history"))
    frame = table.frame
    assert len(frame) == 4
    assert any("did not fall in 4 of 20 rounds, and the error was above it in 8;" in note for note in table.notes)
    theorem, figure = (frame[frame["reading"] == reading].iloc[0] for reading in (THEOREM, FIGURE))
    counts = ["rounds", "product fell in", "error above product in", "error fell in"]
    # Of two folds: the error of Theorem 2 falls in four of the five rounds, before which it is .5.
    assert theorem[counts].tolist() == [10, 10, 0, 8]
    assert figure[counts].tolist() == [10, 8, 4, 2]
    assert theorem["product, last"] == pytest.approx(0.6)
    assert theorem["error, first"] == pytest.approx(0.4)
    assert theorem["Kendall tau, last"] == pytest.approx(0.1 - 0.05 + 0.015)


def test_on_random_lists_theorem_2_always_bounds_and_figure_1_does_not(tmp_path):
    frame = random_lists(seed=1, lists=40)
    theorem, figure = (frame[frame["reading"] == reading] for reading in (THEOREM, FIGURE))
    assert (theorem["fell"] == theorem["rounds"]).all()
    assert (theorem["rounds"] == 46).all()
    assert (theorem["above"] == 0).all()
    assert (figure["above"] > 0).any()
    frame.to_parquet(tmp_path / "lists.parquet")
    evidence = replace(made_up(tmp_path, "derived"), needs=[tmp_path / "lists.parquet"])
    table = TABLES["random_lists"]({"title": "Random"}, evidence).frame
    assert table.iloc[0, 2:].tolist() == [40, 40, 0, 0]
    assert table.iloc[1, 2:].tolist() == [
        40,
        sum(figure["fell"] == figure["rounds"]),
        sum(figure["above"] > 0),
        sum(figure["rounds"] < 46),
    ]
    assert set(table["data"]) == {"artificial"}


def test_figure2_shows_bound_and_error_of_both_readings(tmp_path):
    figure = FIGURES["figure2"]({"role": "derived"}, made_up(tmp_path, "derived", needs="history"))
    assert [len(axis.get_lines()) for axis in figure.axes] == [4, 2, 4]
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == pytest.approx([0.9, 0.8, 0.7, 0.65, 0.6])
    assert figure.axes[2].get_lines()[1].get_ydata().tolist() == pytest.approx([0.4] * 5)
    looks = {(line.get_color(), line.get_linestyle(), line.get_linewidth()) for line in figure.axes[0].get_lines()}
    assert len(looks) == 4
    assert all("derived" in axis.get_title() for axis in figure.axes)
    plt.close(figure)


def test_the_paper_is_typed_as_its_text_says():
    printed = PAPER["printed"]["table1"]
    assert list(printed) == METHODS[:4]
    assert min(printed, key=lambda method: printed[method]["kendall_tau"]) == "diffrank"
    assert max(printed, key=lambda method: printed[method]["top10"]) == "diffrank"
    assert all(set(values) == set(MEASURES) for values in printed.values())
