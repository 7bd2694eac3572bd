"""LETOR text: exact arrays, round trips, refusals with file and line, and ten thousand mutations against an oracle.

All rows are made up. The oracle at the end is written from the definition of the format, not from the reader.
"""

from __future__ import annotations

import math
import random
import re
import struct
from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from replirank.data import letor_text
from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError

FLOAT32_MAX = np.finfo(np.float32).max


@pytest.fixture
def text(tmp_path):
    """Write these bytes to a file."""

    def write(content: bytes | str) -> Path:
        path = tmp_path / "train.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def same_bits(a: np.ndarray, b) -> None:
    b = np.asarray(b, dtype=np.float32)
    assert a.dtype == np.float32
    assert_array_equal(a, b)
    assert_array_equal(np.signbit(a), np.signbit(b))


def check(data: RankingData, *, features, labels, offsets, query_ids, document_ids=None) -> None:
    same_bits(data.features, features)
    same_bits(data.labels, labels)
    assert data.offsets.dtype == np.int64
    assert data.query_ids.dtype == np.int64 if isinstance(query_ids[0], int) else data.query_ids.dtype.kind == "U"
    assert data.offsets.tolist() == offsets
    assert data.query_ids.tolist() == query_ids
    assert (None if data.document_ids is None else data.document_ids.tolist()) == document_ids


# What is read


TWO_QUERIES = {
    "features": [[0.25, 1, -3], [0, 0.5, 7], [1, 2, 3]],
    "labels": [2, 0, 1],
    "offsets": [0, 2, 3],
    "query_ids": [10, 7],
}
NAMED = {"document_ids": ["A-1", "A-2", "B-1"]}

DENSE = """\
2 qid:10 1:0.25 2:1 3:-3 #docid = A-1
0 qid:10 1:0 2:0.5 3:7 #docid = A-2
1 qid:7 1:1 2:2 3:3 #docid = B-1
"""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(DENSE, id="dense"),
        pytest.param(DENSE.rstrip("\n"), id="no final newline"),
        pytest.param(DENSE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(DENSE.replace("\n", "\r\n").rstrip("\n"), id="CRLF, cut after the last CR"),
        pytest.param(DENSE.replace("\n", "\n\n") + "\n \t \n\r\n", id="blank lines"),
        pytest.param("# made up\n" + DENSE.replace("\n1", "\n  # the second query\n\n1"), id="comment lines"),
        pytest.param(DENSE.replace(" ", "\t").replace("\t=\t", " = "), id="tabs"),
        pytest.param(DENSE.replace(" ", "  \t ").replace("2 qid", "  2 qid"), id="wide gaps"),
        pytest.param(DENSE.replace(" #", "#"), id="comment without a gap"),
        pytest.param(DENSE.replace("\n", "   \n"), id="trailing spaces"),
        pytest.param(DENSE.replace("#docid = ", "# docid="), id="docid written otherwise"),
        pytest.param(DENSE.replace("\n", " inc = 0.5 prob = 1\n"), id="more in the comment"),
        pytest.param(DENSE.replace(" 1:0 ", " "), id="sparse"),
        pytest.param(DENSE.replace("1:0.25", "1:+2.5E-1").replace("3:7", "3:+.7e+1"), id="exponents and plus signs"),
        pytest.param(DENSE.replace("2:1 ", "2:1. ").replace("2:0.5", "2:.5"), id="bare points"),
        pytest.param(DENSE.replace("qid:10", "qid:0010").replace(" 1:", " 001:"), id="leading zeros"),
        pytest.param(DENSE.replace("2 qid", "2.0e0 qid").replace("\n0 qid", "\n+0 qid"), id="labels as numbers"),
    ],
)
@pytest.mark.parametrize("block", [1, 2, 7, 38, 64, 1 << 24])
def test_one_content_in_many_spellings(text, monkeypatch, content, block):
    monkeypatch.setattr(letor_text, "BLOCK", block)
    check(letor_text.read(text(content)), **TWO_QUERIES, **NAMED)


def test_without_docids_there_are_none(text):
    check(letor_text.read(text(re.sub(" #.*", "", DENSE))), **TWO_QUERIES)
    check(letor_text.read(text(re.sub("#.*", "# nothing to see", DENSE))), **TWO_QUERIES)


