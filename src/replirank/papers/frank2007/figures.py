"""frank2007's figures."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from replirank.losses.pairwise import pair_cost, pair_fidelity
from replirank.metrics.registry import display_name
from replirank.papers.common import Entry, by_step, stand_in, step_of
from replirank.papers.common.figures import legend_below, nothing_to_show, panels, style
from replirank.papers.frank2007.tables import (
    BOOST,
    FRANK,
    LINEAR,
    STEPS,
    TREC,
    TWO_LAYER,
    by_size,
    drawn,
    present,
    trec_sets,
)
from replirank.reporting.evidence import ORIGINS, Evidence

# A system looks the same in all figures.
LOOKS = {
    method: style(number)
    for number, method in enumerate((FRANK, TWO_LAYER, BOOST, LINEAR, "ranksvm", "bm25_pagerank", "bm25", "bm25_tuned"))
}


def figure1(entry: Entry, evidence: Evidence) -> Figure:
    """Both losses of a pair, for three target probabilities."""
    figure, axes = panels(2)
    margins = np.linspace(-5, 5, 201)
    for axis, loss, name, symbol in zip(
        axes, (pair_cost, pair_fidelity), ("(a) cross entropy", "(b) fidelity"), ("C", "F"), strict=True
    ):
        for number, target in enumerate((0.0, 0.5, 1.0)):
            look = {**style(number), "marker": ""}
            axis.plot(margins, np.asarray(loss(margins, target)), label=rf"$P^*_{{ij}} = {target:g}$", **look)
        axis.set(title=name, xlabel="$o_{ij}$", ylabel=f"${symbol}_{{ij}}$")
        axis.legend()
    return figure


def figure3(entry: Entry, evidence: Evidence) -> Figure:
    """MAP, P@n and NDCG@n on TREC data, a row of panels for each set of features."""
    datasets, methods = trec_sets(evidence), present(evidence, TREC)
    figure, axes = panels(3 * len(datasets), columns=3)
    for place, dataset in enumerate(datasets):
        bars, *curves = axes[3 * place : 3 * place + 3]
        name, card = evidence.convention(dataset), evidence.cards[dataset]
        title = f"{card['features']} features{ORIGINS[card['origin']]}"
        at_n = [f"{name}.{metric}@{k}" for metric in ("p", "ndcg") for k in range(1, 11)]
        means = evidence.means(dataset, [f"{name}.map", *at_n])
        for number, method in enumerate(methods):
            look = LOOKS[method]
            bars.barh(number, means.loc[method, f"{name}.map"], color=look["color"], edgecolor="black")
            for axis, metric in zip(curves, ("p", "ndcg"), strict=True):
                values = means.loc[method, [f"{name}.{metric}@{k}" for k in range(1, 11)]]
                axis.plot(range(1, 11), values, label=evidence.title(method), **look)
                axis.set(title=title, xlabel="n", ylabel=f"{metric.upper()}@n", xticks=range(1, 11, 3))
        bars.set(title=title, xlabel="MAP")
        bars.set_yticks(range(len(methods)), [evidence.title(method) for method in methods])
        bars.invert_yaxis()
        bars.grid(visible=False, axis="y")
    legend_below(figure, axes[1])
    return figure


def figure4(entry: Entry, evidence: Evidence) -> Figure:
    """FRank's fidelity loss and NDCG@10 on what it learns from, by number of weak learners."""
    dataset, _ = stand_in(evidence)
    if (dataset, FRANK) not in evidence.history:
        return nothing_to_show("FRank was not run.")
    figure, (left, right) = panels(2)
    for axis, column, what in (
        (left, "loss", "fidelity loss (mean over queries)"),
        (right, "training_ndcg", "training NDCG@10 (burges)"),
    ):
        folds = by_step(evidence.history[dataset, FRANK], column)
        axis.plot(folds.index, folds, color="#999999", linewidth=0.7)
        axis.plot(folds.index, folds.mean(axis=1), color="black", label="mean")
        axis.plot([], [], color="#999999", linewidth=0.7, label="each fold")
        axis.set(title=evidence.label(dataset), xlabel="number of weak learners", ylabel=what)
    left.legend()
    return figure


def figure5(entry: Entry, evidence: Evidence) -> Figure:
    """Validation NDCG@10: (a) by weak learners, (b) by epochs."""
    dataset, _ = stand_in(evidence)
    figure, axes = panels(2)
    for axis, methods, letter in zip(axes, ((FRANK, BOOST), (TWO_LAYER, LINEAR)), "ab", strict=True):
        for method in methods:
            if (dataset, method) in evidence.history:
                history = evidence.history[dataset, method]
                curve = by_step(history, "validation").mean(axis=1)
                axis.plot(curve.index, curve, label=evidence.title(method), **{**LOOKS[method], "marker": ""})
                axis.set(xlabel=f"number of {STEPS[step_of(history)]}")
                axis.legend()
        ylabel = f"validation {display_name(evidence.protocol.select_by)}"
        axis.set(title=f"({letter}) {evidence.label(dataset)}, mean over folds", ylabel=ylabel)
    return figure


def figure6(entry: Entry, evidence: Evidence) -> Figure:
    """NDCG@1..10 of Table 4's systems."""
    dataset, _ = stand_in(evidence)
    name = evidence.convention(dataset)
    means = evidence.means(dataset, [f"{name}.ndcg@{k}" for k in range(1, 11)])
    figure, (axis,) = panels(1, columns=1)
    for method in present(evidence, evidence.paper["printed"]["table4"]):
        axis.plot(range(1, 11), means.loc[method], label=evidence.title(method), **LOOKS[method])
    axis.set(title=evidence.label(dataset), xlabel="n", ylabel=f"NDCG@n ({name})", xticks=range(1, 11))
    legend_below(figure, axis)
    return figure


def figure7(entry: Entry, evidence: Evidence) -> Figure:
    """Test NDCG@10 by training size; bars: one standard deviation over the draws."""
    dataset, _ = stand_in(evidence)
    found = by_size(evidence)
    figure, (axis,) = panels(1, columns=1)
    for number, method in enumerate(m for m in evidence.paper["printed"]["table6"] if m in set(found["method"])):
        here = found[found["method"] == method].sort_values("twelfths")
        # Side by side, so that bars of equal height can be told apart.
        places = here["twelfths"] * (1 + 0.015 * (number - 2))
        label = evidence.title(method)
        axis.errorbar(places, here["mean"], yerr=here["std"].fillna(0), capsize=2, label=label, **LOOKS[method])
    axis.set_xscale("log")
    sizes = drawn(evidence).groupby("twelfths")["queries"].mean().round().astype(int)
    axis.set_xticks(sizes.index, [f"{queries:,}" for queries in sizes])
    axis.minorticks_off()
    axis.set(
        title=evidence.label(dataset),
        xlabel="training queries of a fold",
        ylabel=f"test {display_name(evidence.protocol.select_by)}",
    )
    legend_below(figure, axis)
    return figure


FIGURES = {
    "figure1": figure1,
    "figure3": figure3,
    "figure4": figure4,
    "figure5": figure5,
    "figure6": figure6,
    "figure7": figure7,
}
