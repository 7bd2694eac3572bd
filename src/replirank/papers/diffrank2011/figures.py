"""diffrank2011's figures."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from replirank.papers.common import Entry
from replirank.papers.common.figures import COLOURS, panels
from replirank.papers.diffrank2011.lists import ALL, FIGURE, FIRST_50, THEOREM
from replirank.papers.diffrank2011.tables import rounds_of
from replirank.reporting.evidence import Evidence

COLOUR = {FIRST_50: COLOURS[1], ALL: COLOURS[2]}
DASH = {FIRST_50: "-", ALL: "--"}
NAMES = {"loss": "product of the Z", "error": "wrong pairs"}


def figure2(entry: Entry, evidence: Evidence) -> Figure:
    """(a) the bound with the error below it, (b) Kendall tau, (c) the same as (a) for Figure 1's differences."""
    dataset = evidence.dataset(entry["role"])
    rounds = rounds_of(evidence, dataset)
    figure, (left, middle, right) = panels(3, columns=3)
    figure.set_size_inches(7.2, 3.2)
    for axis, reading, columns in (
        (left, THEOREM, ("loss", "error")),
        (middle, THEOREM, ("kendall",)),
        (right, FIGURE, ("loss", "error")),
    ):
        for part, here in rounds[rounds["reading"] == reading].groupby("part", sort=False):
            for column in columns:
                _draw(axis, here, column, str(part), f"{NAMES[column]}, {part}" if len(columns) > 1 else None)
    label = evidence.label(dataset)
    left.set(title=f"{label}\n(a) {THEOREM}'s differences", ylabel="product; share of training pairs")
    middle.set(title=f"{label}\n(b) {THEOREM}'s differences", ylabel="training Kendall tau (distance)")
    right.set(title=f"{label}\n(c) {FIGURE}'s differences", ylabel="product; share of training pairs")
    for axis in (left, middle, right):
        axis.set(xlabel="round", ylim=(0, None))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _draw(axis: Any, rounds: pd.DataFrame, column: str, part: str, label: str | None) -> None:
    """The mean over folds, and from the least to the most of them."""
    folds = rounds.pivot(index="round", columns="fold", values=column).dropna()  # as far as all folds come
    # Bound and error are told apart by width, parts of lists by dash as well as by colour.
    width = 2.0 if column == "loss" else 1.0
    look = {"color": COLOUR[part], "linestyle": DASH[part], "linewidth": width, "marker": ""}
    axis.plot(folds.index, folds.mean(axis=1), label=label, **look)
    axis.fill_between(folds.index, folds.min(axis=1), folds.max(axis=1), color=COLOUR[part], alpha=0.15, linewidth=0)


FIGURES = {"figure2": figure2}
