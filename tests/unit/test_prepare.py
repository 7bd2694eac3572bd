"""From folders, archives, addresses or nothing to a checked data set. The rows are made up."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from replirank.data import simulate
from replirank.data.arrays import Dataset, RankingData
from replirank.data.lists import ordered_by_feature
from replirank.data.prepare import Prepared, check, prepare, read_source
from replirank.data.specs import SPECS, Spec, in_four_folds, own_spec, spec
from replirank.errors import ReplirankError

QUERIES = 10
LETOR4 = ("train", "vali", "test")


def row(query: int, place: int, label: float | None = None) -> str:
    label = (query + place) % 3 if label is None else label
    return f"{label:g} qid:{query} 1:{place / 4} 2:{query / 8} 3:{query * place} #docid = D-{query}-{place}\n"


def rows(*queries: int) -> str:
    """Two to four documents each."""
    return "".join(row(query, place) for query in queries for place in range(1, 3 + query % 3))


PARTS = [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]
TEXT = rows(*range(1, QUERIES + 1))
SIZE = {"queries": 10, "documents": 6}


def stand_in(queries, documents, seed) -> Dataset:
    return simulate.letor(queries, documents, 3, {0: 0.5, 1: 0.3, 2: 0.2}, seed=seed)


TINY = Spec(
    "tiny",
    "TINY",
    features=3,
    levels=(0, 1, 2),
    stand_in=stand_in,
    names=("TINY",),
    columns={"bm25": 1},
    queries=QUERIES,
    documents=TEXT.count("\n"),
    labels={level: TEXT.count(f"{level} qid") for level in range(3)},
)


def write_parts(folder: Path, parts=PARTS, *, head: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, 1):
        (folder / f"S{number}.txt").write_text(head + rows(*part))
    return folder


def write_folds(folder: Path, *, head: str = "") -> Path:
    """LETOR's rotation: fold k trains on three parts from part k on, then come validation and test."""
    for k in range(5):
        turned = [*PARTS[k:], *PARTS[:k]]
        place = folder / f"Fold{k + 1}"
        place.mkdir(parents=True)
        for name, parts in zip(LETOR4, (turned[:3], turned[3:4], turned[4:]), strict=True):
            (place / f"{name}.txt").write_text(head + rows(*(query for part in parts for query in part)))
    return folder


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def tiny(tmp_path) -> Path:
    return write_folds(tmp_path / "TINY")


@pytest.fixture(autouse=True)
def nothing_left_in_the_temporary_folder(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield
    assert list(temporary.iterdir()) == []


def read(source: Path, of: Spec = TINY) -> Dataset:
    return read_source(of, source, lambda text: None)[0]


def prepared(tmp_path: Path, source: Path | None, of: Spec = TINY, **how) -> Prepared:
    how = {"report": lambda text: None, "size": SIZE} | how
    return prepare(of, source=source, **how)


def refused(tmp_path: Path, source: Path | None, of: Spec = TINY, **how) -> ReplirankError:
    with pytest.raises(ReplirankError) as caught:
        prepared(tmp_path, source, of, **how)
    assert caught.value.remedy
    assert str(tmp_path / "temporary") not in str(caught.value)
    return caught.value


def same(a: Dataset, b: Dataset) -> None:
    assert a.data.checksum() == b.data.checksum()
    assert a.data.document_ids.tolist() == b.data.document_ids.tolist()
    assert a.data.columns == b.data.columns
    assert len(a.folds) == len(b.folds)
    for one, other in zip(a.folds, b.folds, strict=True):
        for split, its in zip(one, other, strict=True):
            assert_array_equal(split, its)


# Folds and parts


def test_folds_hold_the_queries_of_their_files(tiny, tmp_path):
    dataset, _ = prepared(tmp_path, tiny)
    assert dataset.data.query_ids.tolist() == list(range(1, 11))
    assert dataset.data.document_ids.tolist() == [line.split(" = ")[1] for line in TEXT.splitlines()]
    assert dataset.data.columns == {"bm25": 1}
    first, second = dataset.folds[:2]
    assert [split.tolist() for split in first] == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]
    assert [split.tolist() for split in second] == [[2, 3, 4, 5, 6, 7], [8, 9], [0, 1]]
    test = dataset.split(1, "test")
    assert test.query_ids.tolist() == [1, 2]
    assert_array_equal(test.features[:3], np.array([[0.25, 0.125, 1], [0.5, 0.125, 2], [0.75, 0.125, 3]], np.float32))


def test_parts_and_folds_are_the_same_data_set(tiny, tmp_path):
    same(read(tiny), read(write_parts(tmp_path / "parts")))


