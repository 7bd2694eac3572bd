"""How often validation chose the smallest or the largest value that it was offered.

A choice at an edge says that a wider grid might have done better, unless the edge is the end of what is possible, or
the paper's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank.papers.common import Entry
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table

PAPERS_GRID = "the paper's grid"


class Bound(NamedTuple):
    """Why a grid ends where it does: its smallest value is `least` or below, its largest `most` or above."""

    least: float = -np.inf
    most: float = np.inf
    why: str = ""


# By hyper-parameter, of all methods, or of one: (method, hyper-parameter), which stands before.
BOUNDS: dict[str | tuple[str, str], Bound] = {
    "epsilon": Bound(0.6, 1.0, PAPERS_GRID),
    ("cross_entropy_linear", "alpha"): Bound(0.1, 10.0, PAPERS_GRID),
    ("cross_entropy_bayes", "alpha"): Bound(0.1, 10.0, PAPERS_GRID),
    "weight": Bound(0.0, 1.0, "one feature alone"),
    "num_leaves": Bound(least=2, why="a tree has two leaves at least"),
    ("rankprop", "learning_rate"): Bound(most=1.0, why="a larger rate overshoots"),
    "width": Bound(least=1, why="a blanket has one neighbour at least"),
    "clusters": Bound(least=2, why="one cluster orders nothing"),
}

COLUMNS = [
    "data",
    "method",
    "hyper-parameter",
    "data sets",
    "smallest",
    "largest",
    "values",
    "folds",
    "at the smallest",
]
COLUMNS += ["at the largest", "at an edge %", "bounded by", "at an edge that could be moved"]


def offered(folds: Sequence[dict[str, Any]]) -> dict[str, tuple[float, ...]]:
    """The values of each hyper-parameter that has an order and a choice: no booleans, no names."""
    found = {}
    for name in folds[0]["chosen"]:
        values = {point[name] for fold in folds for point in fold["tried"]}
        if len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            found[name] = tuple(sorted(values))
    return found


def bound_of(method: str, name: str) -> Bound:
    return BOUNDS.get((method, name), BOUNDS.get(name, Bound()))


def edges_table(entry: Entry, evidence: Evidence) -> Table:
    """A row for each hyper-parameter of each method, data sets with the same grid together."""
    groups: dict[tuple[str, str, tuple[float, ...]], list[tuple[str, float]]] = {}
    for (dataset, method), folds in evidence.choices.items():
        for name, values in offered(folds).items():
            chosen = [(dataset, fold["chosen"][name]) for fold in folds]
            groups.setdefault((method, name, values), []).extend(chosen)
    order = {method: place for place, method in enumerate(evidence.methods)}
    rows = [
        _row(evidence, method, name, values, groups[method, name, values])
        for method, name, values in sorted(groups, key=lambda key: order.get(key[0], len(order)))
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    movable, all_choices = int(frame[COLUMNS[-1]].sum()), int(frame["folds"].sum())
    notes = [
        f"{movable} of {all_choices} choices are {COLUMNS[-1]}. A grid of two values has nothing but edges.",
        "A choice is that of one fold. Only hyper-parameters with an order and more than one value are listed: no "
        "choices between yes and no, and no rounds or epochs, which are not of the grid.",
        "Bounded by: why a grid could not go on, or was not to. Of equal values on validation the first is chosen.",
        *entry.get("notes", ()),
        *evidence.notes(evidence.datasets),
    ]
    return Table(entry["title"], frame, notes)


def _row(
    evidence: Evidence, method: str, name: str, values: tuple[float, ...], chosen: list[tuple[str, float]]
) -> dict[str, Any]:
    datasets = list(dict.fromkeys(dataset for dataset, _ in chosen))
    low = sum(value == values[0] for _, value in chosen)
    high = sum(value == values[-1] for _, value in chosen)
    bound = bound_of(method, name)
    ends_low, ends_high = values[0] <= bound.least, values[-1] >= bound.most
    ends = [f"{end:g}" for end, is_end in ((values[0], ends_low), (values[-1], ends_high)) if is_end]
    cells = [
        ", ".join(dict.fromkeys(map(evidence.origin, datasets))),
        evidence.title(method),
        name,
        ", ".join(evidence.cards[dataset]["title"] for dataset in datasets),
        f"{values[0]:g}",
        f"{values[-1]:g}",
        len(values),
        len(chosen),
        low,
        high,
        100 * (low + high) / len(chosen),
        f"{' and '.join(ends)}: {bound.why}" if ends else "",
        (0 if ends_low else low) + (0 if ends_high else high),
    ]
    return dict(zip(COLUMNS, cells, strict=True))
