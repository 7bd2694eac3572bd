"""LETOR text <-> arrays.

A line is `<label> qid:<id> <feature>:<value> ... # comment`: the label a finite number of at least 0, the id any text
without white space, the features whole numbers from 1 and increasing, values finite. A feature that is not named is 0
(sparse lines). Blank lines and lines with only a comment are passed over; CRLF is fine; a `docid = X` in the comment is
kept.

An id of digits that fits 64 bits is a number, so that 007 is 7. Where every id of a file is a number, `query_ids` is
int64; where any is not, all are text, the numbers among them in decimal (`WT04-132`, `7`).

There are two readers. `_read_lines` *is* the definition: one line at a time, and an error names file and line.
`_read_block` reads a block of regular lines some fifteen times faster and returns None for whatever it does not
recognise, which then goes to the other. A test holds them to the same answer on every mutation of a valid line.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from replirank.atomic import atomic_write
from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError

# Not scikit-learn's load_svmlight_file: it takes several times as long, keeps no document ids and names no line.
BLOCK = 1 << 24  # bytes read at once: large enough for the fast reader, small enough for any machine
MOST_FEATURES = 1 << 16  # a larger number is a typing error; as a column it would eat the memory
LARGEST_QID = 2**63 - 1
TOO_LARGE = 2.0**128 - 2.0**103  # the least value that float32 rounds to infinity

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DIGITS = re.compile(rb"\d+")
_WORD = re.compile(rb"\S+")
_DOCID = re.compile(rb"#\s*docid\s*=\s*(\S+)")
_UNREADABLE = re.compile(r"[ \t\n\r\f\v]")
_UNREADABLE_QID = re.compile(r"[ \t\n\r\f\v#]|^$")
_REGULAR = b"0123456789.:eE+- "


class _Block(NamedTuple):
    """Some lines, as columns; `feature` and `value` are flat, `counts` says how many belong to each line."""

    labels: np.ndarray
    qids: np.ndarray  # int64; Python's own int and str (dtype object) where not all are numbers
    counts: np.ndarray
    feature: np.ndarray
    value: np.ndarray
    document_ids: list[str | None]
    line_numbers: np.ndarray


def read(path: str | PathLike, *, features: int | None = None, dtype: type[np.floating] = np.float32) -> RankingData:
    """Read a LETOR file. `features`, where given, is the width: a larger feature number is an error.

    `dtype` is that of the features: float64 for numbers that are still to be scaled, float32 for all else.
    """
    blocks = []
    with open(path, "rb") as file:
        for first_line, lines in _blocks(file):
            blocks.append(_read_block(lines, first_line) or _read_lines(lines, first_line, path))
    if sum(len(block.labels) for block in blocks) == 0:
        raise ReplirankError("the file has no data lines", path=path, remedy="was it copied whole?")
    joined = _Block._make(
        [
            *(np.concatenate(column) for column in list(zip(*blocks, strict=True))[:5]),
            [name for block in blocks for name in block.document_ids],
            np.concatenate([block.line_numbers for block in blocks]),
        ]
    )
    del blocks
    offsets, query_ids = _queries(joined, path)
    return RankingData(
        features=_dense(joined, features, dtype, path),
        labels=joined.labels.astype(np.float32),
        offsets=offsets,
        query_ids=query_ids,
        document_ids=_document_ids(joined.document_ids),
    )


def line_of(path: str | PathLike, row: int) -> int:
    """The number of the line that a row of a file came from, both as the reader counts: lines from 1, rows from 0."""
    with open(path, "rb") as file:
        numbers = (number for number, line in enumerate(file, 1) if line.partition(b"#")[0].strip())
        return next(itertools.islice(numbers, row, None))


def _blocks(file: io.BufferedReader) -> Iterator[tuple[int, list[bytes]]]:
    """Whole lines in blocks, with the number of each block's first line."""
    first_line, rest = 1, b""
    while chunk := file.read(BLOCK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield first_line, lines
        first_line += len(lines)
    if rest:
        yield first_line, [rest]


def _read_block(lines: list[bytes], first_line: int) -> _Block | None:
    """Python touches each line once; pyarrow parses the features as rows of a two-column table."""
    labels, qids, counts, bodies, names, numbers = [], [], [], [], [], []
    label_of: dict[bytes, float] = {}
    qid_of: dict[bytes, int | str] = {}
    for number, line in enumerate(lines, first_line):
        line = line.removesuffix(b"\r")
        if b"\r" in line:
            return None
        body, _, comment = line.partition(b"#")
        parts = body.rstrip(b" \t").split(b" ", 2)
        if len(parts) != 3:
            if parts == [b""]:
                continue
            return None
        label, qid, rest = parts
        if label not in label_of:
            value = _number(label)
            if value is None or value < 0:
                return None
            label_of[label] = value
        if qid not in qid_of:
            if not (qid.startswith(b"qid:") and _WORD.fullmatch(qid, 4)):
                return None
            qid_of[qid] = _query_id(qid[4:])
        labels.append(label_of[label])
        qids.append(qid_of[qid])
        counts.append(rest.count(b":"))
        bodies.append(rest)
        names.append(_docid(comment))
        numbers.append(number)
    if not bodies:
        return None
    body = b" ".join(bodies)
    # Only these characters: so no quotes, commas, tabs, hexadecimal, nan or inf reach pyarrow, which would take some.
    if body.translate(None, _REGULAR):
        return None
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(body.translate(bytes.maketrans(b" :", b"\n,"))),
            read_options=pa.csv.ReadOptions(column_names=["feature", "value"], use_threads=False),
            parse_options=pa.csv.ParseOptions(quote_char=False),
            convert_options=pa.csv.ConvertOptions(
                column_types={"feature": pa.int64(), "value": pa.float64()}, null_values=[]
            ),
        )
    except pa.ArrowInvalid:  # not regular after all: the other reader says what is wrong, or takes it
        return None
    feature, value = (column.to_numpy() for column in table.columns)
    counts = np.array(counts)
    first = np.zeros(len(feature), dtype=bool)
    first[(np.cumsum(counts) - counts)[counts > 0]] = True
    increasing = np.all((np.diff(feature) > 0) | first[1:]) if len(feature) else True
    if len(feature) != counts.sum() or not increasing or not np.all(np.abs(value) < TOO_LARGE):
        return None
    if len(feature) and (feature.min() < 1 or feature.max() > MOST_FEATURES):
        return None
    return _Block(np.array(labels), _id_array(qids), counts, feature, value, names, np.array(numbers))