def test_a_missing_docid_is_empty(text):
    data = letor_text.read(text(DENSE.replace(" #docid = A-2", "")))
    check(data, **TWO_QUERIES, document_ids=["A-1", "", "B-1"])


def test_the_docid_may_hold_any_text(text):
    data = letor_text.read(text("1 qid:1 1:1 #docid = é#=\n1 qid:1 1:1 #docid = http://a.b/?c=1 x\n"))
    assert data.document_ids.tolist() == ["é#=", "http://a.b/?c=1"]


def test_sparse_lines_are_filled_with_zeros(text):
    data = letor_text.read(text("1 qid:1 2:5\n0 qid:1\n0 qid:2 1:1 4:-2e-3\n"))
    check(
        data,
        features=[[0, 5, 0, 0], [0, 0, 0, 0], [1, 0, 0, -2e-3]],
        labels=[1, 0, 0],
        offsets=[0, 2, 3],
        query_ids=[1, 2],
    )


def test_lines_without_any_feature(text):
    check(
        letor_text.read(text("1 qid:1\n0 qid:1\n")),
        features=np.zeros((2, 0)),
        labels=[1, 0],
        offsets=[0, 2],
        query_ids=[1],
    )


def test_the_width_may_be_given(text):
    data = letor_text.read(text("1 qid:1 1:1 2:5\n"), features=4)
    same_bits(data.features, [[1, 5, 0, 0]])


def test_labels_between_the_levels_and_the_largest_numbers(text):
    largest = 2**63 - 1
    data = letor_text.read(text(f"0.5 qid:{largest} 1:{FLOAT32_MAX:.9g} 2:-{FLOAT32_MAX!s} 65536:1e-45\n1830 qid:0\n"))
    same_bits(data.labels, [0.5, 1830])
    same_bits(data.features[0, [0, 1, 65535]], [FLOAT32_MAX, -FLOAT32_MAX, 1e-45])
    assert data.query_ids.tolist() == [largest, 0]


def test_minus_zero_stays(text):
    same_bits(letor_text.read(text("0 qid:1 1:-0 2:0\n")).features, [[-0.0, 0.0]])


def test_values_are_rounded_once_from_all_their_digits(text):
    # Half way between two float32 numbers, save for the last digit.
    up, down = "1.00000005960464477539062500000000001", "1.0000000596046447753906249999"
    same_bits(letor_text.read(text(f"1 qid:1 1:{up} 2:{down}\n")).features, [[float(up), float(down)]])


def test_features_may_be_kept_in_float64(text):
    data = letor_text.read(text("1 qid:1 1:0.1 2:0.987654321\n0 qid:1 2:0.3\n"), dtype=np.float64)
    assert data.features.dtype == np.float64
    assert data.features.tolist() == [[0.1, 0.987654321], [0, 0.3]]
    assert data.labels.dtype == np.float32


def test_agrees_with_sklearn(text):
    rng = np.random.default_rng(3)
    lines = []
    for query in (4, 9, 2):
        for _ in range(20):
            named = np.flatnonzero(rng.random(12) < 0.6) + 1
            values = rng.standard_normal(12) * 10.0 ** rng.integers(-9, 9, 12)
            features = " ".join(f"{k}:{float(values[k - 1])!r}" for k in named)
            lines.append(f"{rng.integers(0, 5)} qid:{query} {features} # made up\n")
    path = text("".join(lines))
    data = letor_text.read(path, features=12)
    features, labels, queries = load_svmlight_file(str(path), n_features=12, query_id=True, zero_based=False)
    same_bits(data.features, features.toarray().astype(np.float32))
    same_bits(data.labels, labels)
    assert_array_equal(np.repeat(data.query_ids, data.lengths), queries)


@pytest.mark.parametrize("block", [1, 20, 1 << 24])
@pytest.mark.parametrize(
    ("qids", "read"),
    [
        (["WT04-132", "WT04-7"], ["WT04-132", "WT04-7"]),
        (["007", "12"], [7, 12]),
        (["007", "12", "a"], ["7", "12", "a"]),
        (["a", "007", "12"], ["a", "7", "12"]),
        (["9223372036854775807", "3"], [2**63 - 1, 3]),
        (["9223372036854775808", "3"], ["9223372036854775808", "3"]),  # does not fit 64 bits
        (["9" * 5000, "3"], ["9" * 5000, "3"]),
        (["-3", "1.5", "1e3", "+4"], ["-3", "1.5", "1e3", "+4"]),
        (["a:b", "qid:", "'", "é", "٣"], ["a:b", "qid:", "'", "é", "٣"]),
    ],
)
def test_query_ids_are_numbers_or_else_text(text, monkeypatch, block, qids, read):
    monkeypatch.setattr(letor_text, "BLOCK", block)
    data = letor_text.read(text("".join(f"1 qid:{qid} 1:1\n0 qid:{qid} 1:2\n" for qid in qids)))
    rows = np.tile([[1], [2]], (len(qids), 1))
    labels = [1, 0] * len(qids)
    check(data, features=rows, labels=labels, offsets=list(range(0, len(rows) + 1, 2)), query_ids=read)


