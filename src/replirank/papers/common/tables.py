"""Tables that more than one paper asks for. Each takes its entry in the paper's YAML and the evidence."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.metrics.registry import column_of, display_name, parse
from replirank.papers.common import Entry, stand_in
from replirank.papers.common.edges import edges_table
from replirank.papers.common.published import half_width, published_table, summary_table
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table
from replirank.seeds import derive

# Where a paper's data is a commercial engine's, another data set stands in: orders are compared, and not levels

PAPERS_OWN_DATA = "paper (its own data)"
NOT_AT_HAND = "not at hand"
FITTED = {"train": "training", "vali": "validation"}


def stand_in_notes(evidence: Evidence) -> list[str]:
    dataset, comparable = stand_in(evidence)
    notes = evidence.notes([dataset])
    if comparable:
        notes.append(
            f"The paper's data is a commercial search engine's. {evidence.label(dataset)} stands in for it: the "
            "paper's numbers are of other data, and can be compared in their order only."
        )
    return notes


def splits_table(entry: Entry, evidence: Evidence, printed_as: str) -> Table:
    """How many queries and documents are in each split of the stand-in, beside the paper's table of this name."""
    dataset, comparable = stand_in(evidence)
    folds = evidence.cards[dataset]["folds"]
    rows = []
    for split, printed in evidence.paper["printed"][printed_as].items():
        row = {"data": evidence.origin(dataset), "split": split}
        for counted in ("queries", "documents"):
            row[counted] = float(np.mean([fold[split][counted] for fold in folds]))
            if comparable:
                row[f"{counted}, {PAPERS_OWN_DATA}"] = printed[counted]
        rows.append(row)
    notes = [f"Of a fold, on the mean over {len(folds)}.", *stand_in_notes(evidence)]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes, decimals=1)


def same_order(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[int, int]:
    """How many pairs of systems have the order of theirs, of how many. A system without a number in ours is left out.

    >>> same_order({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2, "d": 4})
    (2, 3)
    """
    pairs = list(itertools.combinations([name for name in theirs if not np.isnan(ours.get(name, np.nan))], 2))
    return sum((ours[a] - ours[b]) * (theirs[a] - theirs[b]) > 0 for a, b in pairs), len(pairs)


# Tables


def data_table(entry: Entry, evidence: Evidence) -> Table:
    """What was learned from: the sets, their sizes, and where they came from."""
    rows = []
    for dataset in evidence.datasets:
        card = evidence.cards[dataset]
        per_query = card["documents_per_query"]
        rows.append(
            {
                "data set": card["title"],
                "data": card["origin"],
                "original bytes": "yes" if card["original_bytes"] else "no",
                "queries": card["queries"],
                "documents": card["documents"],
                "features": card["features"],
                "documents per label": ", ".join(f"{label}: {count:,}" for label, count in card["labels"].items()),
                "documents per query": f"{per_query['least']} to {per_query['most']}, median {per_query['median']:g}",
                "queries without relevant": card["queries_without_relevant"],
                "folds": len(card["folds"]),
                "sha256": card["checksum"][:16],
            }
        )
    rows += [{"data set": missing["title"], "data": NOT_AT_HAND} for missing in evidence.missing.values()]
    notes = [*evidence.notes(evidence.datasets), *evidence.missing_notes()]
    return Table(entry["title"], pd.DataFrame(rows).convert_dtypes(), notes)


def comparison_table(entry: Entry, evidence: Evidence) -> Table:
    """Methods by metrics on one data set: ours with its uncertainty, what was published, the difference."""
    dataset = evidence.dataset(entry["role"])
    name = evidence.convention(dataset)
    columns = {metric: column_of(metric, name) for metric in entry["metrics"]}
    means = evidence.means(dataset, list(columns.values()))
    queries = evidence.rows(dataset).groupby("method")[list(columns.values())]
    intervals = queries.agg(half_width).reindex(evidence.methods)
    # Published values are for real data: beside simulated ones they would only mislead.
    comparable = evidence.is_real(dataset)
    sources = [row for row in evidence.published if comparable and (row.dataset, row.convention) == (dataset, name)]
    published = {(row.method, metric): value for row in sources for metric, value in row.values.items()}
    rows = []
    for method in evidence.methods:
        row = {"data": evidence.origin(dataset), "method": evidence.title(method)}
        for metric, column in columns.items():
            ours = float(means.loc[method, column])
            row[display_name(metric)] = ours
            row[f"{display_name(metric)} \N{PLUS-MINUS SIGN}"] = float(intervals.loc[method, column])
            if any(metric == known for _, known in published):
                row[f"{display_name(metric)} published"] = value = published.get((method, metric), np.nan)
                row[f"{display_name(metric)} difference"] = ours - value
        rows.append(row)
    notes = [
        f"Convention {name}: {convention(name).description}. Means over the queries of a fold, then over folds.",
        "\N{PLUS-MINUS SIGN}: half of the 95% interval of the mean over all test queries (normal approximation).",
        *(f"{display_name(metric)}: lower is better." for metric in entry["metrics"] if parse(metric)[0].sign < 0),
        *evidence.notes([dataset]),
        *(f"Published {row.printed_as}: {row.source}." for row in sources if row.method in evidence.methods),
    ]
    signed = [f"{display_name(metric)} difference" for metric in entry["metrics"]]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes, signed=signed)