def _read_lines(lines: Iterable[bytes], first_line: int, path: str | PathLike) -> _Block:
    labels, qids, counts, feature, value, names, numbers = [], [], [], [], [], [], []
    for number, line in enumerate(lines, first_line):

        def refuse(what: str, remedy: str, number: int = number) -> ReplirankError:
            return ReplirankError(what, path=path, line=number, remedy=remedy)

        line = line.removesuffix(b"\r")
        if b"\r" in line:  # in a comment it could hide the next line
            raise refuse("a carriage return within the line", "end each line with LF or CRLF")
        body, _, comment = line.partition(b"#")
        tokens = [token for token in re.split(rb"[ \t]+", body) if token]
        if not tokens:
            continue
        label = _number(tokens[0])
        if label is None or label < 0:
            raise refuse(
                f"the label {_show(tokens[0])} is not a number of at least 0",
                "a line starts with the relevance label: 0, 1, 2 ...",
            )
        if len(tokens) < 2 or not tokens[1].startswith(b"qid:"):
            raise refuse(
                f"expected qid:<id> after the label, found {_show(tokens[1] if len(tokens) > 1 else b'')}",
                "write the query's id as in qid:10 or qid:WT04-132",
            )
        if not _WORD.fullmatch(tokens[1], 4):
            raise refuse(
                f"the query id {_show(tokens[1][4:])} is empty or holds white space",
                "write the query's id as one word, as in qid:10 or qid:WT04-132",
            )
        before = 0
        for token in tokens[2:]:
            name, colon, text = token.partition(b":")
            if not colon or not _DIGITS.fullmatch(name):
                raise refuse(f"{_show(token)} is not <feature>:<value>", "write each feature as in 7:0.25")
            column, number_read = _integer(name), _number(text)
            if number_read is None:
                raise refuse(
                    f"feature {column} has the value {_show(text)}, which is not a finite number",
                    "repair the value, or leave the feature out if it is 0",
                )
            if not 1 <= column <= MOST_FEATURES:
                raise refuse(f"feature number {column} is not in 1..{MOST_FEATURES}", "features are numbered from 1")
            if column <= before:
                raise refuse(
                    f"feature {column} comes after feature {before}", "list each feature once, in increasing order"
                )
            before = column
            feature.append(column)
            value.append(number_read)
        labels.append(label)
        qids.append(_query_id(tokens[1][4:]))
        counts.append(len(tokens) - 2)
        names.append(_docid(comment))
        numbers.append(number)
    return _Block(
        np.array(labels, dtype=np.float64),
        _id_array(qids),
        np.array(counts, dtype=np.int64),
        np.array(feature, dtype=np.int64),
        np.array(value, dtype=np.float64),
        names,
        np.array(numbers, dtype=np.int64),
    )