def test_bytes_of_a_query_id_that_are_no_text_are_escaped(text):
    data = letor_text.read(text(b"1 qid:a\xff 1:1\n1 qid:\0 1:1\n1 qid:b\0 1:1\n"))
    assert data.query_ids.tolist() == [r"a\xff", r"\x00", r"b\x00"]


def test_a_comment_may_follow_the_query_id_at_once(text):
    assert letor_text.read(text("1 qid:a#docid = A\n")).query_ids.tolist() == ["a"]


# Round trips


QUERY_NUMBERS = st.integers(0, 2**63 - 1)
QUERY_WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="#\0 \t\n\r\f\v"), min_size=1, max_size=6
).filter(lambda word: not re.fullmatch("[0-9]+", word))


@st.composite
def some_query_ids(draw, count: int) -> np.ndarray:
    """Numbers, or words with numbers among them."""
    numbers = st.lists(QUERY_NUMBERS, min_size=count, max_size=count, unique=True)
    mixed = st.lists(QUERY_WORDS | QUERY_NUMBERS.map(str), min_size=count - 1, max_size=count - 1, unique=True)
    if draw(st.booleans()):
        return np.array(draw(numbers), dtype=np.int64)
    ids = draw(mixed)
    return np.array([*ids, draw(QUERY_WORDS.filter(lambda word: word not in ids))], dtype=str)


@st.composite
def ranking_data(draw) -> RankingData:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    documents, width = sum(lengths), draw(st.integers(0, 5))
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    # A docid is what stands there up to the next white space.
    ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0 \t\n\r\f\v"), max_size=6)
    names = draw(st.none() | st.lists(ids, min_size=documents, max_size=documents).filter(any))
    return RankingData(
        features=draw(npst.arrays(np.float32, (documents, width), elements=values)),
        labels=np.array(draw(st.lists(st.integers(0, 12), min_size=documents, max_size=documents)), np.float32) / 2,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        query_ids=draw(some_query_ids(len(lengths))),
        document_ids=None if names is None else np.array(names, dtype=str),
    )


@settings(max_examples=300, deadline=None)
@given(data=ranking_data(), block=st.sampled_from([3, 50, 1 << 24]))
def test_what_is_written_is_read_back_to_the_bit(tmp_path_factory, data, block):
    path = tmp_path_factory.mktemp("round") / "all.txt"
    letor_text.write(path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor_text, "BLOCK", block)
        back = letor_text.read(path)
    names = None if data.document_ids is None else data.document_ids.tolist()
    check(
        back,
        features=data.features,
        labels=data.labels,
        offsets=data.offsets.tolist(),
        query_ids=data.query_ids.tolist(),
        document_ids=names,
    )
    assert back.checksum() == data.checksum()


def test_float32_of_any_bits_is_read_back(tmp_path):
    """Of these, 68 need the ninth digit."""
    bits = np.random.default_rng(9).integers(0, 2**32, 6000, dtype=np.uint32)
    values = bits.view(np.float32)[np.isfinite(bits.view(np.float32))][:5000].reshape(1000, 5)
    data = RankingData(values, np.abs(values[:, 0]), np.arange(1001), np.arange(1000))
    letor_text.write(tmp_path / "all.txt", data)
    back = letor_text.read(tmp_path / "all.txt")
    same_bits(back.features, data.features)
    same_bits(back.labels, data.labels)


def test_written_text_is_what_others_read(tmp_path, text):
    data = letor_text.read(text(DENSE))
    letor_text.write(tmp_path / "out.txt", data)
    assert (tmp_path / "out.txt").read_bytes() == DENSE.encode()