def fit_table(entry: Entry, evidence: Evidence) -> Table:
    """Values on training and validation queries beside published ones, where a sheet has them.

    It tells over-fitting from another algorithm without a look at test values.
    """
    rows = []
    for dataset, (split, in_words) in itertools.product(evidence.datasets, FITTED.items()):
        name = evidence.convention(dataset)
        theirs = evidence.sheets
        if theirs.empty or not evidence.is_real(dataset):
            continue
        theirs = theirs[(theirs["dataset"] == dataset) & (theirs["convention"] == name) & (theirs["split"] == split)]
        theirs = theirs[theirs["fold"] == "mean"].pivot(index="method", columns="metric", values="value")
        if theirs.empty:
            continue
        means = evidence.means(dataset, [column_of(metric, name) for metric in entry["metrics"]], split)
        for method in (method for method in evidence.supported(dataset) if method in theirs.index):
            row = {
                "data set": evidence.cards[dataset]["title"],
                "data": evidence.origin(dataset),
                "queries": in_words,
                "method": evidence.title(method),
            }
            for metric in entry["metrics"]:
                ours, published = float(means.loc[method, column_of(metric, name)]), float(theirs.loc[method, metric])
                shown = display_name(metric)
                row |= {shown: ours, f"{shown} published": published, f"{shown} difference": ours - published}
            rows.append(row)
    notes = [
        "Means over the queries of a fold, then over folds, in the data set's convention. The models are those that "
        "validation chose.",
        "Higher than LETOR's on training and not on validation: ours fits more closely. Lower on both: another "
        "algorithm, or one that stops earlier.",
        *(f"Published on {title}: {source}." for title, source in _sheet_sources(evidence)),
    ]
    signed = [f"{display_name(metric)} difference" for metric in entry["metrics"]]
    frame = pd.DataFrame(rows, columns=None if rows else ["data set", "data", "queries", "method"])
    return Table(entry["title"], frame, [*notes, *evidence.notes(evidence.datasets)], signed=signed)


def _sheet_sources(evidence: Evidence) -> list[tuple[str, str]]:
    real = [dataset for dataset in evidence.datasets if evidence.is_real(dataset)]
    sheets = evidence.sheets[evidence.sheets["dataset"].isin(real)]
    pairs = {} if sheets.empty else sheets.groupby("dataset")["source"].first().to_dict()
    return [(evidence.cards[dataset]["title"], pairs[dataset]) for dataset in real if dataset in pairs]


def not_at_hand_table(entry: Entry, evidence: Evidence) -> Table:
    """In the place of a table whose data set is missing: one row that says so."""
    missing = evidence.missing[entry["role"]]
    frame = pd.DataFrame([{"data set": missing["title"], "data": NOT_AT_HAND, "how to get it": missing["remedy"]}])
    return Table(f"{entry['title']}: {missing['title']}", frame)


