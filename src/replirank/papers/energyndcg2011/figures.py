"""energyndcg2011's figures."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from replirank.papers.common import Entry
from replirank.papers.common.figures import legend_below, panels, style
from replirank.papers.energyndcg2011.seeds import DEPTH, WIDTHS
from replirank.papers.energyndcg2011.tables import (
    CHOSEN_BY_CUT,
    CUTS,
    ENERGY,
    drawn,
    of_widths,
    over_draws,
    sweep_sets,
)
from replirank.reporting.evidence import Evidence

DOCUMENTS = 6


def figure1(entry: Entry, evidence: Evidence) -> Figure:
    """An edge joins two documents that are at most W ranks apart in the optimal order (Eq. 11)."""
    figure, axes = panels(2)
    figure.set_size_inches(7.2, 1.7)
    for axis, width in zip(axes, (1, 2), strict=True):
        for first in range(1, DOCUMENTS + 1):
            for second in range(first + 1, min(first + width, DOCUMENTS) + 1):
                apart = second - first
                if apart == 1:
                    axis.plot([first, second], [0, 0], color="black", linewidth=1, zorder=1)
                else:
                    middle = (first + second) / 2
                    axis.add_patch(Arc((middle, 0), apart, 0.9 * apart, theta1=0, theta2=180, zorder=1))
        ranks = np.arange(1, DOCUMENTS + 1)
        axis.scatter(ranks, 0 * ranks, s=330, facecolor="white", edgecolor="black", zorder=2)
        for rank in ranks:
            axis.text(rank, 0, f"$R_{rank}$", ha="center", va="center", zorder=3)
        axis.set(title=f"W = {width}", xlim=(0.4, DOCUMENTS + 0.6), ylim=(-0.4, 1.1), aspect="equal")
        axis.set_axis_off()
    figure.supxlabel("rank in the optimal order, of six documents", fontsize=8)
    return figure


def figure2(entry: Entry, evidence: Evidence) -> Figure:
    """A panel for each data set; bars: one standard deviation over the seeds."""
    datasets = sweep_sets(evidence)
    figure, axes = panels(len(datasets), columns=len(datasets))
    figure.set_size_inches(7.2, 3.9)
    for axis, dataset in zip(axes, datasets, strict=True):
        systems = of_widths(drawn(evidence, dataset, ENERGY))
        shown = [*(f"W = {width}" for width in WIDTHS), CHOSEN_BY_CUT]
        for number, trial in enumerate(shown):
            means, spread = (values[CUTS] for values in over_draws(systems[trial]))
            # Side by side, so that bars of equal height can be told apart.
            places = np.arange(1, DEPTH + 1) + 0.07 * (number - (len(shown) - 1) / 2)
            look = style((number + 1) % len(shown))  # black for the last one, which is chosen
            bars = {"yerr": spread.fillna(0), "capsize": 1.5, "elinewidth": 0.6}
            axis.errorbar(places, means, label=trial, **bars, **look)
        name = evidence.convention(dataset)
        axis.set(title=evidence.label(dataset), xlabel="n", ylabel=f"NDCG@n ({name})", xticks=range(1, DEPTH + 1))
    legend_below(figure, axes[0])
    return figure


FIGURES = {"figure1": figure1, "figure2": figure2}
