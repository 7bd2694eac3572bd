"""What differs between the results of two runs: `make compare A=docs/reference B=results/tables`.

A is the run before, B the run after. Tables are compared as text, cell by cell. Times are left out: tables whose name
ends in "times", and columns of seconds. Rows and tables that only B has are listed and are no fault; with anything else
that differs the exit code is 1. `--scores` compares two folders of scores instead (results/scores), CSV or Parquet.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow.csv

MOST_LINES = 10  # of each kind of difference, for each table
SCORE_KEY = ["fold", "split", "query", "document"]


class Difference(NamedTuple):
    lines: list[str]  # what to print; none where nothing differs
    only_added: bool  # B has all that A has, and more


def compare_folders(
    a: dict[str, Path], b: dict[str, Path], compare: Callable[[Path, Path], Difference]
) -> tuple[list[str], bool]:
    """The report, and whether B keeps everything that A has."""
    lines, kept = [], a.keys() <= b.keys()
    for name in sorted(a.keys() | b.keys()):
        if name not in b or name not in a:
            lines.append(f"{name}: only in {'A' if name in a else 'B'}")
            continue
        difference = compare(a[name], b[name])
        lines += [f"{name}: {'differs' if difference.lines else 'identical'}"]
        lines += [f"  {line}" for line in difference.lines]
        kept &= difference.only_added or not difference.lines
    return lines, kept


# Tables


def tables(folder: Path) -> dict[str, Path]:
    """The CSV tables of a folder by their path without the ending; not those of times."""
    paths = sorted(folder.rglob("*.csv"))
    return {str(path.relative_to(folder).with_suffix("")): path for path in paths if not path.stem.endswith("times")}


def compare_tables(a: Path, b: Path, most: int = MOST_LINES) -> Difference:
    if a.read_bytes() == b.read_bytes():
        return Difference([], only_added=False)
    old, new = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (a, b))
    has_seconds = any(map(_is_seconds, old))
    old, new = (frame[[column for column in frame if not _is_seconds(column)]] for frame in (old, new))
    columns = [column for column in old if column in new]
    lines = [f"column only in A: {column}" for column in old if column not in columns]
    lines += [f"column only in B: {column}" for column in new if column not in columns]
    if not columns:
        return Difference(lines, only_added=False)
    if [column for column in new if column in columns] != columns:
        lines.append("columns stand in another order")
    key = row_key(old[columns], new[columns])
    old, new = (_by_key(frame, key) for frame in (old, new))
    shared = old.index[old.index.isin(new.index)]
    if not new.index[new.index.isin(old.index)].equals(shared):
        lines.append("rows that both have stand in another order")
    cells = []
    for column in (column for column in columns if column not in key):
        for row in shared[(old.loc[shared, column] != new.loc[shared, column]).to_numpy()]:
            cells.append(f"{_row(key, row)}: {column}: {old.loc[row, column]} -> {new.loc[row, column]}")
    removed = [f"row removed: {_row(key, row)}" for row in old.index.difference(new.index, sort=False)]
    added = [f"row added: {_row(key, row)}" for row in new.index.difference(old.index, sort=False)]
    changed = [*lines, *_first(cells, most, "cells that differ"), *_first(removed, most, "rows removed")]
    if not (changed or added or has_seconds):
        changed = ["the cells are the same, the bytes are not: quotes or line ends"]
    return Difference([*changed, *_first(added, most, "rows added")], only_added=not changed)


def row_key(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """The columns that tell the rows of both tables apart: of the first that do, those that are needed for it."""

    def unique(columns: list[str]) -> bool:
        return not any(frame.duplicated(columns).any() for frame in (old, new))

    columns = list(old.columns)
    key = next((columns[:count] for count in range(1, len(columns)) if unique(columns[:count])), columns)
    for column in list(key):
        fewer = [other for other in key if other != column]
        if fewer and unique(fewer):
            key = fewer
    return key


def _by_key(frame: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Indexed by the key, and by a running number among rows that even all columns do not tell apart."""
    return frame.set_index([*(frame[column] for column in key), frame.groupby(key).cumcount()])


def _row(key: list[str], row: tuple) -> str:
    return ", ".join(f"{column} {value}" for column, value in zip(key, row, strict=False))


def _is_seconds(column: str) -> bool:
    return re.search(r"\bseconds\b", column) is not None


def _first(lines: list[str], most: int, what: str) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], f"... {len(lines)} {what} in all"]


# Scores


def score_files(folder: Path) -> dict[str, Path]:
    paths = sorted([*folder.rglob("*.csv"), *folder.rglob("*.parquet")])
    return {str(path.relative_to(folder).with_suffix("")): path for path in paths}


def compare_scores(a: Path, b: Path) -> Difference:
    """As numbers, since they may be CSV before and Parquet after."""
    old, new = (_scores(path) for path in (a, b))
    shared = old.index.intersection(new.index)
    lines = [
        f"{len(frame) - len(shared)} documents only in {side}"
        for side, frame in (("A", old), ("B", new))
        if len(frame) > len(shared)
    ]
    change = (old[shared] - new[shared]).abs()
    if (old[shared] != new[shared]).any():
        lines.append(f"{(change > 0).sum()} of {len(shared)} scores differ, the most by {change.max():.3g}")
    return Difference(lines, only_added=False)


def _scores(path: Path) -> pd.Series:
    read = pd.read_parquet if path.suffix == ".parquet" else lambda path: pyarrow.csv.read_csv(path).to_pandas()
    return read(path).set_index(SCORE_KEY)["score"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", type=Path, metavar="A", help="the folder before")
    parser.add_argument("b", type=Path, metavar="B", help="the folder after")
    parser.add_argument("--scores", action="store_true", help="compare folders of scores instead of tables")
    given = parser.parse_args(arguments)
    find, compare = (score_files, compare_scores) if given.scores else (tables, compare_tables)
    for folder in (given.a, given.b):
        if not find(folder):
            parser.error(f"{folder} has no {'scores' if given.scores else 'CSV tables'}: name a folder that has")
    lines, kept = compare_folders(find(given.a), find(given.b), compare)
    print("\n".join(lines))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