@pytest.mark.parametrize("name", ["two words", "A\n1 qid:9 1:9", "A\r"])
def test_an_id_that_could_not_be_read_back_is_not_written(tmp_path, text, name):
    data = letor_text.read(text("1 qid:1 1:1 #docid = A\n"))
    data = RankingData(data.features, data.labels, data.offsets, data.query_ids, np.array([name]))
    with pytest.raises(ReplirankError):
        letor_text.write(tmp_path / "out.txt", data)
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("qid", ["two words", "A\n1 qid:9 1:9", "A\r", "A#1", ""])
def test_a_query_id_that_could_not_be_read_back_is_not_written(tmp_path, text, qid):
    data = letor_text.read(text("1 qid:1 1:1\n"))
    data = RankingData(data.features, data.labels, data.offsets, np.array([qid]))
    with pytest.raises(ReplirankError, match="the query id"):
        letor_text.write(tmp_path / "out.txt", data)
    assert not (tmp_path / "out.txt").exists()


# What is refused


def refused(path: Path, **how) -> ReplirankError:
    with pytest.raises(ReplirankError) as caught:
        letor_text.read(path, **how)
    error = caught.value
    assert error.path == path
    assert error.remedy
    assert error.what.isprintable()
    assert len(error.what) < 300
    assert str(error).startswith(f"{path}:{error.line}: " if error.line else f"{path}: ")
    return error


BAD = {
    "NaN": b"1 qid:3 1:1 2:nan",
    "infinity": b"1 qid:3 1:1 2:inf",
    "minus infinity": b"1 qid:3 1:1 2:-Infinity",
    "more than a float holds": b"1 qid:3 1:1 2:1e400",
    "more than a float32 holds": b"1 qid:3 1:1 2:-1e39",
    "just more than a float32 holds": b"1 qid:3 1:1 2:3.4028236e38",
    "hexadecimal": b"1 qid:3 1:1 2:0x1F",
    "underscore": b"1 qid:3 1:1 2:1_000",
    "comma": b"1 qid:3 1:1 2:0,5",
    "quotes": b'1 qid:3 1:1 2:"5"',
    "two colons": b"1 qid:3 1:1 2:5:6",
    "unfinished exponent": b"1 qid:3 1:1 2:5e",
    "only a sign": b"1 qid:3 1:1 2:-",
    "only a point": b"1 qid:3 1:1 2:.",
    "negative label": b"-1 qid:3 1:1 2:2",
    "NaN label": b"nan qid:3 1:1 2:2",
    "huge label": b"1e39 qid:3 1:1 2:2",
    "no label": b"qid:3 1:1 2:2",
    "no qid": b"1 1:1 2:2",
    "only a label": b"1",
    "qid later": b"1 1:1 qid:3 2:2",
    "empty qid": b"1 qid: 1:1 2:2",
    "empty qid before a comment": b"1 qid:#3 1:1 2:2",
    "empty qid at the end": b"1 qid:",
    "qid with a vertical tab": b"1 qid:a\vb 1:1 2:2",
    "qid with a form feed": b"1 qid:3\f 1:1 2:2",
    "qid in capitals": b"1 QID:3 1:1 2:2",
    "feature 0": b"1 qid:3 0:1 2:2",
    "feature twice": b"1 qid:3 1:1 2:2 2:2",
    "decreasing features": b"1 qid:3 2:2 1:1",
    "no value": b"1 qid:3 1:1 7:",
    "no feature": b"1 qid:3 1:1 :3",
    "no colon": b"1 qid:3 1:1 7",
    "a gap before the value": b"1 qid:3 1:1 7: 5",
    "feature with a sign": b"1 qid:3 +1:1 2:2",
    "minus zero as a feature": b"1 qid:3 -0:1 2:2",
    "negative feature": b"1 qid:3 1:1 -2:2",
    "feature at the bottom of 64 bits": b"1 qid:3 1:1 -9223372036854775808:2",
    "feature with a point": b"1 qid:3 1.0:1 2:2",
    "feature of letters": b"1 qid:3 1:1 b:2",
    "feature beyond all sets": b"1 qid:3 1:1 65537:2",
    "feature beyond 64 bits": b"1 qid:3 1:1 99999999999999999999:2",
    "feature of 5,000 digits": b"1 qid:3 1:1 " + b"9" * 5000 + b":2",
    "vertical tab": b"1 qid:3 1:1\v2:2",
    "NUL": b"1 qid:3 1:1\x002:2",
    "no-break space": "1 qid:3 1:1\u00a02:2".encode(),
    "Arabic digits": "1 qid:3 1:1 2:٣".encode(),
    "CR in the line": b"1 qid:3 1:1\r2:2",
    "CR before a space": b"1 qid:3 1:1 2:2\r \r",
    "CR before the comment": b"1 qid:3 1:1 2:2\r #docid = A",
    "CR as the end of line": b"1 qid:3 1:1 #docid = A\r1 qid:3 1:1 #docid = B",
    "a byte order mark within": b"\xef\xbb\xbf1 qid:3 1:1 2:2",
    "half a UTF-8 letter": b"1 qid:3 1:1 \xc3:2",
    "garbage": bytes(range(128, 256)),
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
@pytest.mark.parametrize("block", [5, 1 << 24])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""], ids=["LF", "CRLF", "no end"])
def test_refused_with_file_line_and_remedy(text, monkeypatch, line, block, end):
    monkeypatch.setattr(letor_text, "BLOCK", block)
    before = b"# made up" + (end or b"\n") + b"2 qid:3 1:0.5 2:0.5" + 2 * (end or b"\n")
    after = b"0 qid:3 1:0 2:1" + end if end else b""
    assert refused(text(before + line + end + after)).line == 4


