"""ranknet2005's figures."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from replirank.losses.pairwise import combine, pair_cost
from replirank.papers.common import Entry
from replirank.papers.common.figures import legend_below, panels, style
from replirank.papers.ranknet2005.tables import NETS, PRINTED_AS, TASKS, drawn, of
from replirank.reporting.evidence import Evidence

TITLES = {"net": "net", "poly": "poly, as written", "poly_variance": "poly by variance, a hypothesis"}


def figure1(entry: Entry, evidence: Evidence) -> Figure:
    """Left: Eq. 3 for three target probabilities. Right: Eq. 5 for two equal ones."""
    figure, (left, right) = panels(2)
    margins = np.linspace(-5, 5, 201)
    for number, target in enumerate((0.0, 0.5, 1.0)):
        look = {**style(number), "marker": ""}
        left.plot(margins, np.asarray(pair_cost(margins, target)), label=rf"$\bar P_{{ij}} = {target:g}$", **look)
    left.set(xlabel="$o_{ij}$", ylabel="$C_{ij}$", title="the cost function")
    left.legend()
    both = np.linspace(0, 1, 201)
    right.plot(both, np.asarray(combine(both, both)), color="black", label=r"$\bar P_{ik}$")
    right.plot(both, both, color="#999999", linestyle=":", label="$P$")
    right.set(xlabel=r"$P = \bar P_{ij} = \bar P_{jk}$", ylabel=r"$\bar P_{ik}$", title="combining probabilities")
    right.legend()
    return figure


def table1_figure(entry: Entry, evidence: Evidence) -> Figure:
    """Test % correct by training size; bars: one standard deviation over the draws."""
    frame, printed = drawn(evidence, "table1"), evidence.paper["printed"]["table1"]
    test = frame[frame["split"] == "test"]
    figure, axes = panels(3)
    for axis, task in zip(axes, TASKS, strict=True):
        for number, (net, name) in enumerate(NETS.items()):
            draws = of(test, task=task, net=net).groupby("vectors")["correct"]
            ours, look = draws.mean(), style(number)
            axis.errorbar(ours.index, ours, yerr=draws.std().fillna(0), capsize=2, label=f"{name}, ours", **look)
            hollow = {**look, "linestyle": ":", "markerfacecolor": "white"}
            axis.plot(printed["vectors"], printed[PRINTED_AS[task]][net], label=f"{name}, paper", **hollow)
        axis.set_xscale("log")
        axis.set_xticks(printed["vectors"], [f"{vectors:,}" for vectors in printed["vectors"]])
        axis.minorticks_off()
        axis.set(title=f"{TITLES[task]} (artificial)", xlabel="training vectors", ylabel="test pairwise % correct")
    legend_below(figure, axes[0])
    return figure


FIGURES = {"figure1": figure1, "table1": table1_figure}