def significance_table(entry: Entry, evidence: Evidence) -> Table:
    """Every pair of methods on every data set, by three paired tests over all test queries."""
    rows = []
    for dataset in evidence.datasets:
        column = column_of(entry["metric"], evidence.convention(dataset))
        wide = evidence.rows(dataset).pivot(index=["fold", "query"], columns="method", values=column)
        here = []
        for first, second in itertools.combinations(evidence.supported(dataset), 2):
            a, b = wide[first].to_numpy(), wide[second].to_numpy()
            seed = derive(evidence.seed, "significance", dataset, first, second)
            here.append(
                {
                    "data set": evidence.cards[dataset]["title"],
                    "data": evidence.origin(dataset),
                    "A": evidence.title(first),
                    "B": evidence.title(second),
                    "A - B": float(np.nanmean(a - b)),
                    **paired_tests(a, b, seed=seed, flips=evidence.flips),
                }
            )
        adjusted = stats.holm([row["randomization p"] for row in here])
        rows += [{**row, "Holm p": float(p)} for row, p in zip(here, adjusted, strict=True)]
    notes = [
        _compared(entry["metric"], evidence) + " Differences here are means over queries, not over folds.",
        f"Randomization test: {evidence.flips:,} sign flips, two-sided; intervals: bootstrap over queries; "
        "Holm's correction over the pairs of a data set.",
        *evidence.notes(evidence.datasets),
    ]
    interval = ["A - B", "95% from", "95% to"]
    tests = ["t-test p", "Wilcoxon p", "randomization p", "Holm p"]
    columns = ["data set", "data", "A", "B", "queries", *interval, *tests]
    return Table(entry["title"], pd.DataFrame(rows, columns=columns), notes, signed=interval)


def paired_tests(a: np.ndarray, b: np.ndarray, *, seed: int, flips: int) -> dict[str, float]:
    """Cells of a table: how many queries, the interval of the mean difference, and three paired tests."""
    randomization = stats.randomization(a, b, seed=seed, flips=flips)
    low, high = stats.bootstrap_interval(a - b, seed=seed)
    return {
        "queries": randomization.n,
        "95% from": low,
        "95% to": high,
        "t-test p": stats.paired_t(a, b).p,
        "Wilcoxon p": stats.wilcoxon(a, b).p,
        "randomization p": randomization.p,
    }


def _compared(name: str, evidence: Evidence) -> str:
    metric = parse(name)[0]
    shown = f"{display_name(name)} of each test query"
    if metric.has_convention:
        used = ", ".join(f"{evidence.cards[d]['title']} {evidence.convention(d)}" for d in evidence.datasets)
        shown = f"{shown}, in the data set's convention: {used}"
    return f"{shown}; lower is better." if metric.sign < 0 else f"{shown}."


def choices_table(entry: Entry, evidence: Evidence) -> Table:
    """What validation chose, fold by fold."""
    rows = []
    for (dataset, method), folds in evidence.choices.items():
        for fold in folds:
            if not fold["chosen"]:
                continue
            rows.append(
                {
                    "data set": evidence.cards[dataset]["title"],
                    "data": evidence.origin(dataset),
                    "method": evidence.title(method),
                    "fold": fold["fold"],
                    "chosen": ", ".join(f"{name} {value:g}" for name, value in fold["chosen"].items()),
                    "from": len(fold["tried"]),
                    "by": display_name(evidence.protocol.select_by),
                    "validation": fold["validation"],
                }
            )
    notes = ["Only validation queries choose; test queries are not read before the choice is made."]
    columns = ["data set", "data", "method", "fold", "chosen", "from", "by", "validation"]
    return Table(entry["title"], pd.DataFrame(rows, columns=columns), [*notes, *evidence.notes(evidence.datasets)])


def times_table(entry: Entry, evidence: Evidence) -> Table:
    """Seconds of training, all folds and grid points together. The one table that differs from run to run."""
    rows = [
        {
            "data set": evidence.cards[dataset]["title"],
            "data": evidence.origin(dataset),
            "method": evidence.title(method),
            "folds": len(folds),
            "grid points": len(folds[0]["tried"]),
            "seconds": float(sum(fold["seconds"] for fold in folds)),
        }
        for (dataset, method), folds in evidence.choices.items()
    ]
    notes = ["One thread each; compilation included."]
    timed = {method for _, method in evidence.choices} | {method for _, method in evidence.unsupported}
    if untimed := [evidence.title(method) for method in evidence.methods if method not in timed]:
        notes.append(f"{', '.join(untimed)}: trained by a rule that keeps no times here; see results/benchmarks.")
    return Table(entry["title"], pd.DataFrame(rows), [*notes, *evidence.notes(evidence.datasets)], decimals=2)


TABLES = {
    "data": data_table,
    "comparison": comparison_table,
    "published": published_table,
    "published_summary": summary_table,
    "fit": fit_table,
    "significance": significance_table,
    "choices": choices_table,
    "edges": edges_table,
    "times": times_table,
}
