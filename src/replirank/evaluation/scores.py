"""The scores file: what every method leaves for the evaluation, whatever program it is.

A Parquet file with the columns fold (from 1), split (train, vali or test), query (its id: int64, or string where the
data set's ids are text), document (its place among the query's documents in the data, from 1) and score. The test split
of every fold must be there; the others may be. A method that does not support the data set leaves a file without rows
that says why. Another program may hand in a CSV file with the same columns, from which `replirank collect` makes this
file.
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
import pyarrow.parquet

from replirank.atomic import atomic_write
from replirank.data.arrays import Dataset, Judgements
from replirank.errors import ReplirankError

COLUMNS = ("fold", "split", "query", "document", "score")
UNSUPPORTED = b"unsupported"  # the key of the reason in the file's metadata


def columns(*, text_ids: bool) -> dict[str, pa.DataType]:
    """The columns and their types."""
    query = pa.string() if text_ids else pa.int64()
    return dict(zip(COLUMNS, (pa.int64(), pa.string(), query, pa.int64(), pa.float64()), strict=True))


class Scored(NamedTuple):
    """The scores of one split of a fold, in the order of the data."""

    fold: int  # from 0
    split: str
    scores: np.ndarray


def frame(dataset: Dataset, scored: Sequence[Scored]) -> pd.DataFrame:
    pieces = [pa.schema(columns(text_ids=dataset.data.text_ids)).empty_table().to_pandas()]
    for fold, split, scores in scored:
        data = dataset.judgements(fold, split)
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


def _places(data: Judgements) -> np.ndarray:
    return np.arange(data.documents) - np.repeat(data.offsets[:-1], data.lengths) + 1


def write(path: str | PathLike, scores: pd.DataFrame, *, unsupported: str | None = None) -> None:
    """The same scores give the same bytes. `unsupported` is the reason why there are none."""
    schema = pa.schema(columns(text_ids=not pd.api.types.is_integer_dtype(scores["query"])))
    table = pa.Table.from_pandas(scores[list(COLUMNS)], schema, preserve_index=False)
    # Without pandas' own metadata, which names its version.
    table = table.replace_schema_metadata({UNSUPPORTED: unsupported} if unsupported else None)
    with atomic_write(path) as temporary:
        pa.parquet.write_table(table, temporary)


def read(path: str | PathLike, dataset: Dataset) -> list[Scored]:
    """The scores of each split in the file, checked against the data; none of a method that does not support it."""
    expected = columns(text_ids=dataset.data.text_ids)
    described = ", ".join(f"{name} ({kind})" for name, kind in expected.items())
    try:
        table = pa.parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise ReplirankError(
            f"this is not a scores file ({_printable(str(error))})",
            path=path,
            remedy=f"write a Parquet file of the columns {described}, or let `replirank collect` make it",
        ) from error
    if table.schema != pa.schema(expected):
        found = ", ".join(f"{field.name} ({field.type})" for field in table.schema)
        raise ReplirankError(f"the columns are {found}", path=path, remedy=f"they must be {described}")
    if not len(table) and UNSUPPORTED in (table.schema.metadata or {}):
        return []
    return list(_checked(_File(path, table.to_pandas()), dataset))


def read_csv(path: str | PathLike, dataset: Dataset) -> list[Scored]:
    """The same of a CSV file, as other programs write it."""
    try:
        table = pa.csv.read_csv(
            path,
            # With one thread pyarrow says which row is wrong; with blank lines counted, rows are lines.
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(column_types=columns(text_ids=dataset.data.text_ids), null_values=[]),
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
    return list(_checked(_File(path, table.to_pandas(), first_line=2), dataset))


def _printable(text: str) -> str:
    """A message that may quote bytes of the file, made fit for a terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


class _File(NamedTuple):
    path: str | PathLike
    rows: pd.DataFrame
    first_line: int | None = None  # of the rows; None where the file has no lines

    def refusal(self, what: str, remedy: str, row: int | None = None) -> ReplirankError:
        line = None if row is None or self.first_line is None else int(row) + self.first_line
        return ReplirankError(what, path=self.path, line=line, remedy=remedy)


def _checked(file: _File, dataset: Dataset) -> Iterator[Scored]:
    given: Mapping[tuple[int, str], pd.DataFrame] = dict(list(file.rows.groupby(["fold", "split"], sort=True)))
    for fold in range(len(dataset.folds)):
        if (fold + 1, "test") not in given:
            raise file.refusal(f"fold {fold + 1} has no test scores", "score the test split of every fold")
    for (fold, split), rows in given.items():
        if not 1 <= fold <= len(dataset.folds) or split not in ("train", "vali", "test"):
            raise file.refusal(
                f"fold {fold}, split {split!r}: the data has no such split",
                f"folds are 1 to {len(dataset.folds)}, splits train, vali and test",
                rows.index[0],
            )
        data = dataset.judgements(fold - 1, split)
        expected = pd.MultiIndex.from_arrays([np.repeat(data.query_ids, data.lengths), _places(data)])
        found = pd.MultiIndex.from_frame(rows[["query", "document"]])
        if not found.equals(expected):
            rows = _reordered(file, rows, found, expected, f"fold {fold}, {split}")
        bad = ~np.isfinite(rows["score"].to_numpy())
        if bad.any():
            raise file.refusal(
                f"the score of document {rows['document'].iloc[bad.argmax()]} of query "
                f"{_printable(str(rows['query'].iloc[bad.argmax()]))} is not finite",
                "the method diverged or divided by zero: look at its log",
                rows.index[bad.argmax()],
            )
        yield Scored(fold - 1, split, rows["score"].to_numpy())


def _reordered(
    file: _File, rows: pd.DataFrame, found: pd.MultiIndex, expected: pd.MultiIndex, where: str
) -> pd.DataFrame:
    """The rows in the data's order; any order is fine as long as each document is there once."""
    if found.has_duplicates:
        again = rows.index[found.duplicated()][0]
        raise file.refusal(f"{where}: a document is scored twice", "score each once", again)
    positions = found.get_indexer(expected)
    if (positions < 0).any() or len(found) != len(expected):
        raise file.refusal(
            f"{where}: {len(found)} documents are scored, {len(expected)} are in the data, "
            f"and {int((positions >= 0).sum())} of these match",
            "score each document of the split once; (query, document) must be as in the data",
        )
    return rows.iloc[positions]
