"""Every metric: its name, which direction is better, whether a convention applies, how it is shown, its formula.

Evaluation, the choice by validation, tables and the checks of the YAML files all read it. A new metric is a formula and
an entry in METRICS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import Literal

import numpy as np

from replirank.errors import ReplirankError
from replirank.metrics import formulas
from replirank.metrics.conventions import Convention, convention
from replirank.metrics.formulas import DEPTH, TOP, Ranking


@dataclass(frozen=True)
class Metric:
    name: str
    title: str  # how tables and figures show it
    formula: Callable[..., np.ndarray]  # of a ranking, and of a convention where one applies
    better: Literal["higher", "lower"] = "higher"
    has_convention: bool = True
    has_cut: bool = False  # whether it is cut after k documents; its formula then gives a column for each k in 1..DEPTH

    @property
    def sign(self) -> int:
        """What turns it into a value whose maximum is best, and back."""
        return 1 if self.better == "higher" else -1

    def cuts(self) -> dict[str, int | None]:
        """Its full names, "ndcg@1" and so on, and the k of each; "map" has none."""
        return {f"{self.name}@{k}": k for k in range(1, DEPTH + 1)} if self.has_cut else {self.name: None}

    def values(self, ranking: Ranking, rules: Convention | None) -> np.ndarray:
        """(queries,), or (queries, DEPTH) for a metric with a cut. NaN where a query has no such metric."""
        if rules is None:
            return self.formula(ranking)
        values = self.formula(ranking, rules)
        if rules.no_relevant == "left out":
            values[ranking.lists.relevant == 0] = np.nan
        return values


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("ndcg", "NDCG", formulas.ndcg, has_cut=True),
            Metric("p", "P", formulas.precision, has_cut=True),
            Metric("map", "MAP", formulas.average_precision),
            Metric("mean_ndcg", "MeanNDCG", formulas.mean_ndcg),
            Metric("err", "ERR", formulas.expected_reciprocal_rank, has_convention=False),
            Metric("pairwise_correct", "pairwise correct", formulas.pairwise_correct, has_convention=False),
            Metric("kendall_tau", "Kendall tau", formulas.kendall_tau, better="lower", has_convention=False),
            Metric(f"top{TOP}", f"top-{TOP} rate", formulas.top_rate, has_convention=False),
        )
    }
)
_BY_FULL_NAME = {name: (metric, cut) for metric in METRICS.values() for name, cut in metric.cuts().items()}


def parse(name: str, *, path: str | PathLike | None = None) -> tuple[Metric, int | None]:
    """The metric and its cut: NDCG and 10 of "ndcg@10", MAP and None of "map".

    `path` is the file in which the name stands, for the message.
    """
    try:
        return _BY_FULL_NAME[name]
    except KeyError:
        known = [f"{metric.name}@k" if metric.has_cut else metric.name for metric in METRICS.values()]
        raise ReplirankError(
            f"unknown metric {name!r}", path=path, remedy=f"choose one of {', '.join(known)}, for k in 1..{DEPTH}"
        ) from None


def display_name(name: str) -> str:
    """How tables and figures show a metric.

    >>> display_name("ndcg@10"), display_name("mean_ndcg")
    ('NDCG@10', 'MeanNDCG')
    """
    metric, cut = parse(name)
    return metric.title if cut is None else f"{metric.title}@{cut}"


def column_of(name: str, convention: str) -> str:
    """The column of results/metrics.parquet that has this metric in this convention, or without one.

    >>> column_of("ndcg@10", "letor3"), column_of("kendall_tau", "letor3")
    ('letor3.ndcg@10', 'kendall_tau')
    """
    return f"{convention}.{name}" if parse(name)[0].has_convention else name


def parse_column(name: str) -> tuple[Convention | None, Metric, int | None]:
    """What `column_of` made this name of."""
    before, dot, after = name.partition(".")
    metric, cut = parse(after if dot else name)
    if metric.has_convention != bool(dot):
        raise ReplirankError(
            f"no column {name!r}: {metric.name} {'needs a' if metric.has_convention else 'has no'} convention",
            remedy=f"take {column_of(after or name, 'letor3')!r}",
        )
    return (convention(before) if dot else None), metric, cut
