"""frank2007: FRank on TREC data (section 4.3), and on a stand-in for a commercial engine's data (section 4.4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from replirank.data.columns import FRANK_FEATURES
from replirank.engines.pair_hinge import MOST_LISTED
from replirank.evaluation import stats
from replirank.methods.frank import FRank
from replirank.metrics.conventions import convention
from replirank.metrics.registry import column_of, display_name, parse
from replirank.papers.common import Entry, stand_in, step_of
from replirank.papers.common.tables import PAPERS_OWN_DATA, same_order, splits_table, stand_in_notes
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table

METRIC = "ndcg@10"
FRANK, TWO_LAYER, BOOST, LINEAR = "frank", "ranknet_two_layer", "rankboost", "ranknet_linear"
FIXED = "bm25_pagerank_fixed"  # the paper's own weights, beside those that validation chose
LEARNED = (FRANK, "ranksvm", BOOST, TWO_LAYER, LINEAR)
PLAIN, TUNED = "bm25", "bm25_tuned"
TREC = (*LEARNED, PLAIN, TUNED)
ORDER_IN_PAPER = f"order, {PAPERS_OWN_DATA}"
FROM_ROUND = 5  # of Figure 4
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
    learned = [method for method in LEARNED if method in evidence.supported(dataset)]
    if not learned or evidence.origin(dataset) == "simulated":
        return []
    notes = []
    for base in (method for method in (PLAIN, TUNED) if method in evidence.supported(dataset)):
        gains = (f"{evidence.title(method)} {100 * (maps[method] / maps[base] - 1):+.0f}%" for method in learned)
        notes.append(
            f"{evidence.label(dataset)}: MAP over {evidence.title(base)}'s {maps[base]:.3f}: {', '.join(gains)}."
        )
    best = evidence.title(max(learned, key=lambda method: maps[method]))
    printed = evidence.paper["printed"]["trec"]
    if notes:
        notes.append(
            f"{evidence.label(dataset)}: the best is {best}. The paper: tuned BM25 about {printed['bm25_map']}, every "
            f"learned method at least {printed['least_gain']}% above it, FRank best."
        )
    return notes


def gains(entry: Entry, evidence: Evidence) -> Table:
    """By how much every learned method is above BM25, plain and tuned, on all data sets of the paper."""
    metrics = ["map", *(f"ndcg@{k}" for k in (1, 3, 5, 10))]
    rows, notes = [], []
    for dataset in evidence.datasets:
        name = evidence.convention(dataset)
        means = evidence.means(dataset, [f"{name}.{metric}" for metric in metrics])
        bases = [base for base in (PLAIN, TUNED) if base in evidence.supported(dataset)]
        for method in (method for method in (*LEARNED, TUNED) if method in evidence.supported(dataset)):
            row = {"data set": evidence.cards[dataset]["title"], "data": evidence.origin(dataset)}
            row["system"] = evidence.title(method)
            for metric, base in itertools.product(metrics, bases):
                values = means[f"{name}.{metric}"]
                gain = 100 * (values[method] / values[base] - 1) if method != base else np.nan
                row[f"{display_name(metric)} over {evidence.title(base)} %"] = float(gain)
            rows.append(row)
        said = (f"{evidence.title(base)} {means.loc[base, f'{name}.map']:.4f}" for base in bases)
        notes.append(f"MAP on {evidence.label(dataset)}: {', '.join(said)}.")
    notes = [
        f"Tuned BM25 takes the field that validates best by {display_name(evidence.protocol.select_by)}, fold by fold: "
        "on test queries that may be worse than plain BM25, which takes the whole document.",
        *notes,
        *evidence.notes(evidence.datasets),
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data set", "data", "system"])
    signed = [column for column in frame if column.endswith(" %")]
    return Table(entry["title"], frame, notes, signed=signed)


# All cuts of all data sets


def orders(entry: Entry, evidence: Evidence) -> Table:
    """The order of the systems at every cut, best first, and that of the paper where it has one."""
    rows = []
    for role in (role for role in ("web", "trec", "trec_14") if role in evidence.protocol.roles):
        dataset = evidence.dataset(role)
        name = evidence.convention(dataset)
        metrics = [f"ndcg@{k}" for k in range(1, 11)]
        if role != "web":
            metrics = ["map", *(f"p@{k}" for k in range(1, 11)), *metrics]
        means = evidence.means(dataset, [f"{name}.{metric}" for metric in metrics])
        systems = evidence.paper["printed"]["table4"] if role == "web" else TREC
        systems = [method for method in systems if method in evidence.supported(dataset)]
        for metric in metrics:
            ours = means.loc[systems, f"{name}.{metric}"].round(10)  # equal but for rounding is equal
            row = {"data set": evidence.cards[dataset]["title"], "data": evidence.origin(dataset)}
            row |= {"metric": display_name(metric), "order": in_order(ours, evidence)}
            if FRANK in systems:
                others = [method for method in systems if method in LEARNED]
                row["FRank's place among the learned"] = int((ours[others] > ours[FRANK]).sum()) + 1
                row["of"] = len(others)
            if evidence.origin(dataset) != "simulated":
                row |= _papers_order(evidence, role, metric, ours)
            rows.append(row)
    notes = [
        "Best first; = between equal values. Means over the queries of a fold, then over folds.",
        "The paper prints numbers of its web data only. Of TREC it says that FRank is first in MAP, in precision, and "
        "in NDCG@1 and NDCG@3.",
        *evidence.notes(evidence.datasets),
    ]
    if all(evidence.origin(dataset) == "simulated" for dataset in evidence.datasets):
        del notes[1]
    frame = pd.DataFrame(rows, columns=None if rows else ["data set", "data", "metric", "order"])
    return Table(entry["title"], frame, notes)


def in_order(values: Mapping[str, float] | pd.Series, evidence: Evidence) -> str:
    """The systems, best first."""
    first, *rest = sorted(values.items(), key=lambda item: -item[1])
    said, before = evidence.title(first[0]), first[1]
    for method, value in rest:
        said += f" {'=' if value == before else '>'} {evidence.title(method)}"
        before = value
    return said


def _papers_order(evidence: Evidence, role: str, metric: str, ours: pd.Series) -> dict[str, str]:
    if role != "web":
        is_said = metric == "map" or metric.startswith("p@") or metric in ("ndcg@1", "ndcg@3")
        return {ORDER_IN_PAPER: "FRank first"} if is_said else {}
    place = int(metric.partition("@")[2]) - 1
    theirs = {method: values[place] for method, values in evidence.paper["printed"]["table4"].items()}
    same, pairs = same_order(ours, theirs)
    theirs = {method: value for method, value in theirs.items() if method in evidence.titles}
    return {ORDER_IN_PAPER: in_order(theirs, evidence), "pairs in the paper's order": f"{same} of {pairs}"}


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
        *stand_in_notes(evidence),
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data", "system"])
    return Table(f"{entry['title']}: {evidence.label(dataset)}", frame, notes)


def loss(entry: Entry, evidence: Evidence) -> Table:
    """What Figure 4 shows: whether there was a weak learner that lowers the loss, and what that did to NDCG@10."""
    rows = []
    for dataset in (dataset for dataset in evidence.datasets if (dataset, FRANK) in evidence.history):
        allowed = {
            fold["fold"]: fold["chosen"].get("rounds", FRank.rounds) for fold in evidence.choices[dataset, FRANK]
        }
        history = evidence.history[dataset, FRANK]
        for fold, rounds in history[history["chosen"]].groupby("fold"):
            falls = -rounds["loss"].diff() / rounds["loss"].shift()
            late = rounds[rounds["round"] >= FROM_ROUND]
            rows.append(
                {
                    "data set": evidence.cards[dataset]["title"],
                    "data": evidence.origin(dataset),
                    "fold": fold,
                    "rounds": len(rounds),
                    "rounds allowed": allowed[fold],
                    "loss after 1": float(rounds["loss"].iloc[0]),
                    "loss after all": float(rounds["loss"].iloc[-1]),
                    "least fall": float(falls.min()),
                    "training NDCG@10 fell in": int((rounds["training_ndcg"].diff() < 0).sum()),
                    "Spearman of loss and NDCG@10": float(late["loss"].corr(late["training_ndcg"], method="spearman")),
                }
            )
    notes = [
        "That the loss falls in every round is no finding: a weak learner is taken only if it lowers the loss, and "
        "where there is none boosting ends. A finding is that there was one in each of the rounds allowed, where the "
        "two columns of rounds are equal.",
        "Least fall: of one round, as a share of the loss before it. Without any weak learner the loss is .2929, which "
        "is 1 - sqrt(1/2).",
        f"Spearman's correlation over rounds {FROM_ROUND} and on, where the paper's figure starts; -1: NDCG@10 of the "
        "training queries (burges) always rises as the loss falls.",
        *evidence.notes(evidence.datasets),
    ]
    frame = pd.DataFrame(rows, columns=None if rows else ["data set", "data", "fold"])
    return Table(entry["title"], frame, notes, signed=["Spearman of loss and NDCG@10"])


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
        printed = evidence.paper["printed"]["table4"]
        for k in range(1, 11):
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
        *_ranksvm_note(evidence, methods),
        metric_note(evidence, dataset),
        *stand_in_notes(evidence),
    ]
    if not comparable:
        notes[1] = f"FRank is the best of {len(methods)} at {sum(first)} of {len(first)} sizes."
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def _ranksvm_note(evidence: Evidence, methods: Sequence[str]) -> list[str]:
    """How RankSVM summed over pairs in these runs: engines/pair_hinge.py decides by their number."""
    if "ranksvm" not in methods:
        return []
    frame, printed = drawn(evidence), evidence.paper["printed"]
    theirs = printed["table5"][printed["table6"]["ranksvm"].index(None)]
    most = int(frame[frame["method"] == "ranksvm"]["pairs"].max())
    how = "listed one by one, as all sets of fewer than" if most < MOST_LISTED else "counted by sorting, as from"
    return [
        f"RankSVM ran out of memory in the paper from {theirs['queries']:,} queries ({theirs['pairs']:,} pairs) on. "
        f"Here the largest training set of a fold has {most:,} pairs, which are {how} {MOST_LISTED:,}. The solver "
        "keeps a few cutting planes, not a constraint for each pair."
    ]


TABLES = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "trec": trec,
    "gains": gains,
    "orders": orders,
    "loss": loss,
    "ttest": ttest,
}
