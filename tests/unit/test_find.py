"""Homes with tiny folders and archives; the rows in them are made up."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from foreign_archives import stub_programs, write_foreign

from replirank.data.find import Catalogue, find_source, homes
from replirank.errors import ReplirankError

ROW = b"1 qid:7 1:0.25 2:1.0 #docid = A-1\n"
TD2003 = ("TD2003", "2003_td_dataset")


def write_set(folder: Path, text: bytes = ROW) -> Path:
    folder.mkdir(parents=True)
    for part in (1, 2, 3):
        (folder / f"S{part}.txt").write_bytes(text)
    return folder


def touch(home: Path, *names: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for name in names:
        (home / name).write_bytes(b"")


def write_zip(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as packed:
        for name in names:
            packed.writestr(name, ROW)
    return path


def write_tar(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as packed:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(ROW)
            packed.addfile(info, io.BytesIO(ROW))
    return path


def test_homes_in_their_order(tmp_path):
    root = tmp_path / "main"
    for folder in (tmp_path / "a", tmp_path / "b", root / "data", tmp_path / "shared" / "data"):
        folder.mkdir(parents=True)
    environ = {"LETOR_HOME": os.pathsep.join([str(tmp_path / "b"), str(tmp_path / "gone"), "", str(tmp_path / "a")])}
    found = homes(environ, root)
    assert found[:3] == [tmp_path / "b", tmp_path / "a", root / "data"]
    assert [home.resolve() for home in found[3:]] == [tmp_path / "shared" / "data"]


def test_homes_that_do_not_exist(tmp_path):
    assert homes({}, tmp_path) == []


def test_a_home_named_twice_keeps_its_first_place(tmp_path):
    for folder in (tmp_path / "a", tmp_path / "data"):
        folder.mkdir()
    given = os.pathsep.join(map(str, [tmp_path / "data", tmp_path / "a", tmp_path / "data"]))
    assert homes({"LETOR_HOME": given}, tmp_path) == [tmp_path / "data", tmp_path / "a"]


@pytest.mark.parametrize(
    "place", ["TD2003", "td2003", "2003-TD-dataset", "Gov/2003_td_dataset", "Gov/QueryLevelNorm/2003_td_dataset"]
)
def test_a_folder_by_any_of_its_names(tmp_path, place):
    folder = write_set(tmp_path / place)
    assert find_source(TD2003, [tmp_path]) == folder


def test_a_folder_is_not_looked_for_further_down_than_three_levels(tmp_path):
    write_set(tmp_path / "a/b/c/TD2003")
    assert find_source(TD2003, [tmp_path]) is None
    assert find_source(TD2003, [tmp_path / "a"]) == tmp_path / "a/b/c/TD2003"


def test_the_upper_folder_wins_and_then_query_level_norm(tmp_path):
    write_set(tmp_path / "Gov/Feature_null/2003_td_dataset")
    normalised = write_set(tmp_path / "Gov/QueryLevelNorm/2003_td_dataset")
    assert find_source(TD2003, [tmp_path]) == normalised
    upper = write_set(tmp_path / "TD2003")
    assert find_source(TD2003, [tmp_path]) == upper


@pytest.mark.parametrize("name", ["MQ2008-list", "MQ2008_agg", "MQ20080", "xMQ2008"])
def test_a_longer_name_is_another_data_set(tmp_path, name):
    write_set(tmp_path / name)
    touch(tmp_path, f"{name}.tar.xz", f"{name}.zip", f"{name}.rar")
    assert find_source(["MQ2008"], [tmp_path]) is None
    assert find_source([name], [tmp_path]) == tmp_path / name


@pytest.mark.parametrize("text", [b"", b"<html>not found</html>\n"])
def test_a_folder_without_letor_text_does_not_count(tmp_path, text):
    write_set(tmp_path / "OHSUMED", text)
    touch(tmp_path, "OHSUMED.zip")
    assert find_source(["OHSUMED"], [tmp_path]) == tmp_path / "OHSUMED.zip"


def test_hidden_folders_are_passed_over(tmp_path):
    write_set(tmp_path / ".old" / "OHSUMED")
    write_set(tmp_path / ".OHSUMED")
    assert find_source(["OHSUMED"], [tmp_path]) is None


def test_link_loops_end_and_links_elsewhere_are_followed(tmp_path):
    home, big = tmp_path / "home", write_set(tmp_path / "disk" / "v3")
    (home / "Gov").mkdir(parents=True)
    (home / "Gov" / "loop").symlink_to(home, target_is_directory=True)
    (home / "self").symlink_to("self")
    (home / "OHSUMED").symlink_to(big, target_is_directory=True)
    assert find_source(["OHSUMED"], [home]) == home / "OHSUMED"
    assert find_source(["gone"], [home]) is None


@pytest.mark.parametrize("suffix", ["tar.xz", "txz", "tar.gz", "tgz", "tar.bz2", "tar", "zip", "ZIP", "Tar.XZ"])
def test_an_archive_of_any_kind(tmp_path, suffix):
    touch(tmp_path, f"Ohsumed.{suffix}", "OHSUMED.txt")
    assert find_source(["OHSUMED"], [tmp_path]) == tmp_path / f"Ohsumed.{suffix}"


def test_archives_are_taken_in_a_fixed_order(tmp_path):
    touch(tmp_path, "OHSUMED.zip", "OHSUMED.tar.gz", "OHSUMED.tar.xz", "ohsumed.tar.xz")
    assert find_source(["OHSUMED"], [tmp_path]) == tmp_path / "OHSUMED.tar.xz"


def test_a_folder_wins_over_an_archive_but_only_in_the_same_home(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    touch(first, "OHSUMED.tar.xz")
    folder = write_set(second / "OHSUMED")
    assert find_source(["OHSUMED"], [first, second]) == first / "OHSUMED.tar.xz"
    assert find_source(["OHSUMED"], [second, first]) == folder
    touch(second, "OHSUMED.tar.xz")
    assert find_source(["OHSUMED"], [second]) == folder


@pytest.mark.parametrize(("write", "name"), [(write_zip, "Gov.zip"), (write_tar, "gov.tar.xz")])
def test_a_bundle_that_holds_the_set(tmp_path, write, name):
    bundle = write(tmp_path / name, "Gov/QueryLevelNorm/2003_td_dataset/S1.txt", "Gov/2004_td_dataset.txt")
    assert find_source(TD2003, [tmp_path], ["Gov"]) == bundle
    assert find_source(TD2003, [tmp_path]) is None
    # A file of that name is not a folder.
    assert find_source(["2004_td_dataset.txt"], [tmp_path], ["Gov"]) is None
    assert find_source(["TD2004", "2004_td_dataset"], [tmp_path], ["Gov"]) is None


def test_an_archive_of_its_own_wins_over_a_bundle(tmp_path):
    write_zip(tmp_path / "Gov.zip", "Gov/TD2003/S1.txt")
    touch(tmp_path, "TD2003.tar")
    assert find_source(TD2003, [tmp_path], ["Gov"]) == tmp_path / "TD2003.tar"


def test_a_damaged_bundle_is_named(tmp_path):
    touch(tmp_path, "Gov.zip")
    with pytest.raises(ReplirankError, match=r"Gov\.zip: the archive is damaged"):
        find_source(TD2003, [tmp_path], ["Gov"])


@pytest.fixture
def no_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("name", ["OHSUMED.rar", "ohsumed.7z", "LETOR3.0.rar"])
def test_an_archive_that_cannot_be_read_is_mentioned(tmp_path, no_programs, name):
    touch(tmp_path / "1", name)
    (tmp_path / "2").mkdir()
    with pytest.raises(ReplirankError, match="none is on the PATH") as caught:
        find_source(["OHSUMED"], [tmp_path / "1", tmp_path / "2"], ["LETOR3.0"])
    assert caught.value.path == tmp_path / "1" / name
    assert f"data/{name.rpartition('.')[0]}/" in caught.value.remedy
    assert "bsdtar, unar, 7z or unrar" in caught.value.remedy


def test_an_archive_that_cannot_be_read_does_not_matter_if_there_is_another(tmp_path, no_programs):
    touch(tmp_path / "1", "OHSUMED.rar")
    touch(tmp_path / "2", "OHSUMED.zip")
    assert find_source(["OHSUMED"], [tmp_path / "1", tmp_path / "2"]) == tmp_path / "2" / "OHSUMED.zip"


def test_rar_archives_and_rar_bundles(tmp_path, monkeypatch):
    stub_programs(monkeypatch, tmp_path / "bin", "7z")
    home = tmp_path / "home"
    home.mkdir()
    own = write_foreign(home / "OHSUMED.rar", {"OHSUMED/S1.txt": "1 qid:1 1:0\n"})
    bundle = write_foreign(home / "Gov.7z", {"Gov/QueryLevelNorm/2003_td_dataset/Fold1/train.txt": "1 qid:1 1:0\n"})
    assert find_source(["OHSUMED"], [home]) == own
    assert find_source(TD2003, [home], ["Gov"]) == bundle
    assert find_source(["TD2004", "2004_td_dataset"], [home], ["Gov"]) is None
    touch(home, "OHSUMED.zip")
    assert find_source(["OHSUMED"], [home]) == home / "OHSUMED.zip"


def test_with_a_catalogue_each_folder_and_each_bundle_is_read_once(tmp_path, monkeypatch):
    sets = [f"SET{number}" for number in range(17)]
    for name in sets[:6]:
        write_set(tmp_path / "LETOR" / name / "QueryLevelNorm")
    touch(tmp_path, *(f"{name}.tar.xz" for name in sets[6:12]))
    write_zip(tmp_path / "Gov.zip", *(f"Gov/{name}/S1.txt" for name in sets[12:]))
    listed, opened = [], []
    scandir, open_zip = os.scandir, zipfile.ZipFile
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(os.fspath(path)) or scandir(path))
    monkeypatch.setattr(zipfile, "ZipFile", lambda path: opened.append(path) or open_zip(path))
    catalogue = Catalogue()
    found = [find_source([name], [tmp_path], ["Gov"], catalogue=catalogue) for name in sets]
    assert found[:6] == [tmp_path / "LETOR" / name for name in sets[:6]]
    assert found[6:12] == [tmp_path / f"{name}.tar.xz" for name in sets[6:12]]
    assert found[12:] == [tmp_path / "Gov.zip"] * 5
    assert len(listed) == len(set(listed)) == 1 + 1 + 6 + 6
    assert opened == [tmp_path / "Gov.zip"]