def test_comments_and_line_ends_change_nothing(tiny, tmp_path):
    other = write_parts(tmp_path / "parts", head="# made up\n\n")
    for part in other.iterdir():
        part.write_bytes(part.read_bytes().replace(b"\n", b"\r\n"))
    same(read(tiny), read(other))


@pytest.mark.parametrize(("kind", "suffix"), [("zip", ".zip"), ("xztar", ".tar.xz"), ("gztar", ".tar.gz")])
def test_an_archive_is_as_good_as_its_folder(tiny, tmp_path, kind, suffix):
    archive = Path(shutil.make_archive(str(tmp_path / "data"), kind, tmp_path, "TINY"))
    assert archive.name.endswith(suffix)
    result = prepared(tmp_path, archive)
    same(result.dataset, read(tiny))
    assert result.card["source"] == str(archive)


ANEW = dataclasses.replace(TINY, cut_anew=True)


def test_parts_of_another_number_are_cut_anew_where_the_set_is_known_to_be(tmp_path):
    parts = [(1, 2, 3), (4, 5, 6), (7, 8, 9, 10)]
    source = write_parts(tmp_path / "TINY", parts)
    assert "3 folds, expected 5" in refused(tmp_path, source).what
    dataset = prepared(tmp_path, source, ANEW).dataset
    assert dataset.data.query_ids.tolist() == list(range(1, 11))
    assert [fold.test.tolist() for fold in dataset.folds] == [[8, 9], [0, 1], [2, 3], [4, 5], [6, 7]]


def test_one_data_set_of_a_bundle_is_picked_by_its_name(tiny, tmp_path):
    bundle = tmp_path / "LETOR"
    shutil.copytree(tiny, bundle / "TINY")
    write_parts(bundle / "OTHER", [(1,), (2,), (3,)])
    same(read(bundle), read(tiny))


# Query ids that are text


def rename(folder: Path, names: dict[int, str]) -> Path:
    for path in folder.rglob("*.txt"):
        path.write_text(re.sub(r"qid:(\d+)", lambda m: f"qid:{names.get(int(m[1]), m[1])}", path.read_text()))
    return folder


def test_text_ids_in_some_of_the_files_make_all_text(tiny, tmp_path):
    """Query 9 is in no file of fold 1's training and validation, whose ids are numbers."""
    numbered = read(tiny).data
    named = read(rename(tiny, {9: "WT04-9", 3: "003"}))
    assert named.data.query_ids.tolist() == [*map(str, range(1, 9)), "WT04-9", "10"]
    assert_array_equal(named.data.features, numbered.features)
    assert [fold.test.tolist() for fold in named.folds] == [[8, 9], [0, 1], [2, 3], [4, 5], [6, 7]]
    assert named.data.checksum() != numbered.checksum()
    same(named, read(rename(write_parts(tmp_path / "parts"), {9: "WT04-9"})))


def test_a_query_is_the_same_as_a_number_and_as_text(tiny, tmp_path):
    """Query 8 is read as a number in fold 1's validation file, and as text beside query 9 in fold 2."""
    rename(tiny, {9: "nine"})
    edit(tiny / "Fold2" / "train.txt", "qid:8 1:0.5 ", "qid:8 1:0.75 ")
    assert "query 8 differs from the same query in another file" in refused(tmp_path, tiny).what


# Only some parts; only the first fold; a single file


def test_two_of_five_parts_are_cut_into_folds(tmp_path):
    source = tmp_path / "TINY"
    source.mkdir()
    for number, part in ((4, (7, 8, 4)), (5, (9, 10))):
        (source / f"S{number}.txt").write_text(rows(*part))
    some = dataclasses.replace(TINY, part_numbers=(4, 5), cut_anew=True, queries=5, documents=None, labels=None)
    dataset = prepared(tmp_path, source, some).dataset
    assert dataset.data.query_ids.tolist() == [7, 8, 4, 9, 10]
    assert [fold.test.tolist() for fold in dataset.folds] == [[4], [0], [1], [2], [3]]
    archive = Path(shutil.make_archive(str(tmp_path / "data"), "zip", tmp_path, "TINY"))
    same(dataset, prepared(tmp_path, archive, some).dataset)


COUNTED = dataclasses.replace(TINY, part_queries=(2, 2, 2, 2, 2))


@pytest.mark.parametrize("place", ["Fold1", "."])
def test_the_first_fold_alone_gives_all_folds(tiny, tmp_path, place):
    (tmp_path / "alone").mkdir()
    shutil.copytree(tiny / "Fold1", tmp_path / "alone" / place, dirs_exist_ok=True)
    same(prepared(tmp_path, tmp_path / "alone", COUNTED).dataset, read(tiny))