@pytest.mark.parametrize(
    ("qids", "line"), [([1, 2, 1], 3), ([1, 1, 2, 2, 1, 1], 5), ([5, 4, 3, 4, 5], 4), ([1, 2, 3, 4, 1, 2], 5)]
)
def test_a_query_that_comes_again_is_refused_where_it_does(text, qids, line):
    content = "# made up\n\n" + "".join(f"1 qid:{qid} 1:1\n" for qid in qids)
    error = refused(text(content))
    assert error.line == line + 2
    assert f"query {qids[line - 1]} " in error.what


def test_a_query_that_goes_on_in_the_next_block_does_not_come_again(text, monkeypatch):
    monkeypatch.setattr(letor_text, "BLOCK", 16)
    assert letor_text.read(text("1 qid:1 1:1\n" * 9)).offsets.tolist() == [0, 9]


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", " \t \r\n"])
def test_a_file_without_rows_is_refused(text, content):
    assert refused(text(content)).line is None


def test_binary_garbage_is_refused(text):
    assert refused(text(random.Random(0).randbytes(5000))).line == 1


def test_the_first_of_several_bad_lines_is_named(text, monkeypatch):
    monkeypatch.setattr(letor_text, "BLOCK", 20)
    assert refused(text("1 qid:1 1:1\n1 qid:1 1:x\n1 qid: 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n")).line == 2


def test_an_empty_query_id_is_called_so(text):
    assert refused(text("1 qid: 1:1\n")).what == "the query id '' is empty or holds white space"


@pytest.mark.parametrize(
    ("qids", "line", "shown"),
    [
        (["a", "b", "a"], 3, "'a'"),
        (["a", "7", "b", "007"], 4, "'7'"),  # 007 is 7, text or not
        (["\x1b[31m", "b", "\x1b[31m"], 3, r"'\x1b[31m'"),
        (["x" * 500, "b", "x" * 500], 3, f"'{'x' * 40}'..."),
    ],
)
@pytest.mark.parametrize("block", [9, 1 << 24])
def test_a_query_of_any_id_that_comes_again_is_refused(text, monkeypatch, block, qids, line, shown):
    monkeypatch.setattr(letor_text, "BLOCK", block)
    error = refused(text("".join(f"1 qid:{qid} 1:1\n" for qid in qids)))
    assert (error.line, error.what) == (line, f"query {shown} appears again after other queries")


def test_a_feature_beyond_the_width_is_named_with_its_own_line(text):
    error = refused(text("1 qid:1 1:1 2:2\n\n1 qid:1 1:1 3:3\n1 qid:1 1:1 9:9\n"), features=2)
    assert (error.line, "feature 3 " in error.what) == (3, True)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        letor_text.read(tmp_path / "none.txt")


# Ten thousand mutations


