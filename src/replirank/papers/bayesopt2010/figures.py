"""bayesopt2010's figures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replirank.metrics.registry import display_name
from replirank.papers.bayesopt2010.tables import LOSSES, METRICS, SIGNIFICANT, compare, duels
from replirank.papers.common import Entry, by_step
from replirank.papers.common.figures import COLOURS, curves_figure
from replirank.reporting.evidence import Evidence

# The paper's own greys; the hatch tells the bars apart where a printer does not.
BARS: dict[str, dict[str, Any]] = {
    "linear": {"color": "#555555"},
    "Bayes-optimal": {"color": "#dddddd", "hatch": "////", "edgecolor": "#555555", "linewidth": 0.5},
}
MARKS = {"better": "+", "worse": "\N{MINUS SIGN}"}
SIMULATED_GROUND = "#fbf1dc"


def figure1(entry: Entry, evidence: Evidence) -> Figure:
    """Figure 1: a pair of bars for each case; a data set has one panel here, and in the paper one for each loss."""
    cases = compare(evidence, duels(evidence))
    datasets = [dataset for dataset in evidence.datasets if dataset in set(cases["dataset"])]
    rows = -(-len(datasets) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(7.2, 1.55 * rows + 0.8), squeeze=False, layout="constrained")
    for unused in axes.flat[len(datasets) :]:
        unused.set_axis_off()
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        _bars(axis, cases[cases["dataset"] == dataset])
        axis.set_title(f"{evidence.label(dataset)}: NDCG, {evidence.convention(dataset)}", fontsize=8)
        if evidence.origin(dataset) == "simulated":
            axis.set_facecolor(SIMULATED_GROUND)
    bars, names = axes[0, 0].get_legend_handles_labels()
    marks = [Line2D([], [], color="black", marker=f"${mark}$", linestyle="") for mark in MARKS.values()]
    names += [f"{name}, two-sided p < {SIGNIFICANT:g}" for name in MARKS]
    figure.legend([*bars, *marks], names, loc="outside lower center", ncols=4)
    return figure


def _bars(axis: Any, cases: pd.DataFrame) -> None:
    """A pair of bars for each metric, loss after loss, with a mark over those that differ significantly."""
    number = np.arange(len(cases))
    places = number + 0.6 * (number // len(METRICS))  # a gap between losses
    for offset, name, column in ((-0.2, "linear", "before"), (0.2, "Bayes-optimal", "after")):
        axis.bar(places + offset, cases[column], width=0.4, label=name, **BARS[name])
    for place, case in zip(places, cases.to_dict("records"), strict=True):
        axis.annotate(
            MARKS.get(case["two-sided verdict"], ""),
            (place, max(case["before"], case["after"])),
            xytext=(0, 1),
            textcoords="offset points",
            ha="center",
            weight="bold",
        )
    names = [metric.removeprefix("ndcg") + "\n" for metric in cases["metric"]]
    for middle in range(len(METRICS) // 2, len(cases), len(METRICS)):  # a loss is named once, under its metrics
        names[middle] += LOSSES[cases["pair"].iloc[middle]]
    axis.set_xticks(places, names, fontsize=7)
    axis.tick_params(axis="x", length=0)
    axis.grid(False, axis="x")
    axis.set_axisbelow(True)
    axis.margins(y=0.18)


def mean_curves(entry: Entry, evidence: Evidence) -> Figure:
    """Training loss and validation metric by epoch, means over the folds' chosen grid points, for many data sets.

    Losses of different kinds share no unit, and cross entropy's depends on the chosen alpha: each is shown relative to
    its own first epoch.
    """
    datasets = [d for d in evidence.datasets if any(dataset == d for dataset, _ in evidence.history)]
    if not datasets:
        return curves_figure(entry, evidence)  # which says that there is nothing to draw
    trained = [m for m in evidence.methods if any(method == m for _, method in evidence.history)]
    looks = {method: _look(method) for method in trained}
    size = (7.2, 1.6 * -(-len(datasets) // 2) + 1.2)
    figure, axes = plt.subplots(-(-len(datasets) // 2), 4, figsize=size, squeeze=False, layout="constrained")
    for unused in axes.flat[2 * len(datasets) :]:
        unused.set_axis_off()
    for dataset, left, right in zip(datasets, axes.flat[::2], axes.flat[1::2], strict=False):
        for method in trained:
            if (dataset, method) in evidence.history:
                history = evidence.history[dataset, method]
                losses, validation = (by_step(history, column) for column in ("loss", "validation"))
                left.plot((losses / losses.iloc[0]).mean(axis=1), **looks[method])
                right.plot(validation.mean(axis=1), **looks[method])
        left.set_title(f"{evidence.label(dataset)}\nloss / first epoch's", fontsize=7.5)
        right.set_title(
            f"{evidence.label(dataset)}\nvalidation {display_name(evidence.protocol.select_by)}", fontsize=7.5
        )
        for axis in (left, right):
            axis.set_xlabel("epoch", fontsize=7)
            axis.tick_params(labelsize=7)
            if evidence.origin(dataset) == "simulated":
                axis.set_facecolor(SIMULATED_GROUND)
    handles = [Line2D([], [], **look) for look in looks.values()]
    figure.legend(handles, [evidence.title(method) for method in trained], loc="outside lower center", ncols=3)
    return figure


def _look(method: str) -> dict[str, Any]:
    """Colour for the loss, dash for the ranking function; in grey the losses differ by width too."""
    pairs = [(f"{loss}_linear", f"{loss}_bayes") for loss in LOSSES]
    number = next((n for n, pair in enumerate(pairs) if method in pair), len(pairs))
    return {
        "color": COLOURS[number],
        "linestyle": "--" if any(method == linear for linear, _ in pairs) else "-",
        "linewidth": 0.7 + 0.5 * number,
        "antialiased": False,  # more than halves the PNG; the PDF does not know the difference
    }


FIGURES = {"figure1": figure1, "mean_curves": mean_curves}