def test_parts_of_different_length(tmp_path):
    source = tmp_path / "TINY"
    (source / "Fold1").mkdir(parents=True)
    for name, queries in zip(LETOR4, ((1, 2, 3, 4, 5, 6), (7,), (8, 9, 10)), strict=True):
        (source / "Fold1" / f"{name}.txt").write_text(rows(*queries))
    folds = read(source, dataclasses.replace(TINY, part_queries=(1, 3, 2, 1, 3))).folds
    assert [fold.test.tolist() for fold in folds] == [[7, 8, 9], [0], [1, 2, 3], [4, 5], [6]]
    assert [fold.vali.tolist() for fold in folds] == [[6], [7, 8, 9], [0], [1, 2, 3], [4, 5]]
    assert folds[3].train.tolist() == [6, 7, 8, 9, 0]


def test_all_folds_are_taken_as_they_are_even_where_the_parts_are_counted(tiny):
    same(read(tiny, COUNTED), read(tiny))


def test_a_first_fold_that_does_not_fit_the_parts_is_refused(tiny, tmp_path):
    for number in range(2, 6):
        shutil.rmtree(tiny / f"Fold{number}")
    (tiny / "Fold1" / "vali.txt").write_text(rows(7))
    error = refused(tmp_path, tiny, COUNTED)
    assert error.what == "train, vali and test have [6, 1, 2] queries, but the first fold of TINY has [6, 2, 2]"
    assert error.path == str(tiny)


def test_one_fold_of_a_set_without_counted_parts_is_one_fold(tiny, tmp_path):
    for number in range(2, 6):
        shutil.rmtree(tiny / f"Fold{number}")
    assert "1 folds, expected 5" in refused(tmp_path, tiny).what


MINE = Spec("mine", "mine", features=None, folds=None, cut_into=4)


def test_a_single_file_is_cut_into_folds_in_its_order(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("# made up\n" + rows(5, 2, 8, 1, 9))
    dataset = read(path, MINE)
    assert dataset.data.query_ids.tolist() == [5, 2, 8, 1, 9]
    assert [fold.test.tolist() for fold in dataset.folds] == [[4], [0, 1], [2], [3]]
    assert dataset.folds[0].train.tolist() == [0, 1, 2]
    folder = tmp_path / "folder"
    folder.mkdir()
    path.rename(folder / "mine.dat")
    same(dataset, read(folder, MINE))
    same(dataset, read(Path(shutil.make_archive(str(tmp_path / "data"), "zip", folder)), MINE))


def test_too_few_queries_for_the_folds_are_refused(tmp_path):
    (tmp_path / "mine.txt").write_text(rows(1, 2, 3))
    with pytest.raises(ReplirankError, match="3 queries cannot make 4 folds"):
        read(tmp_path / "mine.txt", MINE)


def test_a_bad_line_of_a_single_file_is_named(tmp_path):
    (tmp_path / "mine.txt").write_text(rows(1, 2, 3, 4) + "made up\n")
    with pytest.raises(ReplirankError, match="the label 'made' is not a number") as caught:
        read(tmp_path / "mine.txt", MINE)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "mine.txt"), rows(1, 2, 3, 4).count("\n") + 1)


def test_a_single_file_is_no_published_set(tmp_path):
    """Its own folds could not be told from the file."""
    (tmp_path / "TINY.txt").write_text(TEXT)
    error = refused(tmp_path, tmp_path / "TINY.txt")
    assert error.what == "a single file, but TINY was published in folds or parts"


def test_of_a_width_that_is_not_known_narrower_files_end_with_zeros(tmp_path):
    """S2 names no third feature, and in fold files the same query may be in a wide and in a narrow file."""
    for number, text in enumerate(("1 qid:1 3:5\n", "1 qid:2 1:1 2:2\n", "0 qid:3 2:4\n", "2.5 qid:4 1:9\n"), 1):
        (tmp_path / f"S{number}.txt").write_text(text)
    data = read(tmp_path, MINE).data
    assert_array_equal(data.features, np.array([[0, 0, 5], [1, 2, 0], [0, 4, 0], [9, 0, 0]], dtype=np.float32))
    assert data.labels.tolist() == [1, 1, 0, 2.5]


def test_the_same_query_in_a_wide_and_in_a_narrow_file(tmp_path):
    queries = ["1 qid:1 3:5\n", "1 qid:2 1:1 2:2\n", "0 qid:3 2:4\n"]
    for k in range(3):
        place = tmp_path / f"Fold{k + 1}"
        place.mkdir()
        for name, number in zip(LETOR4, (k, k + 1, k + 2), strict=True):
            (place / f"{name}.txt").write_text(queries[number % 3])
    (tmp_path / "Fold3" / "train.txt").write_text("".join(queries[2:] + queries[:1]))
    data = read(tmp_path, MINE).data
    assert_array_equal(data.features, np.array([[0, 0, 5], [1, 2, 0], [0, 4, 0]], dtype=np.float32))