NUMBER = rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"  # ++ and *+: no way back, so no detours
ROW = re.compile(
    rb"[ \t]*(?P<label>%b)[ \t]+qid:(?P<qid>[^ \t\v\f#]++)(?P<pairs>(?:[ \t]+[0-9]+:%b)*)[ \t]*(?:#(?P<comment>.*))?"
    % (NUMBER, NUMBER),
    re.DOTALL,
)
EMPTY = re.compile(rb"[ \t]*(#.*)?", re.DOTALL)
DOCID = re.compile(rb"\s*docid\s*=\s*(\S+)")


class Row(NamedTuple):
    label: float  # already rounded to float32
    qid: int | str
    pairs: dict[int, float]
    docid: str


class Refused(NamedTuple):
    line: int | None


def whole_number(digits: bytes) -> float:
    digits = digits.lstrip(b"0")  # Python itself refuses to convert thousands of digits
    return float("inf") if len(digits) > 20 else int(digits or b"0")


def finite(number: bytes) -> float | None:
    """As a float32, or None if that is not finite."""
    try:
        value = struct.unpack("<f", struct.pack("<f", float(number)))[0]
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def as_text(word: bytes) -> str:
    """Bytes that are no text are kept as escapes, NUL among them."""
    return word.replace(b"\0", rb"\x00").decode(errors="backslashreplace")


def oracle_qid(word: bytes) -> int | str:
    number = whole_number(word) if word.translate(None, b"0123456789") == b"" else math.inf
    return number if number < 2**63 else as_text(word)


def oracle_row(line: bytes) -> Row | Refused | None:
    """A row, None for a line that is passed over, or that it is to be refused."""
    line = line.removesuffix(b"\r")  # of CRLF
    if b"\r" in line:  # not a line end as we know it: another line may hide behind it
        return Refused(None)
    if EMPTY.fullmatch(line):
        return None
    found = ROW.fullmatch(line)
    if not found:
        return Refused(None)
    label = finite(found["label"])
    names, values = [], []
    for pair in found["pairs"].split():
        name, _, value = pair.partition(b":")
        names.append(whole_number(name))
        values.append(finite(value))
    rising = all(a < b for a, b in zip([0, *names], [*names, 65537], strict=True))
    if label is None or label < 0 or None in values or not rising:
        return Refused(None)
    docid = DOCID.match(found["comment"] or b"")
    name = as_text(docid[1]) if docid else ""
    return Row(label, oracle_qid(found["qid"]), dict(zip(names, values, strict=True)), name)


def oracle(content: bytes) -> list[Row] | Refused:
    rows, numbers = [], []
    for number, line in enumerate(content.split(b"\n"), 1):
        row = oracle_row(line)
        if isinstance(row, Refused):
            return Refused(number)
        if row is not None:
            rows.append(row)
            numbers.append(number)
    for k, row in enumerate(rows):
        if k and rows[k - 1].qid != row.qid and row.qid in {before.qid for before in rows[:k]}:
            return Refused(numbers[k])
    if any(isinstance(row.qid, str) for row in rows):
        rows = [row._replace(qid=str(row.qid)) for row in rows]
    return rows or Refused(None)


PIECES = [
    *(b" ", b"\t", b"  ", b"\r", b"\n", b"\r\n", b"\0", b"\v", b"\f", b":", b"#", b",", b'"', b"_", b"+", b"-", b"."),
    *(b"e", b"E", b"e5", b"e-7", b"e38", b"e39", b"e400", b"0", b"00", b"1", b"9", b"0x", b"nan", b"inf", b"-0", b"+1"),
    *(
        b"qid:",
        b"qid:1",
        b"qid:2",
        b"qid:WT04-1",
        b"qid:a",
        b"1:2",
        b"3:",
        b":3",
        b"#docid = ",
        b"# docid=Z",
        b"docid",
        "é".encode(),
        b"\xff",
    ),
    *(b"\xef\xbb\xbf", "\u00a0".encode(), "٣".encode(), b"65536", b"65537", b"9223372036854775807"),
    *(b"9223372036854775808", b"-9223372036854775808:1", b"-9223372036854775807", b"18446744073709551617"),
    *(b" 1:1 2:2", b"3.4028235e38", b"3.4028236e38", b"1e-46", b"0" * 4400, b"7" * 4400),
]


