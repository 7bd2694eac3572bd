"""Layouts are made by hand in tmp_path; the rows in them are made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replirank.data.folds import rotate
from replirank.data.layouts import (
    FoldFiles,
    Layout,
    Listing,
    find_layout,
    holds_letor,
    is_single_file,
    normalized_name,
)
from replirank.errors import ReplirankError

ROW = "1 qid:7 1:0.25 2:1.0 #docid = A-1\n"
LETOR4 = ("train.txt", "vali.txt", "test.txt")
LETOR3 = ("trainingset.txt", "validationset.txt", "testset.txt")


def write(folder: Path, *names: str, text: str = ROW) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_folds(folder: Path, names=LETOR4, numbers=range(1, 6), fold="Fold{}") -> Path:
    return write(folder, *(f"{fold.format(number)}/{name}" for number in numbers for name in names))


@pytest.mark.parametrize(
    "names", [LETOR4, LETOR3, ("Train.TXT", "Valid.txt", "TEST.txt"), ("TrainingSet.txt", "validation.txt", "test.txt")]
)
def test_folds_with_their_files_in_order(tmp_path, names):
    layout = find_layout(write_folds(tmp_path, names))
    assert layout.parts == ()
    assert layout.folds == tuple(FoldFiles(*(tmp_path / f"Fold{k}" / name for name in names)) for k in range(1, 6))


def test_fold_folders_in_any_case_and_in_order_of_their_numbers(tmp_path):
    layout = find_layout(write_folds(tmp_path, numbers=range(1, 11), fold="fold{}"))
    assert [fold.test.parent.name for fold in layout.folds] == [f"fold{k}" for k in range(1, 11)]


def test_parts_in_order_of_their_numbers(tmp_path):
    layout = find_layout(write(tmp_path, *(f"S{k}.txt" for k in range(11, 0, -1))))
    assert layout.folds == ()
    assert layout.parts == tuple(tmp_path / f"S{k}.txt" for k in range(1, 12))


def test_some_parts_only_where_the_data_set_has_no_others(tmp_path):
    write(tmp_path / "QueryLevelNorm", "S5.txt", "S4.txt")
    write(tmp_path / "Original", "S4.txt", "S5.txt")
    layout = find_layout(tmp_path, parts=(4, 5))
    assert layout.parts == (tmp_path / "QueryLevelNorm/S4.txt", tmp_path / "QueryLevelNorm/S5.txt")


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ((4,), r"there is no S5\.txt"),
        ((1, 2, 3), r"there is no S4\.txt; there is no S5\.txt; S1\.txt is one part too many"),
        ((4, 5, 6), r"S6\.txt is one part too many"),
        ((0, 4, 5), r"S0\.txt is there, but LETOR counts from 1"),
    ],
)
def test_other_parts_than_expected_are_named(tmp_path, there, why):
    write(tmp_path, *(f"S{k}.txt" for k in there))
    with pytest.raises(ReplirankError, match=why):
        find_layout(tmp_path, parts=(4, 5))


@pytest.mark.parametrize("name", ["mine.txt", "mine.dat", "mine.LETOR", "mine.svm", "mine.svmlight", "mine"])
def test_a_single_file(tmp_path, name):
    write(tmp_path, name)
    assert find_layout(tmp_path / name) == Layout(tmp_path, whole=tmp_path / name)


@pytest.mark.parametrize("name", ["mine.txt", "mine.dat", "mine.LETOR", "mine.svm", "mine.svmlight"])
def test_a_folder_with_a_single_file(tmp_path, name):
    write(tmp_path, name)
    write(tmp_path, "readme.txt", "notes.md", text="made up\n")
    assert find_layout(tmp_path) == Layout(tmp_path, whole=tmp_path / name)


def test_a_file_beside_folds_or_parts_is_not_the_data_set(tmp_path):
    write(tmp_path, "all.txt")
    assert len(find_layout(write_folds(tmp_path)).folds) == 5


def test_two_files_are_not_guessed_at(tmp_path):
    with pytest.raises(ReplirankError, match="and for a single file"):
        find_layout(write(tmp_path, "one.txt", "two.txt"))


def test_an_archive_is_no_single_file(tmp_path):
    (tmp_path / "data.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    assert not is_single_file(tmp_path / "data.zip")
    assert not is_single_file(tmp_path)


def test_folds_win_over_parts(tmp_path):
    write(tmp_path, *(f"S{k}.txt" for k in range(1, 6)))
    layout = find_layout(write_folds(tmp_path))
    assert len(layout.folds) == 5
    assert layout.parts == ()


def test_one_split_without_validation(tmp_path):
    layout = find_layout(write(tmp_path, "train.txt", "test.txt"))
    assert layout.folds == (FoldFiles(tmp_path / "train.txt", None, tmp_path / "test.txt"),)


def test_one_split_with_validation(tmp_path):
    layout = find_layout(write(tmp_path, *LETOR4))
    assert layout.folds == (FoldFiles(*(tmp_path / name for name in LETOR4)),)


@pytest.mark.parametrize("other", ["Feature_Null", "Feature_Min", "NULL", "min", "AAA"])
@pytest.mark.parametrize("preferred", ["QueryLevelNorm", "querylevelnorm", "Query-Level-Norm"])
def test_query_level_norm_is_preferred(tmp_path, other, preferred):
    write_folds(tmp_path / "OHSUMED" / other, LETOR3)
    write_folds(tmp_path / "OHSUMED" / preferred, LETOR3)
    assert find_layout(tmp_path).folder == tmp_path / "OHSUMED" / preferred


def test_query_level_norm_is_preferred_over_files_beside_it(tmp_path):
    write_folds(write_folds(tmp_path) / "QueryLevelNorm")
    assert find_layout(tmp_path).folder == tmp_path / "QueryLevelNorm"


def test_an_empty_query_level_norm_is_passed_over(tmp_path):
    (tmp_path / "QueryLevelNorm").mkdir()
    assert find_layout(write_folds(tmp_path)).folder == tmp_path


def test_a_single_other_version_is_taken(tmp_path):
    assert find_layout(write_folds(tmp_path / "Feature_Min").parent).folder == tmp_path / "Feature_Min"


def test_two_versions_without_a_preferred_one_are_not_guessed_at(tmp_path):
    write_folds(tmp_path / "Feature_Min")
    write_folds(tmp_path / "Feature_Null")
    with pytest.raises(ReplirankError, match="Feature_Min, Feature_Null"):
        find_layout(tmp_path)


def test_top_folder_and_what_macos_leaves(tmp_path):
    write_folds(tmp_path / "MQ2008")
    write_folds(tmp_path / "__MACOSX" / "MQ2008", ("._train.txt", "train.txt", "test.txt"))
    write(tmp_path / ".Trash", *LETOR4)
    write(tmp_path / "MQ2008" / "Fold1", "._train.txt", ".DS_Store")
    layout = find_layout(tmp_path)
    assert layout.folder == tmp_path / "MQ2008"
    assert layout.folds[0].train == tmp_path / "MQ2008" / "Fold1" / "train.txt"


@pytest.mark.parametrize("top", ["Gov", "LETOR3.0/Gov", "."])
@pytest.mark.parametrize("order", ["QueryLevelNorm/{}", "{}/QueryLevelNorm", "{}"])
def test_the_named_one_of_a_bundle(tmp_path, top, order):
    for name in ("2003_td_dataset", "2004_td_dataset"):
        write_folds(tmp_path / top / order.format(name), LETOR3)
        write_folds(tmp_path / top / order.replace("QueryLevelNorm", "Feature_null").format(name), LETOR3)
    layout = find_layout(tmp_path, names=("TD2003", "2003-TD-dataset"))
    assert layout.folder == tmp_path / top / order.format("2003_td_dataset")


def test_a_bundle_unpacked_into_a_folder_with_the_data_sets_name(tmp_path):
    home = tmp_path / "TD2003"
    write_folds(home / "Gov" / "2003_td_dataset")
    write_folds(home / "Gov" / "2004_td_dataset")
    assert find_layout(home, names=("TD2003", "2003_td_dataset")).folder == home / "Gov" / "2003_td_dataset"


def test_a_bundle_is_not_guessed_at_without_a_name(tmp_path):
    write_folds(tmp_path / "2003_td_dataset")
    write_folds(tmp_path / "2004_td_dataset")
    with pytest.raises(ReplirankError, match="2003_td_dataset, 2004_td_dataset"):
        find_layout(tmp_path)


def test_a_longer_name_is_another_data_set(tmp_path):
    write_folds(tmp_path / "MQ2008-list")
    write_folds(tmp_path / "MQ2008")
    assert find_layout(tmp_path, names=("mq2008",)).folder == tmp_path / "MQ2008"
    assert find_layout(tmp_path, names=("MQ2008_LIST",)).folder == tmp_path / "MQ2008-list"


def test_results_of_baselines_beside_the_data_do_not_disturb(tmp_path):
    write_folds(tmp_path / "OHSUMED" / "RankBoost", ("test.rankboost",))
    write_folds(tmp_path / "OHSUMED" / "Data", LETOR3)
    assert find_layout(tmp_path).folder == tmp_path / "OHSUMED" / "Data"


def test_a_stray_file_above_the_data_does_not_disturb(tmp_path):
    write(tmp_path, "test.txt")
    write_folds(tmp_path / "MQ2008")
    assert find_layout(tmp_path).folder == tmp_path / "MQ2008"


def test_the_same_folder_by_a_link_is_one_layout(tmp_path):
    write_folds(tmp_path / "version1")
    (tmp_path / "version2").symlink_to("version1", target_is_directory=True)
    assert find_layout(tmp_path).folder == tmp_path / "version1"


def test_link_loops_end(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "up").symlink_to(tmp_path, target_is_directory=True)
    (deep / "self").symlink_to("self")
    write_folds(deep / "data")
    assert find_layout(tmp_path).folder == deep / "data"
    assert Listing().folders(deep) == [deep / "data"]


def broken(folder: Path, *gone: str) -> Path:
    for name in gone:
        (folder / name).unlink()
    return folder


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda p: broken(write_folds(p), "Fold3/test.txt"), "in Fold3 there is no test file"),
        (lambda p: broken(write_folds(p), "Fold2/vali.txt"), "in Fold2 there is no vali file"),
        (lambda p: broken(write_folds(p), *(f"Fold4/{n}" for n in LETOR4)), "in Fold4 there is no train file"),
        (lambda p: write_folds(p, numbers=(1, 2, 4)), "there is no Fold3"),
        (lambda p: write_folds(p, numbers=(2, 3)), "there is no Fold1"),
        (lambda p: write_folds(p, numbers=range(5)), "Fold0 is there"),
        (lambda p: write(p, "S1.txt", "S3.txt"), r"there is no S2\.txt"),
        (lambda p: write(p, "S1.txt", "S2.txt"), "only 2 part"),
        (lambda p: write(p, "train.txt"), "there is no test file"),
        (lambda p: write(p, "test.txt", "vali.txt"), "there is no train file"),
        (lambda p: write(p, *LETOR4, "trainingset.txt"), r"train\.txt and trainingset\.txt are the same"),
        (lambda p: write_folds(write_folds(p), fold="fold_{}", numbers=[2]), "Fold2 and fold_2 are the same"),
    ],
)
def test_what_is_missing_is_named(tmp_path, make, missing):
    folder = make(tmp_path / "OHSUMED")
    with pytest.raises(ReplirankError, match=missing) as caught:
        find_layout(tmp_path)
    assert caught.value.path == folder
    assert caught.value.remedy


def test_nothing_found_says_what_was_looked_for(tmp_path):
    write(tmp_path, "readme.txt", "S2003.txt", "train.csv", "Fold1.bak/x.txt")
    with pytest.raises(ReplirankError, match=r"Fold1\.\.n.*S1\.\.Sn"):
        find_layout(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(ReplirankError, match="no such folder"):
        find_layout(tmp_path / "gone")


@pytest.mark.parametrize("text", [ROW, "# head\n\n0 qid:1 1:2\n", "\ufeff-1.5 qid:3 1:0\r\n", "2\tqid:10\t1:1\n"])
def test_text_that_is_letor(tmp_path, text):
    assert holds_letor(write(tmp_path, "train.txt", "test.txt", text=text))


@pytest.mark.parametrize("text", ["", "hello world\n", "version https://git-lfs.github.com/spec/v1\n", "1 1:0.5 2:3\n"])
def test_text_that_is_not_letor(tmp_path, text):
    assert not holds_letor(write(tmp_path, "train.txt", "test.txt", text=text))


def test_an_incomplete_layout_still_holds_letor_text(tmp_path):
    assert holds_letor(write(tmp_path / "QueryLevelNorm", "S1.txt", "S3.txt").parent)


def test_the_rotation_is_letors_table():
    assert rotate(5) == [
        ([0, 1, 2], 3, 4),
        ([1, 2, 3], 4, 0),
        ([2, 3, 4], 0, 1),
        ([3, 4, 0], 1, 2),
        ([4, 0, 1], 2, 3),
    ]
    assert rotate(4)[0] == ([0, 1], 2, 3)
    assert rotate(3) == [([0], 1, 2), ([1], 2, 0), ([2], 0, 1)]


@given(st.integers(3, 40))
def test_every_part_is_used_once_per_fold_and_tested_on_once(parts):
    folds = rotate(parts)
    assert all(sorted([*train, vali, test]) == list(range(parts)) for train, vali, test in folds)
    assert sorted(test for _, _, test in folds) == sorted(vali for _, vali, _ in folds) == list(range(parts))


@pytest.mark.parametrize("parts", [-1, 0, 1, 2])
def test_too_few_parts_to_rotate(parts):
    with pytest.raises(ReplirankError, match="cannot be rotated"):
        rotate(parts)


def test_normalized_names():
    assert normalized_name("2003_td_dataset") == normalized_name("2003-TD-Dataset")
    assert normalized_name("TD2003") != normalized_name("TD2003-30")
