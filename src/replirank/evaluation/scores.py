"""The scores file: what every method leaves for the evaluation, whatever program it is.

A CSV file with the columns fold (from 1), split (train, vali or test), query (its id), document (its place among the
query's documents in the data, from 1) and score. The test split of every fold must be there; the others may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from replirank.atomic import atomic_write
from replirank.data.arrays import Dataset, RankingData
from replirank.errors import ReplirankError

COLUMNS = {
    "fold": pa.int64(),
    "split": pa.string(),
    "query": pa.int64(),
    "document": pa.int64(),
    "score": pa.float64(),
}


class Scored(NamedTuple):
    """The scores of one split of a fold, in the order of the data."""

    fold: int  # from 0
    split: str
    scores: np.ndarray


def frame(dataset: Dataset, scored: Sequence[Scored]) -> pd.DataFrame:
    pieces = []
    for fold, split, scores in scored:
        data = dataset.split(fold, split)
        pieces.append(
            pd.DataFrame(
                {
                    "fold": fold + 1,
                    "split": split,
                    "query": np.repeat(data.query_ids, data.lengths),
                    "document": _places(data),
                    "score": np.asarray(scores, dtype=np.float64),
                }
            )
        )
    return pd.concat(pieces, ignore_index=True)


def _places(data: RankingData) -> np.ndarray:
    return np.arange(data.documents) - np.repeat(data.offsets[:-1], data.lengths) + 1


def write(path: str | PathLike, scores: pd.DataFrame) -> None:
    """Numbers are written so that reading gives the same bits."""
    with atomic_write(path) as temporary:
        pa.csv.write_csv(pa.Table.from_pandas(scores[list(COLUMNS)], preserve_index=False), temporary)


def read(path: str | PathLike, dataset: Dataset) -> list[Scored]:
    """The scores of each split in the file, checked against the data."""
    return list(_checked(path, _table(path), dataset))


def _table(path: str | PathLike) -> pd.DataFrame:
    try:
        table = pa.csv.read_csv(
            path,
            # With one thread pyarrow says which row is wrong; with blank lines counted, rows are lines.
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(column_types=COLUMNS, null_values=[]),
        )
        names = table.column_names
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        row = re.search(r"Row #(\d+): ", str(error))
        raise ReplirankError(
            f"this is not a scores file ({_printable(str(error))})",
            path=path,
            line=int(row[1]) if row else None,
            remedy=f"write the columns {', '.join(COLUMNS)}",
        ) from error
    if names != list(COLUMNS):
        raise ReplirankError(
            f"the columns are {_printable(', '.join(names))}", path=path, remedy=f"they must be {', '.join(COLUMNS)}"
        )
    return table.to_pandas()


def _printable(text: str) -> str:
    """A message that may quote bytes of the file, made fit for a terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _checked(path: str | PathLike, table: pd.DataFrame, dataset: Dataset) -> Iterator[Scored]:
    given: Mapping[tuple[int, str], pd.DataFrame] = dict(list(table.groupby(["fold", "split"], sort=True)))
    for fold in range(len(dataset.folds)):
        if (fold + 1, "test") not in given:
            raise ReplirankError(
                f"fold {fold + 1} has no test scores", path=path, remedy="score the test split of every fold"
            )
    for (fold, split), rows in given.items():
        if not 1 <= fold <= len(dataset.folds) or split not in ("train", "vali", "test"):
            raise ReplirankError(
                f"fold {fold}, split {split!r}: the data has no such split",
                path=path,
                line=int(rows.index[0]) + 2,
                remedy=f"folds are 1 to {len(dataset.folds)}, splits train, vali and test",
            )
        data = dataset.split(fold - 1, split)
        expected = pd.MultiIndex.from_arrays([np.repeat(data.query_ids, data.lengths), _places(data)])
        found = pd.MultiIndex.from_frame(rows[["query", "document"]])
        if not found.equals(expected):
            rows = _reordered(path, rows, found, expected, f"fold {fold}, {split}")
        bad = ~np.isfinite(rows["score"].to_numpy())
        if bad.any():
            raise ReplirankError(
                f"the score of document {rows['document'].iloc[bad.argmax()]} of query "
                f"{rows['query'].iloc[bad.argmax()]} is not finite",
                path=path,
                line=int(rows.index[bad.argmax()]) + 2,
                remedy="the method diverged or divided by zero: look at its log",
            )
        yield Scored(fold - 1, split, rows["score"].to_numpy())


def _reordered(
    path: str | PathLike, rows: pd.DataFrame, found: pd.MultiIndex, expected: pd.MultiIndex, where: str
) -> pd.DataFrame:
    """The rows in the data's order; any order is fine as long as each document is there once."""
    if found.has_duplicates:
        line = int(rows.index[found.duplicated()][0]) + 2
        raise ReplirankError(f"{where}: a document is scored twice", path=path, line=line, remedy="score each once")
    positions = found.get_indexer(expected)
    if (positions < 0).any() or len(found) != len(expected):
        raise ReplirankError(
            f"{where}: {len(found)} documents are scored, {len(expected)} are in the data, "
            f"and {int((positions >= 0).sum())} of these match",
            path=path,
            remedy="score each document of the split once; (query, document) must be as in the data",
        )
    return rows.iloc[positions]