def mutate(line: bytes, rng: random.Random) -> bytes:
    """One random change. Bytes, tokens and separators are deleted, doubled, replaced, swapped, spliced or stretched."""
    at, to = sorted(rng.choices(range(len(line) + 1), k=2))
    tokens = line.split(b" ")
    one, two = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    match rng.randrange(16):
        case 0:  # delete a byte
            return line[:at] + line[at + 1 :]
        case 1:  # insert a byte
            return line[:at] + bytes([rng.randrange(256)]) + line[at:]
        case 2:  # replace a byte
            return line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :]
        case 3:  # double a byte
            return line[:at] + line[at : at + 1] + line[at:]
        case 4:  # swap two neighbours
            return line[:at] + line[at : at + 2][::-1] + line[at + 2 :]
        case 5:  # cut off
            return line[:at] if rng.random() < 0.7 else line[at:]
        case 6:  # take a stretch out, or twice
            return line[:at] + line[to:] if rng.random() < 0.5 else line[:to] + line[at:]
        case 7 | 8:  # insert a piece, or put it in place of a byte
            return line[:at] + rng.choice(PIECES) + line[at + rng.randrange(2) :]
        case 9:  # a piece in place of a token, or of what is after its colon
            head, colon, _ = tokens[one].rpartition(b":")
            tokens[one] = rng.choice([head + colon, b""]) + rng.choice(PIECES)
        case 10:  # swap two tokens
            tokens[one], tokens[two] = tokens[two], tokens[one]
        case 11:  # double a token here or elsewhere
            tokens.insert(two, tokens[one])
        case 12:  # other separators
            gap = rng.choice([b"\t", b"  ", b" \t ", b"\r", b",", b"\v", b"", b"\r\n", b"\n"])
            return (tokens[0] + gap + b" ".join(tokens[1:])) if rng.random() < 0.3 else gap.join(tokens)
        case 13:  # another digit, a letter for a digit, or a digit for whatever is there
            alphabet = rng.choice([b"0123456789", b"0123456789", b"aeEfnxlO"])
            digits = [k for k, byte in enumerate(line) if chr(byte).isdigit()] or [0]
            k = rng.choice(digits) if rng.random() < 0.8 else min(at, len(line) - 1)
            return line[:k] + bytes([rng.choice(alphabet)]) + line[k + 1 :]
        case 14:  # drop a token
            del tokens[one]
        case _:  # a number rewritten
            number = rng.choice([b"%d", b"+%d", b"%d.", b".%d", b"%de-3", b"%d.5E+2", b"00%d", b"-%d", b"%d:1"])
            head, colon, _ = tokens[one].rpartition(b":")
            tokens[one] = head + colon + number % rng.randrange(200)
    return b" ".join(tokens)


def valid_file(rng: random.Random) -> list[bytes]:
    """Three to five lines of four to six features, some of them sparse, some without a docid."""
    lines, width, first = [], rng.randint(4, 6), rng.randint(1, 12)
    queries = sorted(first + rng.randrange(3) for _ in range(rng.randint(3, 5)))
    # Three files of four have numbers; in some of the others numbers and words are mixed.
    names = [rng.choice(["", "WT04-"]) for _ in range(first + 3)] if rng.random() < 0.25 else [""] * (first + 3)
    for k, query in enumerate(queries):
        kept = [feature for feature in range(1, width + 1) if feature == 1 or k % 2 or rng.random() < 0.8]
        values = (rng.choice(["%.6f", "%.3g", "%d", "%.9e"]) % rng.uniform(-9, 9) for _ in kept)
        pairs = " ".join(f"{feature}:{value}" for feature, value in zip(kept, values, strict=True))
        docid = f" #docid = GX-{rng.randrange(100)} inc = 1" if rng.random() < 0.7 else ""
        lines.append(f"{rng.choice([0, 1, 2, 0.5])} qid:{names[query]}{query} {pairs}{docid}".encode())
    return lines


def mutated_file(rng: random.Random) -> bytes:
    lines = valid_file(rng)
    k = rng.randrange(len(lines))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        lines[k] = mutate(lines[k], rng) or b" "
    ends = [rng.choice([b"\n", b"\r\n"])] * len(lines)
    if rng.random() < 0.05:  # the end of the line itself
        ends[k] = rng.choice([b"", b"\r", b" ", b"\r\r\n", b"\n\r", b"\n\n"])
    if rng.random() < 0.2:
        ends[-1] = b""
    return b"".join(line + end for line, end in zip(lines, ends, strict=True))


