"""The scores file: the same bits back, any order of rows, and a refusal that says where for all else."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.errors import ReplirankError
from replirank.evaluation import scores

# Queries 70, 30 and 90 with two, one and three documents; each fold trains on one, chooses on one, reports on one.
DATASET = Dataset(
    RankingData(
        features=np.zeros((6, 1), dtype=np.float32),
        labels=np.zeros(6, dtype=np.float32),
        offsets=np.array([0, 2, 3, 6]),
        query_ids=np.array([70, 30, 90]),
    ),
    tuple(Fold(*np.roll(np.arange(3), -k)[:, None]) for k in range(3)),
)
SPLITS = [(fold, split) for fold in range(3) for split in Fold._fields]
HEADER = "fold,split,query,document,score"
TEST_ROWS = [
    "1,test,90,1,0.25",
    "1,test,90,2,-1",
    "1,test,90,3,1e-3",
    "2,test,70,1,5",
    "2,test,70,2,4.5",
    "3,test,30,1,0",
]


def scored(value=lambda row: row / 7, splits=SPLITS) -> list[scores.Scored]:
    made, row = [], 0
    for fold, split in splits:
        count = DATASET.split(fold, split).documents
        made.append(scores.Scored(fold, split, np.array([value(row + k) for k in range(count)], dtype=np.float64)))
        row += count
    return made


def by_split(read: list[scores.Scored]) -> dict[tuple[int, str], list[str]]:
    """In hexadecimal, so that every bit and the sign of zero counts."""
    assert len({one[:2] for one in read}) == len(read)
    assert all(one.scores.dtype == np.float64 for one in read)
    return {(fold, split): [value.hex() for value in values.tolist()] for fold, split, values in read}


@pytest.fixture
def written(tmp_path):
    """Write a CSV file of these rows, as another program does."""

    def write(rows, header=HEADER, end="\n"):
        path = tmp_path / "scores.csv"
        path.write_bytes((end.join([header, *rows]) + end).encode())
        return path

    return write


def refused(path) -> ReplirankError:
    with pytest.raises(ReplirankError) as caught:
        (scores.read_csv if path.suffix == ".csv" else scores.read)(path, DATASET)
    assert caught.value.path == path
    assert caught.value.remedy
    return caught.value


# What is read


def test_the_rows_are_named_by_fold_split_query_and_place():
    frame = scores.frame(DATASET, scored(splits=[(0, "test"), (2, "train")]))
    assert frame.columns.tolist() == HEADER.split(",")
    assert frame.drop(columns="score").values.tolist() == [
        [1, "test", 90, 1],
        [1, "test", 90, 2],
        [1, "test", 90, 3],
        [3, "train", 90, 1],
        [3, "train", 90, 2],
        [3, "train", 90, 3],
    ]
    assert frame["score"].tolist() == [row / 7 for row in range(6)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=18, max_size=18))
def test_what_is_written_is_read_back_to_the_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    made = scored(values.__getitem__)
    scores.write(path, scores.frame(DATASET, made))
    assert by_split(scores.read(path, DATASET)) == by_split(made)


def test_awkward_numbers_are_read_back_to_the_bit(tmp_path):
    awkward = [
        0.1,
        1 / 3,
        -0.0,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        2**53 + 0.0,
        1e22,
        123456789e-20,
    ]
    made = scored(lambda row: awkward[row % len(awkward)])
    scores.write(tmp_path / "scores.parquet", scores.frame(DATASET, made))
    assert by_split(scores.read(tmp_path / "scores.parquet", DATASET)) == by_split(made)


def test_the_same_scores_give_the_same_bytes(tmp_path):
    for name in "ab":
        scores.write(tmp_path / name, scores.frame(DATASET, scored()))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_float32_scores_are_kept_as_they_are(tmp_path):
    made = [one._replace(scores=one.scores.astype(np.float32)) for one in scored()]
    scores.write(tmp_path / "scores.parquet", scores.frame(DATASET, made))
    wide = [one._replace(scores=one.scores.astype(np.float64)) for one in made]
    assert by_split(scores.read(tmp_path / "scores.parquet", DATASET)) == by_split(wide)


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_may_come_in_any_order(tmp_path, seed):
    made = scored()
    frame = scores.frame(DATASET, made)
    order = random.Random(seed).sample(range(len(frame)), len(frame))
    scores.write(tmp_path / "scores.parquet", frame.iloc[order])
    assert by_split(scores.read(tmp_path / "scores.parquet", DATASET)) == by_split(made)


def test_other_splits_than_test_may_be_left_out(written):
    read = scores.read_csv(written(TEST_ROWS), DATASET)
    assert [(one.fold, one.split, one.scores.tolist()) for one in read] == [
        (0, "test", [0.25, -1, 1e-3]),
        (1, "test", [5, 4.5]),
        (2, "test", [0]),
    ]


@pytest.mark.parametrize(
    ("header", "end"),
    [(HEADER, "\r\n"), ('"fold","split","query","document","score"', "\n"), ("\ufeff" + HEADER, "\n")],
)
def test_a_file_of_another_program_is_as_good(written, header, end):
    assert len(scores.read_csv(written(TEST_ROWS, header, end), DATASET)) == 3


def test_further_columns_are_not_written(tmp_path):
    scores.write(tmp_path / "scores.parquet", scores.frame(DATASET, scored()).assign(note="made up"))
    assert len(scores.read(tmp_path / "scores.parquet", DATASET)) == 9


# What is refused


@pytest.mark.parametrize("fold", [1, 2, 3])
def test_a_fold_without_test_scores_is_refused(written, fold):
    rows = [row for row in TEST_ROWS if not row.startswith(str(fold))] + [f"{fold},vali,{[30, 90, 70][fold - 1]},1,0"]
    assert refused(written(rows)).what == f"fold {fold} has no test scores"


def test_a_header_without_rows_is_refused(written):
    assert "fold 1 has no test scores" in refused(written([])).what


@pytest.mark.parametrize("missing", range(5))
def test_a_missing_document_is_refused(written, missing):
    error = refused(written([row for k, row in enumerate(TEST_ROWS) if k != missing]))
    assert f"fold {TEST_ROWS[missing][0]}, test" in error.what


def test_an_unknown_document_is_refused(written):
    assert "fold 1, test" in refused(written([*TEST_ROWS, "1,test,90,4,1"])).what
    assert "fold 1, test" in refused(written([*TEST_ROWS, "1,test,90,0,1"])).what
    assert "fold 1, test" in refused(written([*TEST_ROWS, "1,test,70,1,1"])).what  # of another split


def test_a_document_in_place_of_another_is_refused(written):
    assert "2 of these match" in refused(written([*TEST_ROWS[:2], "1,test,90,4,1", *TEST_ROWS[3:]])).what


@pytest.mark.parametrize("again", range(6))
def test_a_document_scored_twice_is_refused(written, again):
    error = refused(written([*TEST_ROWS, TEST_ROWS[again]]))
    assert "twice" in error.what
    assert error.line == 8


def test_a_document_scored_twice_while_another_is_missing_is_refused(written):
    assert refused(written([TEST_ROWS[0], TEST_ROWS[0], *TEST_ROWS[2:]])).line == 3


@pytest.mark.parametrize(
    "row", ["0,test,90,1,0", "4,test,90,1,0", "-1,test,90,1,0", "1,dev,90,1,0", "1,Test,90,1,0", "1,,9,1,0"]
)
def test_an_unknown_fold_or_split_is_refused(written, row):
    error = refused(written([*TEST_ROWS[:3], row, *TEST_ROWS[3:]]))
    assert error.line == 5
    assert "no such split" in error.what


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "-nan", "Infinity"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_score_that_is_not_finite_is_refused(written, value, shuffled):
    rows = [*TEST_ROWS[:4], f"2,test,70,2,{value}", TEST_ROWS[5]]
    rows = rows[::-1] if shuffled else rows
    error = refused(written(rows))
    assert error.line == (3 if shuffled else 6)


def test_a_nan_that_was_written_is_refused(tmp_path):
    scores.write(
        tmp_path / "scores.parquet", scores.frame(DATASET, scored(lambda row: float("nan") if row == 6 else row))
    )
    error = refused(tmp_path / "scores.parquet")
    assert error.what == "the score of document 1 of query 30 is not finite"  # row 6 is the first of fold 2
    assert error.line is None  # of a file that has no lines


@pytest.mark.parametrize(
    "row",
    [
        "2,test,70,2,",
        "2,test,70,2,x",
        "2,test,70,2,0x1p3",
        "2,test,70,2,1,5",
        "2,test,70,2",
        "2,test,70,1.0,4",
        "2,test,,2,4",
        "two,test,70,2,4",
        "2,test,70,99999999999999999999,4",
        "made up",
    ],
)
def test_a_row_that_is_none_is_refused_with_its_line(written, row):
    assert refused(written([*TEST_ROWS[:4], row, TEST_ROWS[5]])).line == 6


def test_a_blank_line_does_not_shift_the_line_that_is_named(written):
    rows = [*TEST_ROWS[:2], "", *TEST_ROWS[2:4], "2,test,70,2,nan", TEST_ROWS[5]]
    assert refused(written(rows)).line in (4, 7)  # the blank line or the bad one


@pytest.mark.parametrize(
    "header",
    [
        "fold,split,query,document",
        "fold,split,query,document,scores",
        "fold,split,query,document,score,weight",
        "fold,split,document,query,score",
        "Fold,split,query,document,score",
        "fold,split,query,query,score",
    ],
)
def test_other_columns_are_refused_with_the_right_ones(written, header):
    width = len(header.split(","))
    rows = [",".join([*row.split(","), "1"][:width]) for row in TEST_ROWS]
    error = refused(written(rows, header))
    assert "fold, split, query, document, score" in error.remedy


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n\n", id="blank"),
        pytest.param(b"made up\n", id="text"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", id="an image"),
        pytest.param(bytes(range(256)) * 9, id="all bytes"),
        pytest.param(random.Random(4).randbytes(4000), id="random bytes"),
        pytest.param(f"{HEADER}\n".encode("utf-16"), id="UTF-16"),
        pytest.param(b'"fold,split\n1,test,90,1,0.25\n', id="an open quote"),
        pytest.param(HEADER.encode() + b"\n1,t\xffst,90,1,0.25\n", id="half a letter"),
        pytest.param(b"0 qid:1 1:0.5\n1 qid:1 1:2\n", id="LETOR text"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_scores_file_is_refused(tmp_path, content, suffix):
    (tmp_path / f"scores.{suffix}").write_bytes(content)
    assert refused(tmp_path / f"scores.{suffix}").what.isprintable()


def test_parquet_of_other_columns_or_types_is_refused_with_the_right_ones(tmp_path):
    frame = scores.frame(DATASET, scored())
    for wrong in (frame.drop(columns="document"), frame.astype({"fold": "int32"}), frame[frame.columns[::-1]]):
        wrong.to_parquet(tmp_path / "scores.parquet", index=False)
        error = refused(tmp_path / "scores.parquet")
        assert (
            error.remedy == "they must be fold (int64), split (string), query (int64), document (int64), score (double)"
        )
    assert error.what.startswith("the columns are score (double), document (int64)")


def test_parquet_is_checked_against_the_data(tmp_path):
    frame = scores.frame(DATASET, scored())
    path = tmp_path / "scores.parquet"
    scores.write(path, frame[(frame["fold"] != 2) | (frame["split"] != "test")])
    assert refused(path).what == "fold 2 has no test scores"
    scores.write(path, frame.iloc[1:])
    assert refused(path).what == "fold 1, train: 1 documents are scored, 2 are in the data, and 1 of these match"
    scores.write(path, pd.concat([frame, frame.iloc[:1]]))
    assert refused(path).what == "fold 1, train: a document is scored twice"
    scores.write(path, frame.assign(split=frame["split"].replace("vali", "dev")))
    assert refused(path).what == "fold 1, split 'dev': the data has no such split"


# Query ids that are text


# The same shape as DATASET; 12 is text here.
NAMED = dataclasses.replace(
    DATASET, data=dataclasses.replace(DATASET.data, query_ids=np.array(["WT04-9", "12", "a,é"]))
)
NAMED_ROWS = [row.replace("90", '"a,é"').replace("70", "WT04-9").replace("30", "12") for row in TEST_ROWS]


def test_text_ids_are_written_as_text_and_read_back(tmp_path):
    path = tmp_path / "scores.parquet"
    scores.write(path, scores.frame(NAMED, scored()))
    table = pq.read_table(path)
    assert [str(kind) for kind in table.schema.types] == ["int64", "string", "string", "int64", "double"]
    assert table["query"].to_pylist()[:6] == [
        "WT04-9",
        "WT04-9",
        "12",
        "a,é",
        "a,é",
        "a,é",
    ]  # fold 1: 2, 1, 3 documents
    assert by_split(scores.read(path, NAMED)) == by_split(scored())


def test_rows_of_text_ids_may_come_in_any_order(tmp_path):
    frame = scores.frame(NAMED, scored())
    scores.write(tmp_path / "scores.parquet", frame.sample(frac=1, random_state=3))
    assert by_split(scores.read(tmp_path / "scores.parquet", NAMED)) == by_split(scored())


def test_in_a_csv_file_the_data_set_says_whether_an_id_is_text(written):
    read = scores.read_csv(written(NAMED_ROWS), NAMED)
    assert by_split(read) == by_split(scores.read_csv(written(TEST_ROWS), DATASET))


def test_a_data_set_of_text_ids_may_have_digits_only(written):
    ids = np.array(["70", "30", "90"])  # as a part of a data set may have them
    digits = dataclasses.replace(DATASET, data=dataclasses.replace(DATASET.data, query_ids=ids))
    assert len(scores.read_csv(written(TEST_ROWS), digits)) == 3


@pytest.mark.parametrize(
    ("one", "other", "must"), [(DATASET, NAMED, "query (string)"), (NAMED, DATASET, "query (int64)")]
)
def test_ids_of_the_other_kind_are_refused(tmp_path, one, other, must):
    scores.write(tmp_path / "scores.parquet", scores.frame(one, scored()))
    with pytest.raises(ReplirankError) as caught:
        scores.read(tmp_path / "scores.parquet", other)
    assert caught.value.what.startswith("the columns are fold (int64), split (string), query (")
    assert must not in caught.value.what
    assert must in caught.value.remedy


def test_text_for_a_number_in_csv_is_refused_with_its_line(written):
    error = refused(written([*TEST_ROWS[:2], "1,test,WT04-9,3,1", *TEST_ROWS[3:]]))
    assert error.line == 4
    assert "WT04-9" in error.what


def test_another_text_id_is_refused(written):
    with pytest.raises(ReplirankError, match="fold 3, test: 1 documents are scored, 1 are in the data, and 0 of these"):
        scores.read_csv(written([*NAMED_ROWS[:5], "3,test,012,1,0"]), NAMED)


def test_unsupported_with_text_ids(tmp_path):
    path = tmp_path / "scores.parquet"
    scores.write(path, scores.frame(NAMED, []), unsupported="it cannot")
    assert scores.read(path, NAMED) == []


# Of a method that does not support the data set


def test_a_file_without_rows_may_say_why(tmp_path):
    path = tmp_path / "scores.parquet"
    scores.write(path, scores.frame(DATASET, []), unsupported="the labels are a strict order")
    assert scores.read(path, DATASET) == []
    assert pq.read_schema(path).metadata == {b"unsupported": b"the labels are a strict order"}


def test_a_file_without_rows_and_reason_is_refused(tmp_path):
    scores.write(tmp_path / "scores.parquet", scores.frame(DATASET, []))
    assert refused(tmp_path / "scores.parquet").what == "fold 1 has no test scores"


def test_scores_of_another_data_set_are_refused(tmp_path):
    data = DATASET.data
    other = Dataset(RankingData(data.features, data.labels, data.offsets, data.query_ids + 1), DATASET.folds)
    scores.write(tmp_path / "scores.parquet", scores.frame(other, scored()))
    assert "0 of these match" in refused(tmp_path / "scores.parquet").what


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "scores.parquet"
    path.write_text("old")
    with pytest.raises(KeyError):
        scores.write(path, scores.frame(DATASET, scored()).drop(columns="score"))
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["scores.parquet"]
