"""What others published for the same data: single values in paper.yaml, and result sheets in CSV files beside it.

A sheet has the columns dataset, algorithm, split, fold (a number, or "mean" over folds) and one for each metric. Where
a sheet and paper.yaml both have a value, the sheet's is taken: it is the makers' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from replirank.metrics.registry import parse


class Published(NamedTuple):
    """Test means of one method on one data set."""

    dataset: str
    method: str
    printed_as: str  # the row's name there
    convention: str
    values: Mapping[str, float]  # by metric
    source: str


def read_sheets(paper: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """All sheets in one frame, a row for each value of a method of ours.

    Columns: dataset, method, printed_as, convention, source, split, fold, metric, value.
    """
    frames = [pd.DataFrame(columns=["dataset", "method", "split", "fold", "metric", "value"])]
    for sheet in paper.get("sheets", []):
        wide = pd.read_csv(folder / sheet["file"], dtype={"fold": str})
        long = wide.melt(["dataset", "algorithm", "split", "fold"], var_name="metric", value_name="value").dropna()
        for metric in long["metric"].unique():
            parse(metric, path=folder / sheet["file"])
        methods = {printed: method for method, printed in sheet["methods"].items()}
        long = long[long["algorithm"].isin(methods)]
        frames.append(
            long.assign(
                dataset=long["dataset"].str.lower(),
                method=long["algorithm"].map(methods),
                convention=sheet["convention"],
                source=sheet["source"],
            ).rename(columns={"algorithm": "printed_as"})
        )
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def published_values(paper: Mapping[str, Any], sheets: pd.DataFrame) -> list[Published]:
    """Those of the sheets, then what else paper.yaml has."""
    found = []
    if len(sheets):
        means = sheets[(sheets["split"] == "test") & (sheets["fold"] == "mean")]
        keys = ["dataset", "method", "printed_as", "convention", "source"]
        for (dataset, method, printed_as, convention, source), rows in means.groupby(keys, sort=False):
            values = dict(zip(rows["metric"], rows["value"], strict=True))
            found.append(Published(dataset, method, printed_as, convention, values, source))
    known = {(row.dataset, row.method, row.convention, metric) for row in found for metric in row.values}
    for entry in paper.get("published", []):
        key = entry["dataset"], entry["method"], entry["convention"]
        values = {metric: value for metric, value in entry["values"].items() if (*key, metric) not in known}
        if values:
            found.append(Published(*key[:2], entry["as"], key[2], values, entry["source"]))
    return found