def test_features_are_scaled_by_query_on_demand(tiny, tmp_path):
    """Of every query, as (place - 1) / (last - 1) in features 1 and 3; feature 2 is the same for all."""
    dataset = read_source(TINY, tiny, lambda text: None, normalize=True)[0]
    expected = [
        [(place - 1) / (last - 1), 0, (place - 1) / (last - 1)]
        for last in (2 + query % 3 for query in range(1, QUERIES + 1))
        for place in range(1, last + 1)
    ]
    assert dataset.data.features.dtype == np.float32
    assert_array_equal(dataset.data.features, np.array(expected, dtype=np.float32))
    archive = Path(shutil.make_archive(str(tmp_path / "data"), "zip", tmp_path, "TINY"))
    same(dataset, read_source(TINY, archive, lambda text: None, normalize=True)[0])


# What is wrong with the files: always file and line


HEADS = pytest.mark.parametrize("head", ["", "# made up\n\n"], ids=["bare", "with a comment and a blank line"])


@HEADS
def test_a_query_that_differs_between_files_is_refused(tmp_path, head):
    source = write_folds(tmp_path / "TINY", head=head)
    file = source / "Fold2" / "train.txt"
    edit(file, "qid:5 1:0.5 ", "qid:5 1:0.75 ")
    error = refused(tmp_path, source)
    assert error.path == str(file)
    assert error.line == 1 + (head + rows(3, 4)).count("\n")  # where the query begins
    assert "query 5 " in error.what


def test_a_query_with_a_row_less_in_one_file_is_refused(tiny, tmp_path):
    file = tiny / "Fold3" / "test.txt"
    edit(file, row(3, 2), "")
    assert refused(tmp_path, tiny).path == str(file)


def test_a_query_with_another_label_in_one_file_is_refused(tiny, tmp_path):
    file = tiny / "Fold4" / "vali.txt"
    edit(file, row(3, 1), row(3, 1, label=2))
    assert (refused(tmp_path, tiny).path, refused(tmp_path, tiny).line) == (str(file), 1)


@HEADS
@pytest.mark.parametrize("label", [3, 0.5])
def test_a_label_of_no_level_is_refused(tmp_path, head, label):
    source = write_parts(tmp_path / "TINY", head=head)
    edit(source / "S3.txt", row(6, 2), row(6, 2, label=label))
    error = refused(tmp_path, source)
    assert error.path == str(source / "S3.txt")
    assert error.line == (head + rows(5)).count("\n") + 2
    assert f"label {label:g}" in error.what


def test_a_bad_line_is_refused(tiny, tmp_path):
    edit(tiny / "Fold1" / "vali.txt", "qid:7 1:0.5 ", "qid:7 1:nan ")
    error = refused(tmp_path, tiny)
    assert (error.path, error.line) == (str(tiny / "Fold1" / "vali.txt"), 2)


@pytest.mark.parametrize("features", [2, 4])
def test_another_number_of_features_is_refused(tiny, tmp_path, features):
    error = refused(tmp_path, tiny, dataclasses.replace(TINY, features=features))
    assert error.path == str(tiny / "Fold1" / "train.txt")
    assert error.what == f"TINY has {features} features, this file names 3"


@pytest.mark.parametrize(("features", "named"), [("", 2), (" 3:0.5 4:0", 4)])
def test_one_file_with_a_feature_too_few_or_too_many_is_refused(tmp_path, features, named):
    source = write_parts(tmp_path / "TINY")
    file = source / "S5.txt"
    file.write_text("".join(line.partition(" 3:")[0] + features + "\n" for line in file.read_text().splitlines()))
    error = refused(tmp_path, source)
    assert (error.path, error.what) == (str(file), f"TINY has 3 features, this file names {named}")


@pytest.mark.parametrize("kind", ["zip", "xztar"])
def test_in_an_archive_the_archive_and_its_member_are_named(tiny, tmp_path, kind):
    edit(tiny / "Fold2" / "test.txt", "qid:2 1:0.25 ", "qid:2 1:0.125 ")
    archive = Path(shutil.make_archive(str(tmp_path / "data"), kind, tmp_path, "TINY"))
    error = refused(tmp_path, archive)
    assert error.path == f"{archive}!TINY/Fold2/test.txt"
    assert error.line == rows(1).count("\n") + 1


@pytest.mark.parametrize("kind", ["zip", "xztar"])
def test_a_bad_line_in_an_archive_names_the_member(tiny, tmp_path, kind):
    edit(tiny / "Fold1" / "train.txt", "qid:1 1:0.5 ", "qid:1 1: ")
    archive = Path(shutil.make_archive(str(tmp_path / "data"), kind, tmp_path, "TINY"))
    error = refused(tmp_path, archive)
    assert (error.path, error.line) == (f"{archive}!TINY/Fold1/train.txt", 2)


