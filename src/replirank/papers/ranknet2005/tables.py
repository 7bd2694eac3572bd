"""ranknet2005: RankNet on draws of the artificial tasks (section 5), and six systems on other data (section 6)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.papers.common import Entry, stand_in
from replirank.papers.common.tables import PAPERS_OWN_DATA, same_order, splits_table, stand_in_notes
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table

NETS = {"linear": "linear", "two_layer": "two-layer"}
# The printed rows of "poly" stand beside both of its readings.
TASKS = {
    "net": "net",
    "poly": "poly, terms of unit variance, as the paper says",
    "poly_variance": "poly, terms divided by their variance (hypothesis)",
}
POLYNOMIALS = ("poly", "poly_variance")
PRINTED_AS = {"net": "net", "poly": "poly", "poly_variance": "poly"}
METRIC = "ndcg@15"
LINEAR, TWO_LAYER = "ranknet_linear", "ranknet_two_layer"


# Section 5: artificial data, exactly as the paper specifies it


def drawn(evidence: Evidence, table: str) -> pd.DataFrame:
    """The rows of all draws that belong to this table."""
    frame = pd.concat([pd.read_csv(path) for path in evidence.needs], ignore_index=True)
    return frame[frame["table"] == table].drop(columns="table")


def draws_note(frame: pd.DataFrame) -> str:
    return (
        f"Mean and standard deviation over {frame['draw'].nunique()} draws; a draw is a new target function with new "
        "data. The paper has one."
    )


READINGS_NOTE = (
    "The polynomial has two readings. As the paper says it, each term has unit variance: it is divided by its standard "
    "deviation. That the terms were divided by their variance is a hypothesis, found by comparing readings with the "
    "printed values. Both readings have the same draws."
)


def beside(ours: pd.Series, printed: float) -> dict[str, float]:
    """Ours over the draws, the paper's, and the difference."""
    mean = float(ours.mean())
    return {"ours": mean, "sd": float(ours.std()), "paper": float(printed), "difference": mean - printed}


def whole_mean(counts: pd.Series) -> int:
    return round(float(counts.mean()))


def table1(entry: Entry, evidence: Evidence) -> Table:
    frame, printed = drawn(evidence, "table1"), evidence.paper["printed"]["table1"]
    rows = []
    for task, net in itertools.product(TASKS, NETS):
        for vectors, value in zip(printed["vectors"], printed[PRINTED_AS[task]][net], strict=True):
            test = of(frame, task=task, net=net, vectors=vectors, split="test")
            rows.append(
                {
                    "data": "artificial",
                    "task": TASKS[task],
                    "net": NETS[net],
                    "train size": vectors,
                    **beside(test["correct"], value),
                    "training pairs": whole_mean(test["trained_pairs"]),
                    "epoch kept": whole_mean(test["epoch"]),
                }
            )
    notes = [
        draws_note(frame),
        READINGS_NOTE,
        "Two-layer nets have five hidden units, the net that made the labels has ten. Training pairs and the epoch "
        "that validation kept are means over the draws, rounded.",
    ]
    return Table(entry["title"], pd.DataFrame(rows), notes, decimals=2, signed=["difference"])


def gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Two-layer minus linear in test % correct: a row for each task, size and draw."""
    wide = frame[frame["split"] == "test"].pivot(index=["task", "vectors", "draw"], columns="net", values="correct")
    return (wide["two_layer"] - wide["linear"]).rename("gap").reset_index()


def table1_gaps(entry: Entry, evidence: Evidence) -> Table:
    """The paper's finding is in the gaps: they differ less from draw to draw than the levels do."""
    frame, printed = drawn(evidence, "table1"), evidence.paper["printed"]["table1"]
    ours = gaps(frame)
    rows = []
    for task in TASKS:
        for place, vectors in enumerate(printed["vectors"]):
            here = of(ours, task=task, vectors=vectors)["gap"]
            of_task = printed[PRINTED_AS[task]]
            value = of_task["two_layer"][place] - of_task["linear"][place]
            rows.append(
                {
                    "data": "artificial",
                    "task": TASKS[task],
                    "train size": vectors,
                    **beside(here, value),
                    "draws": len(here),
                    "draws with the paper's sign": int(np.sum(np.sign(here) == np.sign(value))),
                }
            )
    signed = ["ours", "paper", "difference"]
    notes = [draws_note(frame), READINGS_NOTE]
    return Table(entry["title"], pd.DataFrame(rows), notes, decimals=2, signed=signed)


