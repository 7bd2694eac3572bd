"""frank2007: FRank on TREC data (section 4.3), and on a stand-in for a commercial engine's data (section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from replirank.data.columns import FRANK_FEATURES
from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.metrics.registry import column_of, display_name, parse
from replirank.papers.common import Entry, stand_in, step_of
from replirank.papers.common.tables import PAPERS_OWN_DATA, same_order, splits_table, stand_in_notes
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table

METRIC = "ndcg@10"
FRANK, TWO_LAYER, BOOST, LINEAR = "frank", "ranknet_two_layer", "rankboost", "ranknet_linear"
FIXED = "bm25_pagerank_fixed"  # the paper's own weights, beside those that validation chose
TREC = (FRANK, "ranksvm", BOOST, TWO_LAYER, LINEAR, "bm25_tuned")
STEPS = {"round": "weak learners", "epoch": "epochs"}


def present(evidence: Evidence, methods: Iterable[str]) -> list[str]:
    """Those of these methods that were run."""
    return [method for method in methods if method in evidence.methods]


def metric_note(evidence: Evidence, dataset: str) -> str:
    name = evidence.convention(dataset)
    return f"Convention {name}: {convention(name).description}. Means over the queries of a fold, then over folds."


# Section 4.3: TREC


def trec_sets(evidence: Evidence) -> list[str]:
    """With all features, and with the paper's 14 where that is run."""
    return [evidence.dataset(role) for role in ("trec", "trec_14") if role in evidence.protocol.roles]


# Of the paper's features: what stands for each here, and whether that is the same.
STANDS_FOR = {
    "BM25": ("BM25 of the whole document", "yes"),
    "MSRA1000": ("BM25 of the extracted title", "no: the score of MSRA's TREC 2004 system is not in LETOR"),
    "PageRank": ("PageRank", "yes"),
    "HostRank": ("HostRank", "yes"),
    "Relevance Propagation": (
        "two by sitemap, six by hyperlinks; topical PageRank, topical HITS authority",
        "eight of ten; the last two spread topics over links, and take the place of what LETOR does not have",
    ),
}


def table1(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    comparable = evidence.origin(dataset) != "simulated"
    rows = []
    for feature, numbers in FRANK_FEATURES.items():
        row = {"data": evidence.origin(dataset), "feature": feature, "number": len(numbers)}
        if comparable:
            row["number, paper"] = evidence.paper["printed"]["table1"][feature]
        what, same = STANDS_FOR[feature]
        rows.append({**row, "LETOR's columns": ", ".join(map(str, numbers)), "which are": what, "the same": same})
    notes = ["Columns are those of LETOR 3.0's .Gov sets, from 1.", *evidence.notes([dataset])]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def trec(entry: Entry, evidence: Evidence) -> Table:
    """What Figure 3 shows."""
    metrics = ["map", *(f"{name}@{k}" for name in ("p", "ndcg") for k in (1, 3, 5, 10))]
    rows, notes = [], []
    for dataset in trec_sets(evidence):
        name = evidence.convention(dataset)
        means = evidence.means(dataset, [f"{name}.{metric}" for metric in metrics])
        for method in present(evidence, TREC):
            values = {display_name(metric): float(means.loc[method, f"{name}.{metric}"]) for metric in metrics}
            features = evidence.cards[dataset]["features"]
            rows.append(
                {
                    "data": evidence.origin(dataset),
                    "features": features,
                    "system": evidence.title(method),
                    **values,
                }
            )
        notes += _trec_notes(evidence, dataset, means[f"{name}.map"])
    notes = [
        metric_note(evidence, trec_sets(evidence)[0]),
        "BM25 is tuned as far as it can be here: the field is chosen on validation.",
        *notes,
        *evidence.notes(trec_sets(evidence)),
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "features", "system"])
    return Table(entry["title"], frame, notes)


def _trec_notes(evidence: Evidence, dataset: str, maps: pd.Series) -> list[str]:
    """What the paper's text says of Figure 3, beside the same of ours."""
    *learned, plain = TREC
    learned = [method for method in learned if method in evidence.supported(dataset)]
    if not learned or plain not in evidence.supported(dataset) or evidence.origin(dataset) == "simulated":
        return []
    gains = {method: 100 * (maps[method] / maps[plain] - 1) for method in learned}
    said = ", ".join(f"{evidence.title(method)} {gain:+.0f}%" for method, gain in gains.items())
    best = evidence.title(max(learned, key=lambda method: maps[method]))
    printed = evidence.paper["printed"]["trec"]
    return [
        f"{evidence.label(dataset)}: MAP over BM25's {maps[plain]:.3f}: {said}; the best is {best}. The paper: BM25 "
        f"about {printed['bm25_map']}, every learned method at least {printed['least_gain']}% above it, FRank best."
    ]