@pytest.mark.parametrize("missing", ["Fold3/vali.txt", "Fold3", "*"])
def test_an_incomplete_archive_is_named_not_its_temporary_folder(tiny, tmp_path, missing):
    for path in tiny.glob(missing):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    archive = Path(shutil.make_archive(str(tmp_path / "data"), "zip", tmp_path, "TINY"))
    assert str(refused(tmp_path, archive).path).startswith(str(archive))


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "TINY.zip").write_text("made up")
    assert refused(tmp_path, tmp_path / "TINY.zip").path == tmp_path / "TINY.zip"


# What is wrong with the set as a whole


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"queries": 11}, "10 queries, expected 11"),
        ({"documents": 31}, f"{TINY.documents} documents, expected 31"),
        ({"labels": {0: TINY.labels[0], 1: 1}}, f"{TINY.labels[1]} documents of label 1, expected 1"),
        ({"folds": 4}, "5 folds, expected 4"),
    ],
)
def test_another_count_than_known_is_refused(tiny, tmp_path, known, message):
    assert refused(tmp_path, tiny, dataclasses.replace(TINY, **known)).what == f"TINY: {message}"


def test_what_is_not_known_is_not_counted(tiny, tmp_path):
    unknown = dataclasses.replace(TINY, queries=None, documents=None, labels=None)
    assert prepared(tmp_path, tiny, unknown).card["queries"] == 10


@pytest.mark.parametrize("split", ["vali", "test"])
def test_a_fold_whose_splits_overlap_is_refused(tiny, tmp_path, split):
    (tiny / "Fold2" / f"{split}.txt").write_text(rows(4))
    assert "fold 2 has a query in two of its splits" in refused(tmp_path, tiny).what


def test_test_splits_that_miss_a_query_are_refused(tiny, tmp_path):
    (tiny / "Fold2" / "test.txt").write_text(rows(1))
    assert "do not hold every query once" in refused(tmp_path, tiny).what


def test_test_splits_with_a_query_twice_are_refused(tiny, tmp_path):
    for name, queries in zip(LETOR4, ((3, 4, 5, 6, 7, 8), (1, 2), (9, 10)), strict=True):
        (tiny / "Fold2" / f"{name}.txt").write_text(rows(*queries))
    assert "do not hold every query once" in refused(tmp_path, tiny).what


def test_a_query_in_two_parts_is_refused(tmp_path):
    parts = [*PARTS[:4], (9, 10, 1)]
    assert "fold 1 has a query in two of its splits" in refused(tmp_path, write_parts(tmp_path / "TINY", parts)).what


def test_a_query_in_two_parts_that_are_cut_anew_is_refused(tmp_path):
    parts = [(1, 2, 3), (4, 5, 6), (7, 8, 9, 10, 1)]
    assert "do not hold every query once" in refused(tmp_path, write_parts(tmp_path / "TINY", parts), ANEW).what


ONE_FOLD = dataclasses.replace(TINY, folds=1)


def test_one_fold_needs_no_rotation(tmp_path):
    source = tmp_path / "TINY"
    source.mkdir()
    for name, queries in zip(LETOR4, ((1, 2, 3, 4, 5, 6), (7, 8), (9, 10)), strict=True):
        (source / f"{name}.txt").write_text(rows(*queries))
    assert [split.tolist() for split in prepared(tmp_path, source, ONE_FOLD).dataset.folds[0]] == [
        [0, 1, 2, 3, 4, 5],
        [6, 7],
        [8, 9],
    ]


def test_a_fold_without_validation_is_refused(tmp_path):
    source = tmp_path / "TINY"
    source.mkdir()
    (source / "train.txt").write_text(rows(*range(1, 9)))
    (source / "test.txt").write_text(rows(9, 10))
    assert "the vali split of fold 1 is empty" in refused(tmp_path, source, ONE_FOLD).what


STRICT = dataclasses.replace(TINY, strict=True, levels=None, labels=None, documents=20)


def strict_source(folder: Path, *, tie: int | None = None) -> Path:
    folder.mkdir()
    for number, part in enumerate(PARTS, 1):
        text = "".join(row(q, place, label=7 if q == tie else place) for q in part for place in (1, 2))
        (folder / f"S{number}.txt").write_text(text)
    return folder


def test_a_strict_order_is_accepted(tmp_path):
    result = prepared(tmp_path, strict_source(tmp_path / "TINY"), STRICT)
    assert result.card["labels"] == {}
    assert result.card["best_label"] == 2