def table1_updates(entry: Entry, evidence: Evidence) -> Table:
    """Updates after each pair, as in the paper, beside those after each query, in the draws that have both."""
    frame, printed = pd.concat([drawn(evidence, name) for name in ("table1", "updates")]), evidence.paper["printed"]
    test = frame[frame["split"] == "test"]
    by_update = test.pivot(index=["task", "net", "vectors", "draw"], columns="update", values="correct").dropna()
    rows = []
    for task, net in itertools.product(TASKS, NETS):
        for vectors, value in zip(printed["table1"]["vectors"], printed["table1"][PRINTED_AS[task]][net], strict=True):
            here = of(by_update.reset_index(), task=task, net=net, vectors=vectors)
            gain = here["pair"] - here["query"]
            rows.append(
                {
                    "data": "artificial",
                    "task": TASKS[task],
                    "net": NETS[net],
                    "train size": vectors,
                    "update per query": here["query"].mean(),
                    "update per pair": here["pair"].mean(),
                    "pair - query": gain.mean(),
                    "sd": gain.std(),
                    "paper": value,
                    "per pair - paper": here["pair"].mean() - value,
                    "draws": len(here),
                }
            )
    # Where there is one draw, the largest training set has none.
    table = pd.DataFrame(rows).query("draws > 0")
    notes = [
        "Test pairwise % correct. The paper updates the weights after each pair, our Table 1 after each query. Both "
        "have the same draws, the same learning rate (0.001) and the same rule that halves it.",
        "sd is that of pair - query over the draws. With 12,500 vectors only every other draw is trained pair by pair: "
        "a pass is over 255,000 pairs.",
        READINGS_NOTE,
    ]
    return Table(entry["title"], table, notes, decimals=2, signed=["pair - query", "per pair - paper"])


def table2(entry: Entry, evidence: Evidence) -> Table:
    frame, printed = drawn(evidence, "table2"), evidence.paper["printed"]["table2"]
    rows = []
    trained_on = {"no_ties": False, "all_ties": True}
    for task, (place, vectors), name in itertools.product(POLYNOMIALS, enumerate(printed["vectors"]), trained_on):
        test = of(frame, task=task, ties=trained_on[name], vectors=vectors, split="test")
        pairs = whole_mean(test["trained_pairs"])
        rows.append(
            {
                "data": "artificial",
                "task": TASKS[task],
                "train size": vectors,
                "trained on": name.replace("_", " "),
                **beside(test["correct"] / 100, printed[name][place]),
                "training pairs": pairs,
                "training pairs, paper": printed[f"{name}_pairs"][place],
                "pairs difference": pairs - printed[f"{name}_pairs"][place],
            }
        )
    effects = [f"{tie_effect(of(frame, task=task)):+.4f} with {TASKS[task]}" for task in POLYNOMIALS]
    notes = [
        draws_note(frame),
        "Two-layer nets with ten hidden units. Correct is the share of test pairs with different labels in the right "
        "order; pairs of equal labels are trained on with target probability 1/2, and never tested on.",
        READINGS_NOTE,
        f"All ties minus no ties, over all sizes and draws: {'; '.join(effects)}.",
    ]
    return Table(entry["title"], pd.DataFrame(rows), notes, signed=["difference"])