# Section 4.4: a commercial engine's data, for which another set stands in


def table2(entry: Entry, evidence: Evidence) -> Table:
    return splits_table(entry, evidence, "table2")


def table3(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    printed = evidence.paper["printed"]["table3"]
    chosen_by = display_name(evidence.protocol.select_by)
    rows = []
    for method in (method for method in printed if method in evidence.supported(dataset)):
        history = evidence.history[dataset, method]
        steps = chosen_steps(history, evidence.protocol.select_by)
        row = {
            "data": evidence.origin(dataset),
            "system": evidence.title(method),
            "parameter": STEPS[step_of(history)],
            "chosen": round(float(steps.mean())),
            "least": int(steps.min()),
            "most": int(steps.max()),
            f"validation {chosen_by}": float(
                np.mean([fold["validation"] for fold in evidence.choices[dataset, method]])
            ),
        }
        if comparable:
            row[f"chosen, {PAPERS_OWN_DATA}"] = printed[method]["chosen"]
            row[f"validation {chosen_by}, {PAPERS_OWN_DATA}"] = printed[method]["ndcg"]
        rows.append(row)
    notes = [
        f"Chosen by validation {display_name(evidence.protocol.select_by)}, fold by fold: mean, least and most over "
        "folds. The paper took a point in the middle of a flat tail.",
        *falling_note(evidence),
        *stand_in_notes(evidence),
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "system"])
    return Table(f"{entry['title']}: {evidence.label(dataset)}", frame, notes)


def falling_note(evidence: Evidence) -> list[str]:
    """Whether FRank's loss fell in every round: Eq. 3 is a relaxation, so that this is not certain beforehand."""
    notes = []
    for (dataset, method), history in evidence.history.items():
        if method == FRANK:
            rises = history.groupby(["fold", "point"])["loss"].diff() >= 0
            how = "fell in every round"
            if rises.any():
                how = f"failed to fall in {int(rises.sum())} of {len(history):,} rounds"
            notes.append(f"FRank's fidelity loss on its training queries {how} on {evidence.label(dataset)}.")
    return notes


def chosen_steps(history: pd.DataFrame, select_by: str) -> pd.Series:
    """The epoch or round that was kept in each fold: the first of those that validate best."""
    chosen = history[history["chosen"]]
    best = (parse(select_by)[0].sign * chosen["validation"]).groupby(chosen["fold"]).idxmax()
    return chosen.loc[best].set_index("fold")[step_of(history)]


def table4(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    printed = evidence.paper["printed"]["table4"]
    name = evidence.convention(dataset)
    columns = [f"{name}.ndcg@{k}" for k in range(1, 11)]
    means = evidence.means(dataset, columns)
    rows = []
    for place, column in enumerate(columns):
        row: dict[str, Any] = {"data": evidence.origin(dataset), "NDCG@": place + 1}
        for method in present(evidence, (*printed, FIXED)):
            row[evidence.title(method)] = float(means.loc[method, column])
            if comparable and method in printed:
                row[f"{evidence.title(method)}, paper"] = printed[method][place]
        rows.append(row)
    notes = [metric_note(evidence, dataset), *stand_in_notes(evidence)]
    notes += _table4_notes(evidence, dataset, means, comparable)
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def _table4_notes(evidence: Evidence, dataset: str, means: pd.DataFrame, comparable: bool) -> list[str]:
    notes = []
    if (dataset, "bm25_pagerank") in evidence.choices:
        weights = [fold["chosen"]["weight"] for fold in evidence.choices[dataset, "bm25_pagerank"]]
        notes.append(f"PageRank's weight, as validation chose it: {', '.join(f'{weight:g}' for weight in weights)}.")
    if comparable:
        printed, places = evidence.paper["printed"]["table4"], (1, 5, 10)
        for k in places:
            ours = means[f"{evidence.convention(dataset)}.ndcg@{k}"]
            same, pairs = same_order(ours, {method: values[k - 1] for method, values in printed.items()})
            notes.append(f"{same} of {pairs} pairs of systems have the paper's order at NDCG@{k}.")
    if "ranksvm" in evidence.supported(dataset):
        value = means.loc["ranksvm", f"{evidence.convention(dataset)}.{METRIC}"]
        notes.append(f"RankSVM, which ran out of memory in the paper, reaches an NDCG@10 of {value:.4f} here.")
    return notes


def ttest(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    rows = []
    for metric, printed in evidence.paper["printed"]["ttest"].items():
        if not {FRANK, TWO_LAYER} <= set(evidence.supported(dataset)):
            continue
        column = f"{evidence.convention(dataset)}.{metric}"
        wide = evidence.rows(dataset).pivot(index=["fold", "query"], columns="method", values=column)
        a, b = wide[FRANK].to_numpy(), wide[TWO_LAYER].to_numpy()
        result = stats.paired_t(a, b)
        row = {
            "data": evidence.origin(dataset),
            "metric": display_name(metric),
            "A": evidence.title(FRANK),
            "B": evidence.title(TWO_LAYER),
            "queries": result.n,
            "A - B": float(np.nanmean(a - b)),
            "t-test p": result.p,
        }
        if comparable:
            theirs, place = evidence.paper["printed"]["table4"], int(metric.partition("@")[2]) - 1
            row[f"A - B, {PAPERS_OWN_DATA}"] = theirs[FRANK][place] - theirs[TWO_LAYER][place]
            row[f"{PAPERS_OWN_DATA} p"] = printed
        rows.append(row)
    notes = ["Paired, two-sided, over all test queries. The paper does not say how many sides its test has."]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "metric", "A", "B"])
    signed = ["A - B", f"A - B, {PAPERS_OWN_DATA}"]
    title = f"{entry['title']}: {evidence.label(dataset)}"
    return Table(title, frame, [*notes, *stand_in_notes(evidence)], signed=signed)