def test_equal_labels_in_a_strict_order_are_refused_with_file_and_line(tmp_path):
    """The third part has queries 5 and 6, of two documents each: the second label 7 stands in its fourth line."""
    source = strict_source(tmp_path / "TINY", tie=6)
    error = refused(tmp_path, source, STRICT)
    assert "label 7 for a second time in query 6" in error.what
    assert (error.path, error.line) == (str(source / "S3.txt"), 4)


def test_a_label_that_is_no_number_is_refused_with_file_and_line(tmp_path):
    source = strict_source(tmp_path / "TINY")
    edit(source / "S2.txt", "2 qid:4", "second qid:4")
    error = refused(tmp_path, source, STRICT)
    assert "the label 'second' is not a number" in error.what
    assert (error.path, error.line) == (str(source / "S2.txt"), 4)


DERIVED = dataclasses.replace(
    STRICT, features=2, features_in_files=3, derive=lambda data: ordered_by_feature(data, 0, (0,)), levels=(0, 1, 2)
)


def test_lists_that_are_derived_say_so_and_from_what(tiny, tmp_path):
    known = dataclasses.replace(DERIVED, documents=None, note="in the order of feature 1")
    dataset, card = prepared(tmp_path, tiny, known)
    assert (card["origin"], card["features"], card["note"]) == ("derived", 2, "in the order of feature 1")
    for rows in dataset.data:
        assert sorted(dataset.data.labels[rows]) == list(range(rows.stop - rows.start))
    named = dataclasses.replace(known, named=True)
    for file in tiny.glob("*/*.txt"):
        file.write_text(re.sub(" # ?docid.*| #docid.*", "", file.read_text()))
    note = prepared(tmp_path, tiny, named).card["note"]
    assert note.startswith("in the order of feature 1; the documents are rebuilt from copies")


def test_derived_lists_are_counted(tiny, tmp_path):
    assert "documents, expected 7" in refused(tmp_path, tiny, dataclasses.replace(DERIVED, documents=7)).what


# Real, rebuilt, artificial or simulated


def test_what_was_found_is_real(tiny, tmp_path):
    assert prepared(tmp_path, tiny).card["origin"] == "real"


def test_placeholder_ids_show_a_rebuilt_copy(tiny, tmp_path):
    for file in tiny.glob("*/*.txt"):
        file.write_text(file.read_text().replace("D-4-1", "NA-4-1"))
    assert prepared(tmp_path, tiny).card["origin"] == "rebuilt"


def test_a_copy_without_ids_is_rebuilt_where_the_original_names_documents(tiny, tmp_path):
    named = dataclasses.replace(TINY, named=True)
    assert prepared(tmp_path, tiny, named).card["origin"] == "real"
    for file in tiny.glob("*/*.txt"):
        file.write_text("\n".join(line.partition(" #")[0] for line in file.read_text().splitlines()))
    result = prepared(tmp_path, tiny)
    assert (result.card["origin"], result.dataset.data.document_ids) == ("real", None)
    assert prepared(tmp_path, tiny, named).card["origin"] == "rebuilt"
    assert refused(tmp_path, tiny, dataclasses.replace(named, queries=9))  # counts hold for these too


# Scaling by query


def test_a_copy_that_is_not_scaled_by_query_is_scaled_and_the_card_says_so(tiny, tmp_path):
    known = dataclasses.replace(TINY, normalized=True)
    plain, said = prepared(tmp_path, tiny), []
    scaled = prepared(tmp_path, tiny, known, report=said.append)
    features, whole = scaled.dataset.data, plain.dataset.data.features.astype(np.float64)
    for rows in features:
        low, high = whole[rows].min(axis=0), whole[rows].max(axis=0)
        expected = np.where(high > low, (whole[rows] - low) / np.where(high > low, high - low, 1), 0)
        np.testing.assert_allclose(features.features[rows], expected, atol=1e-6)
    assert not np.array_equal(features.features, plain.dataset.data.features)
    assert "scaled to 0..1 here" in scaled.card["note"]
    assert any("not scaled by query" in line for line in said)
    assert plain.card["note"] == ""


def test_own_data_is_scaled_where_that_is_asked_for(tiny, tmp_path):
    own = dataclasses.replace(TINY, normalize=True)
    known = dataclasses.replace(TINY, normalized=True)
    one, other = (prepared(tmp_path, tiny, spec).dataset for spec in (own, known))
    np.testing.assert_array_equal(one.data.features, other.data.features)


# A data set of one's own


def own(path: Path, **settings) -> Spec:
    return own_spec("mine", {"path": str(path), "folds": 5, "normalize": "none", **settings}, path.parent)


def test_own_folds_are_kept_as_they_are(tiny, tmp_path):
    same(prepared(tmp_path, tiny, own(tiny, columns={"bm25": 2})).dataset, read(tiny))