def tie_effect(frame: pd.DataFrame) -> float:
    """What training on ties adds to the share of correct test pairs, on the mean over sizes and draws."""
    means = frame[frame["split"] == "test"].groupby("ties")["correct"].mean() / 100
    return float(means[True] - means[False])


def capacity(entry: Entry, evidence: Evidence) -> Table:
    frame, printed = drawn(evidence, "capacity"), evidence.paper["printed"]["capacity"]
    train, vali, test = (of(frame, split=split) for split in ("train", "vali", "test"))
    found = {
        "training pairs": (train["trained_pairs"], printed["pairs"]),
        "training error, %": (100 - train["correct"], printed["train_error"]),
        "training pairs in the wrong order": (train["wrong"], 0),
        "validation error, %": (100 - vali["correct"], printed["vali_error"]),
        "test error, %": (100 - test["correct"], printed["test_error"]),
    }
    rows = [{"data": "artificial", "quantity": name, **beside(*values)} for name, values in found.items()]
    zero = int(np.sum(train["wrong"] == 0))
    epochs, starts = (f"{train[column].min()} to {train[column].max()}" for column in ("epoch", "starts"))
    notes = [
        draws_note(frame),
        f"Training error fell to zero in {zero} of {len(train)} draws, with {starts} random starts and after {epochs} "
        "epochs from the last of them. The paper does not say how long it took, nor how often it was tried.",
        "Validation and test error are those of the net that gave minimum validation error within 100 epochs.",
    ]
    return Table(entry["title"], pd.DataFrame(rows), notes, decimals=2, signed=["difference"])


