"""Figures that more than one paper asks for, and what all figures share. Each takes its entry and the evidence."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from replirank.metrics.registry import column_of, display_name
from replirank.papers.common import Entry, by_step
from replirank.reporting.evidence import Evidence

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
            ylabel=f"validation {display_name(evidence.protocol.select_by)}",
        )
    legend_below(figure, *axes[::2])
    return figure


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


def legend_below(figure: Figure, *axes: Any) -> None:
    """One legend for all panels, under them. Name each panel that may show what the others do not."""
    entries: dict[str, Any] = {}
    for axis in axes:
        entries |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend([*entries.values()], [*entries], loc="outside lower center", ncols=3)


FIGURES = {"ndcg": ndcg_figure, "curves": curves_figure}