def test_one_file_is_cut_into_folds_by_query(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"{d % 2} qid:q{q} 1:{q} 3:{d}\n" for q in range(12) for d in range(3)))
    result = prepared(tmp_path, path, own(path, folds=4, title="My own", columns={"bm25": 3}))
    assert [fold.test.tolist() for fold in result.dataset.folds] == [[9, 10, 11], [0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert result.dataset.data.features.shape == (36, 3)
    assert result.dataset.data.column("bm25") == 2
    assert (result.card["title"], result.card["origin"]) == ("My own", "real")
    assert result.card["labels"] == {"0": 24, "1": 12}


def test_own_data_that_cannot_be_cut_says_so(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("1 qid:a 1:1\n0 qid:b 1:0\n")
    assert "2 queries cannot make 5 folds" in refused(tmp_path, path, own(path)).what


def test_a_known_set_may_lie_elsewhere(tmp_path):
    given = own_spec("ohsumed", {"path": str(tmp_path), "folds": 5, "normalize": "none"}, tmp_path)
    assert given == dataclasses.replace(SPECS["ohsumed"], path=tmp_path)


def test_a_path_that_leads_nowhere_is_refused(tmp_path):
    with pytest.raises(ReplirankError, match="data set 'mine': there is no"):
        own(tmp_path / "nowhere.txt")


def test_what_is_missing_is_simulated_and_says_so(tmp_path):
    said = []
    result = prepared(tmp_path, None, report=said.append)
    assert result.card["origin"] == "simulated"
    assert result.card["source"] is None
    assert result.card["original_bytes"] is False
    assert result.dataset.data.queries == 10
    assert result.dataset.data.document_ids[0].startswith("SIM-")
    assert any("simulating" in line for line in said)


def test_a_simulated_set_is_that_of_its_seed(tmp_path):
    one, again, other = (prepared(tmp_path, None, seed=seed).card["checksum"] for seed in (1, 1, 2))
    assert one == again != other


def test_missing_data_may_be_an_error(tmp_path):
    error = refused(tmp_path, None, on_missing="fail")
    assert "TINY was not found" in error.what
    assert "LETOR_HOME" in error.remedy


@pytest.mark.parametrize("size", [None, {}])
def test_without_a_size_nothing_is_simulated(tmp_path, size):
    assert "tiny" in refused(tmp_path, None, size=size).remedy


@pytest.mark.parametrize(
    ("name", "origin"),
    [("artificial_net", "artificial"), ("artificial_poly", "artificial"), ("web", "simulated"), ("aol", "simulated")],
)
@pytest.mark.parametrize("on_missing", ["simulate", "fail"])
def test_made_sets_are_made_whatever_is_missing(tmp_path, name, origin, on_missing):
    assert prepared(tmp_path, None, SPECS[name], on_missing=on_missing).card["origin"] == origin


# The card


def test_the_card(tiny, tmp_path):
    for file in tiny.glob("*/*.txt"):  # feature 2 is constant, query 1 has nothing relevant
        lines = [line.split() for line in file.read_text().splitlines()]
        for line in lines:
            line[3] = "2:0.5"
            line[0] = "0" if line[1] == "qid:1" else line[0]
        file.write_text("".join(" ".join(line) + "\n" for line in lines))
    labels = [0 if q == 1 else (q + place) % 3 for q in range(1, 11) for place in range(1, 3 + q % 3)]
    dataset, card = prepared(tmp_path, tiny, dataclasses.replace(TINY, labels=None, note="made up"))
    assert card == {
        "id": "tiny",
        "title": "TINY",
        "origin": "real",
        "note": "made up",
        "source": str(tiny),
        "checksum": dataset.data.checksum(),
        "original_bytes": False,
        "queries": 10,
        "documents": 4 * 3 + 3 * 4 + 3 * 2,  # q % 3 is 1 for four queries, 2 for three and 0 for three
        "features": 3,
        "constant_features": 1,
        "labels": {str(level): labels.count(level) for level in range(3)},
        "label_shares": {str(level): round(labels.count(level) / 30, 4) for level in range(3)},
        "best_label": 2.0,
        "documents_per_query": {"least": 2, "median": 3.0, "most": 4},
        "queries_without_relevant": 1,
        "folds": [
            {
                # Query q has 2 + q % 3 documents.
                name: {"queries": count, "documents": int(sum(2 + dataset.data.query_ids[split] % 3))}
                for (name, split), count in zip(fold._asdict().items(), (6, 2, 2), strict=True)
            }
            for fold in dataset.folds
        ],
    }


def test_the_card_knows_the_original_bytes(tiny, tmp_path):
    checksum = read(tiny).data.checksum()
    assert prepared(tmp_path, tiny, dataclasses.replace(TINY, checksum=checksum)).card["original_bytes"] is True
    assert prepared(tmp_path, tiny, dataclasses.replace(TINY, checksum="0" * 64)).card["original_bytes"] is False


def test_the_note_on_the_real_set_is_not_on_its_stand_in(tiny, tmp_path):
    noted = dataclasses.replace(TINY, note="judged by hand")
    assert prepared(tmp_path, tiny, noted).card["note"] == "judged by hand"
    assert prepared(tmp_path, None, noted).card["note"] == ""
    assert prepared(tmp_path, None, dataclasses.replace(noted, made=True)).card["note"] == "judged by hand"


# The data sets by name


SMALL = {"queries": 12, "documents": 8}
SIZES = {
    "td2003": {"queries": 6, "documents": 40},
    "td2004": {"queries": 6, "documents": 40},
    "td2003_4": {"queries": 5, "documents": 200},
    "td2003_4_14": {"queries": 5, "documents": 200},
    "mslr_web10k": {"queries": 12, "documents": 20},
    "mslr_web30k": {"queries": 12, "documents": 20},
    "mq2008_list": {"queries": 6, "documents": [4, 12]},
    "td2003_list": {"queries": 6, "documents": 40},
}


@pytest.mark.parametrize("name", SPECS)
def test_every_stand_in_has_the_shape_of_its_set(tmp_path, name):
    known = SPECS[name]
    size = SIZES.get(name, SMALL)
    dataset, card = prepared(tmp_path, None, known, size=size, seed=3)
    check(known, dataset, counts=False)
    data: RankingData = dataset.data
    assert data.features.dtype == data.labels.dtype == np.float32
    assert data.features.shape == (data.documents, known.features)
    assert np.isfinite(data.features).all()
    assert data.queries == size["queries"]
    assert len(dataset.folds) == known.folds
    if known.strict:
        for query in data:
            assert sorted(data.labels[query]) == list(range(query.stop - query.start))
    else:
        assert np.isin(data.labels, known.levels).all()
        assert data.labels.max() > 0
    assert set(known.columns.items()) <= set(data.columns.items())
    assert all(0 <= column < known.features for column in data.columns.values())
    assert card["origin"] == ("artificial" if name.startswith("artificial") else "simulated")
    assert card["original_bytes"] is False


@pytest.mark.parametrize("name", SPECS)
def test_what_is_known_of_a_set_fits_together(name):
    known = SPECS[name]
    assert known.id == name == name.lower()
    assert spec(name) is known
    assert known.made != bool(known.names)
    assert known.folds == 1 or known.folds >= 3
    assert known.levels is None or list(known.levels) == sorted(set(known.levels))
    if not known.made:
        assert 0 < known.queries < known.documents
    if known.labels:
        assert sum(known.labels.values()) == known.documents
        assert tuple(known.labels) == known.levels


def test_a_set_of_some_columns_is_those_of_the_whole(tmp_path):
    size = {"queries": 5, "documents": 200}
    whole, part = (prepared(tmp_path, None, SPECS[name], size=size, seed=3) for name in ("td2003_4", "td2003_4_14"))
    keep = SPECS["td2003_4_14"].keep
    assert len(set(keep)) == len(keep) == 14 == part.card["features"]
    np.testing.assert_array_equal(part.dataset.data.features, whole.dataset.data.features[:, list(keep)])
    np.testing.assert_array_equal(part.dataset.data.labels, whole.dataset.data.labels)
    for name, column in part.dataset.data.columns.items():
        assert keep[column] == whole.dataset.data.columns[name]
    assert {"bm25", "pagerank"} <= set(part.dataset.data.columns)


def test_some_columns_are_read_from_files_of_the_whole(tmp_path, tiny):
    part = in_four_folds(TINY, "some", "Some", "two of them", keep=(2, 1))
    whole, some = (prepared(tmp_path, tiny, known).dataset for known in (TINY, part))
    np.testing.assert_array_equal(some.data.features, whole.data.features[:, [2, 1]])
    assert (whole.data.columns, some.data.columns) == ({"bm25": 1}, {"bm25": 1})
    # Ten queries in four folds, whatever folds the files have.
    assert [fold.test.tolist() for fold in some.folds] == [[8, 9], [0, 1, 2], [3, 4, 5], [6, 7]]


def test_names_of_folders_lead_to_one_set_only():
    whole = [known for known in SPECS.values() if not known.files_of]  # others are versions of one of these
    names = [name.lower() for known in whole for name in known.names]
    assert len(names) == len(set(names))


def test_an_unknown_set_is_refused_with_the_known_ones():
    with pytest.raises(ReplirankError, match=r"unknown data set 'mq2009'[\s\S]*ohsumed, td2003"):
        spec("mq2009")