def of(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows with these values."""
    return frame[np.logical_and.reduce([frame[column] == value for column, value in values.items()])]


# Section 6: the paper's data is a commercial engine's, so that orders are compared and not levels


def per_query(evidence: Evidence, split: str) -> pd.DataFrame:
    """NDCG@15: a row for each query, a column for each method. A query in several folds counts once, by its mean."""
    dataset, _ = stand_in(evidence)
    column = f"{evidence.convention(dataset)}.{METRIC}"
    rows = evidence.rows(dataset, split)
    wide = rows.pivot_table(index="query", columns="method", values=column, aggfunc="mean")
    return wide[evidence.supported(dataset)].reindex(columns=evidence.methods)


def with_interval(values: pd.Series, name: str) -> dict[str, float]:
    low, high = stats.normal_interval(values) if values.notna().any() else (np.nan, np.nan)
    return {name: float(values.mean()), f"{name} ±": (high - low) / 2}


def metric_note(evidence: Evidence) -> str:
    name = evidence.convention(evidence.dataset("web"))
    return f"Convention {name}: {convention(name).description}. ± is 1.96 standard errors of the mean over queries."


def table3(entry: Entry, evidence: Evidence) -> Table:
    return splits_table(entry, evidence, "table3")


def table4(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    printed = evidence.paper["printed"]["table4"]
    vali, test = per_query(evidence, "vali"), per_query(evidence, "test")
    ours = test.mean()
    places = ours.rank(ascending=False, method="min").astype("Int64")
    rows = []
    for method in evidence.methods:
        row = {
            "data": evidence.origin(dataset),
            "system": evidence.title(method),
            "validation": float(vali[method].mean()),
            **with_interval(test[method], "test"),
            "place": places[method],
        }
        if comparable:
            theirs = printed.get(method, {})
            for name, column in (("validation", "vali"), ("test", "test"), ("test ±", "interval")):
                row[f"{name}, {PAPERS_OWN_DATA}"] = theirs.get(column, np.nan)
        rows.append(row)
    notes = [metric_note(evidence), *stand_in_notes(evidence)]
    if comparable:
        same, pairs = same_order(ours, {method: values["test"] for method, values in printed.items()})
        notes.append(f"{same} of {pairs} pairs of systems have the paper's order on the test queries.")
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def table5(entry: Entry, evidence: Evidence) -> Table:
    """The paper gives its nets alone, to see whether they are at capacity: training beside test."""
    dataset, comparable = stand_in(evidence)
    train, test = per_query(evidence, "train"), per_query(evidence, "test")
    rows = []
    for method, printed in evidence.paper["printed"]["table5"].items():
        if method in evidence.methods:
            trained, tested = with_interval(train[method], "training"), float(test[method].mean())
            row = {"data": evidence.origin(dataset), "system": evidence.title(method), **trained}
            row |= {"training - test": trained["training"] - tested}
            if comparable:
                row |= {
                    f"training, {PAPERS_OWN_DATA}": printed["train"],
                    f"training ±, {PAPERS_OWN_DATA}": printed["interval"],
                }
            rows.append(row)
    notes = [metric_note(evidence), "A query that is trained on in several folds counts once, by its mean."]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "system"])
    title = f"{entry['title']}: {evidence.label(dataset)}"
    return Table(title, frame, [*notes, *stand_in_notes(evidence)], signed=["training - test"])


def table6(entry: Entry, evidence: Evidence) -> Table:
    """In the paper's order, fastest first; its minutes are for other data on a machine of 2005."""
    dataset, comparable = stand_in(evidence)
    rows = []
    for method, minutes in evidence.paper["printed"]["table6"].items():
        if (dataset, method) in evidence.choices:
            folds = evidence.choices[dataset, method]
            row = {"data": evidence.origin(dataset), "system": evidence.title(method)}
            row |= {"seconds": float(np.mean([fold["seconds"] / trainings(fold) for fold in folds]))}
            row |= {"trained at once": len(folds[0]["tried"]) // trainings(folds[0]), "folds": len(folds)}
            if comparable:
                row[f"minutes, {PAPERS_OWN_DATA}"] = minutes
            rows.append(row)
    notes = [
        "Seconds of one training of up to 100 epochs, on the mean over folds (and over grid points that are trained "
        "one by one), on one thread, compilation included. OAP-BPM trains all ensembles of its grid at once.",
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "system", "seconds"])
    title = f"{entry['title']}: {evidence.label(dataset)}"
    return Table(title, frame, [*notes, *stand_in_notes(evidence)], decimals=2)


def trainings(fold: Mapping[str, Any]) -> int:
    """How many trainings a fold's seconds are those of: one where all grid points were trained at once."""
    return 1 if fold["at_once"] else len(fold["tried"])


def wilcoxon(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    rows = []
    if {LINEAR, TWO_LAYER} <= set(evidence.supported(dataset)):
        test = per_query(evidence, "test")
        result = stats.wilcoxon(test[TWO_LAYER].to_numpy(), test[LINEAR].to_numpy())
        row = {
            "data": evidence.origin(dataset),
            "A": evidence.title(TWO_LAYER),
            "B": evidence.title(LINEAR),
            "queries": result.n,
            "A - B": float((test[TWO_LAYER] - test[LINEAR]).mean()),
            "Wilcoxon p": result.p,
        }
        if comparable:
            printed = evidence.paper["printed"]
            row[f"A - B, {PAPERS_OWN_DATA}"] = printed["table4"][TWO_LAYER]["test"] - printed["table4"][LINEAR]["test"]
            row[f"rejected at, {PAPERS_OWN_DATA}"] = printed["wilcoxon"]["rejected_at"]
        rows.append(row)
    notes = ["Two-sided, over all test queries; the null hypothesis is that the medians are the same."]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "A", "B"])
    signed = ["A - B", f"A - B, {PAPERS_OWN_DATA}"]
    title = f"{entry['title']}: {evidence.label(dataset)}"
    return Table(title, frame, [*notes, *stand_in_notes(evidence)], signed=signed)


TABLES = {
    "table1": table1,
    "table1_gaps": table1_gaps,
    "table1_updates": table1_updates,
    "table2": table2,
    "capacity": capacity,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "wilcoxon": wilcoxon,
}
