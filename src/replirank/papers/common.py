"""Tables and figures that more than one paper asks for. Each takes its entry in the paper's YAML and the evidence."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.metrics.registry import column_of, shown
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table
from replirank.seeds import derive

Entry = Mapping[str, Any]

# Told apart by marker and dash as well as by colour (Okabe and Ito's), so that they survive print in grey.
COLOURS = ["#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (5, 5))]


def style(number: int) -> dict[str, Any]:
    """Each of the first 64 is a different one: in a second round of the colours, markers and dashes are shifted."""
    shifted = number + number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[shifted % len(MARKERS)],
        "linestyle": DASHES[shifted % len(DASHES)],
    }


# Where a paper's data is a commercial engine's, another data set stands in: orders are compared, and not levels


ELSEWHERE = "paper (its own data)"


def stand_in(evidence: Evidence) -> tuple[str, bool]:
    """The data set in the place of the paper's, and whether the paper's numbers may stand beside its."""
    dataset = evidence.datasets[0]
    return dataset, evidence.origin(dataset) != "simulated"


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
                row[f"{counted}, {ELSEWHERE}"] = printed[counted]
        rows.append(row)
    notes = [f"Of a fold, on the mean over {len(folds)}.", *stand_in_notes(evidence)]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes, decimals=1)


def same_order(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[int, int]:
    """How many pairs of systems have the order of theirs, of how many.

    >>> same_order({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2, "d": 4})
    (2, 3)
    """
    pairs = list(itertools.combinations([name for name in theirs if name in ours], 2))
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
    return Table(entry["title"], pd.DataFrame(rows), evidence.notes(evidence.datasets))


def comparison_table(entry: Entry, evidence: Evidence) -> Table:
    """Methods by metrics on one data set: ours, what was published, the difference."""
    dataset = entry["dataset"]
    name = evidence.convention(dataset)
    means = evidence.means(dataset, [column_of(metric, name) for metric in entry["metrics"]])
    # Published values are for real data: beside simulated ones they would only mislead.
    comparable = evidence.origin(dataset) in ("real", "rebuilt")
    sources = [
        value
        for value in evidence.paper["published"]
        if comparable and value["dataset"] == dataset and value["convention"] == name
    ]
    published = {(value["method"], metric): number for value in sources for metric, number in value["values"].items()}
    rows = []
    for method in evidence.methods:
        row = {"data": evidence.origin(dataset), "method": evidence.title(method)}
        for metric in entry["metrics"]:
            ours = float(means.loc[method, column_of(metric, name)])
            row[shown(metric)] = ours
            if any(metric == known for _, known in published):
                row[f"{shown(metric)} published"] = value = published.get((method, metric), np.nan)
                row[f"{shown(metric)} difference"] = ours - value
        rows.append(row)
    notes = [
        f"Convention {name}: {convention(name).says}. Means over the queries of a fold, then over folds.",
        *evidence.notes([dataset]),
        *(f"Published {value['as']}: {value['source']}." for value in sources if value["method"] in evidence.methods),
    ]
    signed = [f"{shown(metric)} difference" for metric in entry["metrics"]]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes, signed=signed)


def significance_table(entry: Entry, evidence: Evidence) -> Table:
    """Every pair of methods on every data set, by three paired tests over all test queries."""
    rows = []
    for dataset in evidence.datasets:
        column = column_of(entry["metric"], evidence.convention(dataset))
        wide = evidence.rows(dataset).pivot(index=["fold", "query"], columns="method", values=column)
        here = []
        for first, second in itertools.combinations(evidence.methods, 2):
            a, b = wide[first].to_numpy(), wide[second].to_numpy()
            seed = derive(evidence.config["seed"], "significance", dataset, first, second)
            randomization = stats.randomization(a, b, seed=seed, flips=evidence.config["flips"])
            difference = np.asarray(a - b)
            low, high = stats.bootstrap_interval(difference, seed=seed)
            here.append(
                {
                    "data set": evidence.cards[dataset]["title"],
                    "data": evidence.origin(dataset),
                    "A": evidence.title(first),
                    "B": evidence.title(second),
                    "queries": randomization.n,
                    "A - B": float(np.nanmean(difference)),
                    "95% from": low,
                    "95% to": high,
                    "t-test p": stats.paired_t(a, b).p,
                    "Wilcoxon p": stats.wilcoxon(a, b).p,
                    "randomization p": randomization.p,
                }
            )
        adjusted = stats.holm([row["randomization p"] for row in here])
        rows += [{**row, "Holm p": float(p)} for row, p in zip(here, adjusted, strict=True)]
    notes = [
        f"{shown(entry['metric'])} of each test query, in the data set's convention: "
        + ", ".join(f"{evidence.cards[d]['title']} {evidence.convention(d)}" for d in evidence.datasets)
        + ". Differences here are means over queries, not over folds.",
        f"Randomization test: {evidence.config['flips']:,} sign flips, two-sided; intervals: bootstrap over queries; "
        "Holm's correction over the pairs of a data set.",
        *evidence.notes(evidence.datasets),
    ]
    interval = ["A - B", "95% from", "95% to"]
    tests = ["t-test p", "Wilcoxon p", "randomization p", "Holm p"]
    columns = ["data set", "data", "A", "B", "queries", *interval, *tests]
    return Table(entry["title"], pd.DataFrame(rows, columns=columns), notes, signed=interval)


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
                    "by": shown(evidence.protocol.select_by),
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
    notes = ["One thread each; compilation included. Methods with a rule of their own: see results/benchmarks."]
    return Table(entry["title"], pd.DataFrame(rows), [*notes, *evidence.notes(evidence.datasets)], decimals=2)


# Figures


def ndcg_figure(entry: Entry, evidence: Evidence) -> Figure:
    """NDCG against the position it is cut at, a panel for each data set."""
    depth = entry.get("depth", 10)
    figure, axes = panels(len(evidence.datasets))
    for axis, dataset in zip(axes, evidence.datasets, strict=True):
        name = evidence.convention(dataset)
        columns = [column_of(f"ndcg@{k}", name) for k in range(1, depth + 1)]
        means = evidence.means(dataset, columns)
        for number, method in enumerate(evidence.methods):
            axis.plot(range(1, depth + 1), means.loc[method], label=evidence.title(method), **style(number))
        axis.set(title=evidence.label(dataset), xlabel="k", ylabel=f"NDCG@k ({name})", xticks=range(1, depth + 1))
    legend_below(figure, axes[0])
    return figure


def curves_figure(entry: Entry, evidence: Evidence) -> Figure:
    """Training loss and validation metric by epoch or round, of the chosen grid points, on the mean over folds."""
    datasets = [d for d in evidence.datasets if any(dataset == d for dataset, _ in evidence.history)]
    if not datasets:
        return nothing_to_show("None of the methods that were run is trained in epochs or rounds.")
    figure, axes = panels(2 * len(datasets), columns=2)
    names = [m for m in evidence.methods if any(method == m for _, method in evidence.history)]
    for (left, right), dataset in zip(zip(axes[::2], axes[1::2], strict=True), datasets, strict=True):
        for number, method in enumerate(names):
            if (dataset, method) not in evidence.history:
                continue
            look = {**style(number), "marker": ""}
            losses, validation = (by_step(evidence.history[dataset, method], name) for name in ("loss", "validation"))
            # Losses differ in kind and scale; as shares of where each began they can be seen together.
            for axis, folds in ((left, losses / losses.iloc[0]), (right, validation)):
                axis.plot(folds.index, folds.mean(axis=1), label=evidence.title(method), **look)
        left.set(title=evidence.label(dataset), xlabel="epoch or round", ylabel="training loss / the first")
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")  # 0.6, not 6 × 10⁻¹
        low, high = left.get_ylim()
        # Over more than a decade, labels between the powers of ten would stand upon each other.
        left.yaxis.set_minor_formatter("{x:g}" if high < 10 * low else NullFormatter())
        right.set(
            title=evidence.label(dataset),
            xlabel="epoch or round",
            ylabel=f"validation {shown(evidence.protocol.select_by)}",
        )
    legend_below(figure, axes[0])
    return figure


def by_step(history: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each epoch or round, a column for each fold, of the chosen grid points.

    A fold that ended early stays where it was.
    """
    chosen = history[history["chosen"]]
    return chosen.pivot(index=step_of(history), columns="fold", values=column).ffill()


def step_of(history: pd.DataFrame) -> str:
    """What the method's steps are called."""
    return "epoch" if "epoch" in history else "round"


def nothing_to_show(why: str) -> Figure:
    figure, (axis,) = panels(1, columns=1)
    axis.set_axis_off()
    axis.text(0.5, 0.5, why, ha="center")
    return figure


def panels(count: int, columns: int = 2) -> tuple[Figure, list]:
    """A grid of that many panels."""
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(7.2, 2.6 * rows + 0.6), squeeze=False, layout="constrained")
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.set_axis_off()
    return figure, flat[:count]


def legend_below(figure: Figure, axis: Any) -> None:
    """One legend for all panels, under them."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)


TABLES = {
    "data": data_table,
    "comparison": comparison_table,
    "significance": significance_table,
    "choices": choices_table,
    "times": times_table,
}
FIGURES = {"ndcg": ndcg_figure, "curves": curves_figure}