def outcome(path: Path) -> tuple[list[Row], int] | Refused:
    """What the reader made of it, in the oracle's terms, and the width. Any other error than ours comes through."""
    try:
        data = letor_text.read(path)
    except ReplirankError as error:
        # An error that does not say where, or what to do, is not what we want.
        return Refused(error.line if error.path == path and error.remedy else -1)
    assert data.features.dtype == data.labels.dtype == np.float32
    assert data.offsets[0] == 0
    assert data.offsets[-1] == len(data.features) == len(data.labels)
    assert np.all(data.lengths > 0)
    names = [""] * data.documents if data.document_ids is None else data.document_ids.tolist()
    queries = np.repeat(data.query_ids, data.lengths).tolist()
    labels = data.labels.tolist()
    pairs: list[dict[int, float]] = [{} for _ in labels]
    for row, column in np.argwhere((data.features != 0) | np.signbit(data.features)).tolist():
        pairs[row][column + 1] = float(data.features[row, column])
    return [Row(*row) for row in zip(labels, queries, pairs, names, strict=True)], data.features.shape[1]


def without_zeros(row: Row) -> Row:
    return row._replace(
        pairs={name: value for name, value in row.pairs.items() if value or math.copysign(1, value) < 0}
    )


def same_block(a, b) -> bool:
    return all(same_column(x, y) for x, y in zip(a, b, strict=True))


def same_column(x, y) -> bool:
    if isinstance(x, list) or x.dtype == object:
        return list(x) == list(y)
    return np.array_equal(x, y) and np.array_equal(np.signbit(x), np.signbit(y))


class Verdict(NamedTuple):
    should: Literal["read", "refused"]
    fast: str  # what the fast reader did with it
    problem: str | None


class Judge:
    """Reads contents as a file, and watches the fast reader: what it takes must be what the other makes of it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        self.path, self.file, self.fast = path, path.open("wb", buffering=0), ""
        self.read_block = letor_text._read_block
        monkeypatch.setattr(letor_text, "_read_block", self.watched)

    def watched(self, lines: list[bytes], first_line: int):
        block = self.read_block(lines, first_line)
        if block is None:
            self.fast = self.fast or "left it"
        else:
            try:
                other = letor_text._read_lines(lines, first_line, self.path)
            except ReplirankError:
                other = None
            agree = other is not None and same_block(block, other)
            self.fast = "the same" if agree and self.fast != "otherwise" else "otherwise"
        return block

    def __call__(self, content: bytes) -> Verdict:
        """What should happen to this content, and what is wrong with what did."""
        self.file.seek(0)
        self.file.write(content)
        self.file.truncate()
        self.fast = ""
        expected = oracle(content)
        should = "refused" if isinstance(expected, Refused) else "read"
        try:
            got = outcome(self.path)
        except Exception as error:  # a crash is a result, whatever it is
            return Verdict(should, self.fast, f"{type(error).__name__}: {error}")
        if should == "read":
            expected = [without_zeros(row) for row in expected], max(max(row.pairs, default=0) for row in expected)
        if self.fast == "otherwise":
            return Verdict(should, self.fast, "the fast reader takes what the other refuses or reads otherwise")
        return Verdict(should, self.fast, None if repr(got) == repr(expected) else f"expected {expected}, got {got}")


@pytest.fixture
def judge(tmp_path, monkeypatch):
    made = Judge(tmp_path / "mutated.txt", monkeypatch)
    yield made
    made.file.close()


def test_ten_thousand_mutations_are_read_as_the_format_says_or_refused(judge):
    rng, seen, wrong = random.Random(2011), Counter(), []
    for _ in range(10_000):
        content = mutated_file(rng)
        verdict = judge(content)
        seen.update((verdict.should, verdict.fast))
        if verdict.problem:
            wrong.append(f"{re.sub(rb'(0{9}|7{9})+', rb'...', content)}\n  {verdict.problem}")
    assert not wrong, f"{len(wrong)} of 10,000, for example\n" + "\n".join(wrong[:8])
    # Both outcomes and both readers were put to the test.
    assert seen["read"] >= 2_000
    assert seen["refused"] >= 2_000
    assert seen["the same"] >= 1_000
    assert seen["left it"] >= 1_000


def test_the_oracle_reads_the_valid_files_it_starts_from(judge):
    rng = random.Random(1)
    for _ in range(200):
        content = b"\n".join(valid_file(rng)) + b"\n"
        assert judge(content) == Verdict("read", "the same", None)