def _number(text: bytes) -> float | None:
    """A finite decimal number that float32 can hold, or None."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < TOO_LARGE else None


def _integer(digits: bytes) -> int:
    """Twenty digits are too large for all we read; Python refuses to convert thousands of them."""
    return int(digits.lstrip(b"0")[:20] or b"0")


def _query_id(word: bytes) -> int | str:
    if _DIGITS.fullmatch(word) and (number := _integer(word)) <= LARGEST_QID:
        return number
    return _text(word)


def _id_array(qids: list[int | str]) -> np.ndarray:
    numbers = all(isinstance(qid, int) for qid in set(qids))
    return np.array(qids, dtype=np.int64 if numbers else object)


def _docid(comment: bytes) -> str | None:
    match = _DOCID.match(b"#" + comment) if comment else None
    return _text(match[1]) if match else None


def _text(word: bytes) -> str:
    """Bytes that are no text become escapes; NUL is one, and numpy's strings would lose it at their end."""
    return word.replace(b"\0", rb"\x00").decode("utf-8", "backslashreplace")


def _show(text: bytes) -> str:
    """A piece of the file for a message: short, on one line, printable."""
    shown = repr(text[:40].decode("utf-8", "backslashreplace"))
    return shown if len(text) <= 40 else f"{shown}..."


def _show_id(qid: np.int64 | np.str_) -> str:
    return _show(qid.encode()) if isinstance(qid, str) else str(qid)


def _queries(block: _Block, path: str | PathLike) -> tuple[np.ndarray, np.ndarray]:
    starts = np.concatenate([[0], np.flatnonzero(block.qids[1:] != block.qids[:-1]) + 1])
    query_ids = block.qids[starts]
    if query_ids.dtype == object:
        query_ids = query_ids.astype(str)
    values, first = np.unique(query_ids, return_index=True)
    if len(values) < len(query_ids):
        again = np.setdiff1d(np.arange(len(query_ids)), first)[0]
        raise ReplirankError(
            f"query {_show_id(query_ids[again])} appears again after other queries",
            path=path,
            line=int(block.line_numbers[starts[again]]),
            remedy="the lines of a query must stand together: sort the file by qid (a stable sort)",
        )
    return np.append(starts, len(block.qids)).astype(np.int64), query_ids


def _dense(block: _Block, features: int | None, dtype: type[np.floating], path: str | PathLike) -> np.ndarray:
    widest = int(block.feature.max(initial=0))
    if features is not None and widest > features:
        first = np.argmax(block.feature > features)
        line = np.repeat(block.line_numbers, block.counts)[first]
        raise ReplirankError(
            f"feature {block.feature[first]} in a data set of {features} features",
            path=path,
            line=int(line),
            remedy="is this the right data set?",
        )
    width = widest if features is None else features
    rows = len(block.labels)
    if len(block.value) == rows * width and np.all(block.counts == width):  # no feature left out anywhere
        return block.value.astype(dtype).reshape(rows, width)
    dense = np.zeros((rows, width), dtype=dtype)
    dense[np.repeat(np.arange(rows), block.counts), block.feature - 1] = block.value
    return dense


def _document_ids(names: list[str | None]) -> np.ndarray | None:
    if all(name is None for name in names):
        return None
    return np.array([name or "" for name in names], dtype=str)


def write(path: str | PathLike, data: RankingData) -> None:
    """Write LETOR text with every feature named, so that any program reads it; `read` gives the same data back.

    Only ids that are text and all look like numbers, as a part of a data set may have them, are read as numbers.
    """
    if data.text_ids and (bad := [name for name in data.query_ids if _UNREADABLE_QID.search(name)]):
        raise ReplirankError(
            f"the query id {_show(bad[0].encode())} is empty or holds white space or #",
            path=path,
            remedy="ids are single words",
        )
    if data.document_ids is not None and (bad := [name for name in data.document_ids if _UNREADABLE.search(name)]):
        raise ReplirankError(
            f"the document id {_show(bad[0].encode())} holds white space", path=path, remedy="ids are single words"
        )
    names = "".join(f" {column}:%.9g" for column in range(1, data.features.shape[1] + 1))
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for query, rows in zip(data.query_ids, data, strict=True):
            ids = [""] * (rows.stop - rows.start)
            if data.document_ids is not None:
                ids = [f" #docid = {name}" if name else "" for name in data.document_ids[rows]]
            for label, values, comment in zip(data.labels[rows], data.features[rows].tolist(), ids, strict=True):
                file.write(f"{label:.9g} qid:{query}{names % tuple(values)}{comment}\n")