# Section 4.4.4: training sets of several sizes


def drawn(evidence: Evidence) -> pd.DataFrame:
    """The rows of all methods and draws. The full size has no draws: there `test` is missing."""
    return pd.concat([pd.read_csv(path) for path in evidence.needs], ignore_index=True)


def table5(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    frame, printed = drawn(evidence), evidence.paper["printed"]["table5"]
    rows = []
    for (twelfths, here), theirs in zip(frame.groupby("twelfths"), printed, strict=True):
        row = {"data": evidence.origin(dataset), "part": f"{twelfths}/12"}
        for counted in ("queries", "documents", "pairs"):
            row[counted] = round(float(here[counted].mean()))
            if comparable:
                row[f"{counted}, {PAPERS_OWN_DATA}"] = theirs[counted]
        rows.append(row)
    notes = ["Training queries of a fold, on the mean over folds and draws.", *stand_in_notes(evidence)]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def by_size(evidence: Evidence) -> pd.DataFrame:
    """The metric that chooses, on test: the mean over folds of each draw, then mean and spread over draws."""
    dataset, _ = stand_in(evidence)
    frame = drawn(evidence).dropna(subset="test")
    draws = frame.groupby(["method", "twelfths", "draw"])["test"].mean()
    found = draws.groupby(["method", "twelfths"]).agg(["mean", "std", "size"]).reset_index()
    column = column_of(evidence.protocol.select_by, evidence.convention(dataset))
    full = evidence.means(dataset, [column])[column].rename("mean").rename_axis("method").reset_index()
    full = full[full["method"].isin(found["method"])].assign(twelfths=12, size=1)
    return pd.concat([found, full], ignore_index=True)


def table6(entry: Entry, evidence: Evidence) -> Table:
    dataset, comparable = stand_in(evidence)
    found, printed = by_size(evidence), evidence.paper["printed"]["table6"]
    wide = {column: found.pivot(index="twelfths", columns="method", values=column) for column in ("mean", "std")}
    methods = [method for method in printed if method in wide["mean"]]
    rows = []
    for place, twelfths in enumerate(wide["mean"].index):
        row: dict[str, Any] = {"data": evidence.origin(dataset), "part": f"{twelfths}/12"}
        for method in methods:
            row[evidence.title(method)] = float(wide["mean"].loc[twelfths, method])
            row[f"{evidence.title(method)} sd"] = float(wide["std"].loc[twelfths, method])
            if comparable:
                value = printed[method][place]
                row[f"{evidence.title(method)}, paper"] = np.nan if value is None else value
        rows.append(row)
    first = [wide["mean"][methods].loc[twelfths].idxmax() == FRANK for twelfths in wide["mean"].index]
    notes = [
        f"Test {display_name(evidence.protocol.select_by)}, the mean over folds; mean and standard deviation over "
        f"{int(found['size'].max())} draws. All 12/12 of the queries are the usual results, once.",
        f"FRank is the best of {len(methods)} at {sum(first)} of {len(first)} sizes; in the paper it is at all.",
        "RankSVM ran out of memory in the paper from 8,000 queries on. Here it does not: its solver keeps a few "
        "cutting planes in the place of a constraint for each pair.",
        metric_note(evidence, dataset),
        *stand_in_notes(evidence),
    ]
    if not comparable:
        notes[1] = f"FRank is the best of {len(methods)} at {sum(first)} of {len(first)} sizes."
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


TABLES = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "trec": trec,
    "ttest": ttest,
}
