"""Every published cell beside ours: where they differ, and by how much.

A cell is one metric of one method on one data set, as the tables of single data sets show it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from replirank.evaluation import stats
from replirank.metrics.registry import column_of, display_name
from replirank.papers.common import Entry
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table

FAR = 0.015  # a difference beyond this is listed
BEYOND = "beyond .015"
MAKERS = "LETOR's own sheets"
OTHERS = "compilations and other papers"
OUTSIDE = "outside the interval"
COLUMNS = ["data set", "data", "method", "metric", "published", "ours", "difference", "\N{PLUS-MINUS SIGN}"]
COLUMNS += [BEYOND, OUTSIDE, "source"]


def half_width(values: pd.Series) -> float:
    """Half of the 95% interval of the mean."""
    if values.count() < 2:
        return np.nan
    low, high = stats.normal_interval(values)
    return (high - low) / 2


def cells(entry: Entry, evidence: Evidence) -> pd.DataFrame:
    """A row for each published cell, data set by data set, the largest difference first. Simulated data has none."""
    rows: list[dict[str, Any]] = []
    for dataset in filter(evidence.is_real, evidence.datasets):
        name = evidence.convention(dataset)
        columns = {metric: column_of(metric, name) for metric in entry["metrics"]}
        means = evidence.means(dataset, list(columns.values()))
        queries = evidence.rows(dataset).groupby("method")
        here = []
        for row in evidence.published:
            if (row.dataset, row.convention) != (dataset, name) or row.method not in evidence.supported(dataset):
                continue
            for metric, column in columns.items():
                if metric not in row.values:
                    continue
                ours, published = float(means.loc[row.method, column]), row.values[metric]
                half = half_width(queries.get_group(row.method)[column])
                cell = [evidence.cards[dataset]["title"], evidence.origin(dataset), evidence.title(row.method)]
                cell += [display_name(metric), published, ours, ours - published, half]
                far, outside = abs(ours - published) > FAR, abs(ours - published) > half
                cell += ["yes" if far else "no", "yes" if outside else "no", row.source]
                here.append(dict(zip(COLUMNS, cell, strict=True)))
        rows += sorted(here, key=lambda cell: -abs(cell["difference"]))
    return pd.DataFrame(rows, columns=COLUMNS)


def published_table(entry: Entry, evidence: Evidence) -> Table:
    frame = cells(entry, evidence)
    gaps = frame["difference"].abs()
    far = (gaps > FAR).sum()
    notes = [
        f"{len(frame)} cells: the median of |difference| is {gaps.median():.4f}, and {far} are {BEYOND}.",
        *(_of_source(source, rows) for source, rows in frame.groupby("source", sort=False)),
        "Conventions are those of the data sets' own tables. \N{PLUS-MINUS SIGN}: half of the 95% interval of our mean "
        "over all test queries (normal approximation).",
        *evidence.notes(evidence.datasets),
    ]
    return Table(entry["title"], frame, notes if len(frame) else notes[-1:], signed=["difference"])


def _of_source(source: str, rows: pd.DataFrame) -> str:
    gaps = rows["difference"].abs()
    counted = f"{len(rows)} cell{'s' * (len(rows) > 1)}"
    return f"{source}: {counted}, median {gaps.median():.4f}, {(gaps > FAR).sum()} {BEYOND}."


def summary_table(entry: Entry, evidence: Evidence) -> Table:
    """By data set, then by who published, then all together."""
    frame = cells(entry, evidence)
    makers = frame["source"].isin(set(evidence.sheets["source"]) if len(evidence.sheets) else set())
    groups = {(title, "all"): rows for title, rows in frame.groupby("data set", sort=False)}
    groups |= {("all", MAKERS): frame[makers], ("all", OTHERS): frame[~makers], ("all", "all"): frame}
    rows = []
    for (title, source), here in groups.items():
        if here.empty:
            continue
        gaps, far = here["difference"].abs(), here[here[BEYOND] == "yes"]
        largest = here.loc[gaps.idxmax()]
        rows.append(
            {
                "data set": title,
                "data": ", ".join(here["data"].unique()),
                "published in": source,
                "cells": len(here),
                "median |difference|": float(gaps.median()),
                BEYOND: len(far),
                "of these outside the interval": int((far[OUTSIDE] == "yes").sum()),
                "largest difference": float(largest["difference"]),
                "which is": f"{largest['method']}, {largest['metric']}"
                + (f", {largest['data set']}" if title == "all" else ""),
            }
        )
    notes = [
        f"{MAKERS}: those of LETOR 3.0, and of LETOR 4.0 for MQ2008. {OTHERS.capitalize()}: what these sheets do not "
        "have, LETOR's own values among it; the table of all cells names the source of each.",
        "The interval is the 95% interval of our mean over all test queries (normal approximation).",
        *evidence.notes(evidence.datasets),
    ]
    columns = None if rows else ["data set", "data", "published in", "cells"]
    return Table(entry["title"], pd.DataFrame(rows, columns=columns), notes, signed=["largest difference"])
