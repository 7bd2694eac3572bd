"""diffrank2011 on real documents: Theorem 1 trained anew, and the reference run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT

from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.papers.diffrank2011 import lists
from replirank.papers.diffrank2011.lists import ALL, FIRST_50, THEOREM, run

REFERENCE = ROOT / "docs/reference/diffrank2011"


@pytest.mark.parametrize(
    ("name", "parts", "rounds"),
    [("ohsumed", {ALL}, 36), ("mq2008", {ALL}, 40), ("td2003_list", {FIRST_50, ALL}, 55)],
)
def test_the_bound_falls_in_every_round_and_is_above_the_error(real_data, monkeypatch, name, parts, rounds):
    """A round for each feature that orders any list: of OHSUMED's 45 features nine are the same in each list."""
    trials = [trial for trial in lists.EXPERIMENTS["diffrank"] if trial.reading == THEOREM]
    monkeypatch.setitem(lists.EXPERIMENTS, "diffrank", trials)
    dataset = prepare(spec(name), source=real_data(name), report=lambda text: None).dataset
    settings = {"convention": "letor3", "select_by": "kendall_tau", "seed": 1, "report": lambda text: None}
    _, history = run(dataset, "diffrank", name=name, grid={}, **settings)
    assert set(history["part"]) == parts
    assert (history["error"] < history["loss"]).all()
    for _, fold in history.groupby(["part", "fold"]):
        assert np.all(np.diff(fold["loss"], prepend=1.0) < 0)
        assert len(fold) == rounds
        assert fold["error"].iloc[-1] < fold["error"].iloc[0]


# The reference run, whose tables are committed


def test_in_the_reference_run_theorem_1_holds_on_every_data_set():
    found = pd.concat([pd.read_csv(REFERENCE / f"{name}.csv") for name in ("bound", "bound_simulated")])
    assert set(found["data set"]) == {"OHSUMED", "MQ2008", "TD2003 lists", "MQ2008-list"}
    theorem = found[found["reading"] == THEOREM]
    assert (theorem["product fell in"] == theorem["rounds"]).all()
    assert (theorem["error above product in"] == 0).all()
    random = pd.read_csv(REFERENCE / "random_lists.csv").set_index("reading")
    assert random.loc[
        THEOREM, ["lists", "product fell in every round", "error above product in some round"]
    ].tolist() == [
        1000,
        1000,
        0,
    ]
    assert random.loc["Figure 1", "error above product in some round"] > 0


def test_in_the_reference_run_svm_map_is_at_letors_level():
    tables = {name: pd.read_csv(ROOT / f"docs/reference/letor/{name}.csv") for name in ("ohsumed", "td2003", "mq2008")}
    ohsumed, td2003, mq2008 = (table.set_index("method").loc["SVM-MAP"] for table in tables.values())
    assert abs(ohsumed["MAP difference"]) <= 0.015
    assert abs(ohsumed["NDCG@10 difference"]) <= 0.02
    assert abs(td2003["MAP difference"]) <= 0.03
    assert mq2008["MAP"] >= 0.46


def test_derived_simulated_and_real_share_no_table_and_nothing_published_stands_beside_them():
    for path in REFERENCE.glob("*.csv"):
        table = pd.read_csv(path)
        origins = set(table["data"])
        assert len(origins & {"simulated"}) == 0 or origins == {"simulated"}, path
        if "table1" in path.stem or "tests" in path.stem:
            assert len(origins) == 1
            assert origins <= {"derived", "simulated"}
            assert not [column for column in table if "published" in column]


def test_the_readme_says_what_the_reference_run_found():
    said = " ".join((ROOT / "README.md").read_text().partition("- **diffrank2011.**")[2].split())
    names = ("table1_derived", "tests_derived", "bound", "bound_simulated", "random_lists", "ohsumed", "mq2008")
    table1, tests, bound, simulated, random, ohsumed, mq2008 = (
        pd.read_csv(REFERENCE / f"{name}.csv") for name in names
    )

    def short(value: float) -> str:
        return f"{value:.3f}".lstrip("0")

    theorem, figure = (bound[bound["reading"] == reading] for reading in (THEOREM, "Figure 1"))
    figure_random = random.set_index("reading").loc["Figure 1"]
    assert figure["error above product in"].sum() == 0
    derived = {
        row["method"]: f"{short(row['Kendall tau'])} and {short(row['top-10 rate'])}" for _, row in table1.iterrows()
    }
    in_paper = ["SVM-MAP", "ListMLE", "FeatureRank (reconstruction)", "DiffRank"]
    of_four = table1.set_index("method").loc[in_paper]
    assert of_four["Kendall tau"].idxmax() == of_four["top-10 rate"].idxmin() == "DiffRank"
    against = tests[tests["against"].isin([*in_paper, "Best single feature"])]
    assert (against["better"] == "other").all()
    graded = {
        name: [short(table.set_index("method").loc[method, "Kendall tau"]) for method in in_paper]
        for name, table in (("OHSUMED", ohsumed), ("MQ2008", mq2008))
    }
    letor = {
        name: pd.read_csv(ROOT / f"docs/reference/letor/{name}.csv").set_index("method").loc["SVM-MAP"]
        for name in ("ohsumed", "td2003", "mq2008")
    }

    def of_letor(name: str) -> str:
        return f"{letor[name]['MAP published']:.4f}".lstrip("0")

    for words in (
        f"fell in each of {theorem['product fell in'].sum()} rounds on lists derived from TD2003",
        f"in each of {simulated[simulated['reading'] == THEOREM]['rounds'].sum()} on simulated lists",
        f"it fell in {figure['product fell in'].sum()} of the {figure['rounds'].sum()}",
        f"above it on {figure_random['error above product in some round']} of 1,000 random lists",
        f"on {figure_random['no coefficient in some round']} a coefficient is not a number",
        f"a Kendall tau of {derived['DiffRank'].replace(' and', ' and a top-10 rate of')}, SVM-MAP "
        f"{derived['SVM-MAP']}",
        f"ListMLE {derived['ListMLE']}, FeatureRank",
        f"could not be had) {derived['FeatureRank (reconstruction)']}, the best single feature alone "
        f"{derived['Best single feature']}.",
        f"(largest Holm p {against['Holm p'].max():.4f})".replace("0.", "."),
        *(f"{d}, {s}, {m} and {f} on {name}" for name, (s, m, f, d) in graded.items()),
        f"a MAP of {short(letor['ohsumed']['MAP'])} on OHSUMED (LETOR: {of_letor('ohsumed')}), "
        f"{short(letor['td2003']['MAP'])} on TD2003 ({of_letor('td2003')}) and "
        f"{short(letor['mq2008']['MAP'])} on MQ2008.",
    ):
        assert words in said, words
