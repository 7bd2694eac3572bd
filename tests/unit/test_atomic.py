"""Written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from replirank.atomic import atomic_write, write_text


class Broken(Exception):
    pass


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail_half_way(path: Path, error: type[BaseException], *, remove: bool = False) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text("half")
        if remove:
            temporary.unlink()
        raise error


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


def test_the_old_file_is_there_until_the_block_ends(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_error_leaves_nothing_behind(tmp_path, error):
    with pytest.raises(error):
        fail_half_way(tmp_path / "out.txt", error)
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt])
def test_an_error_keeps_the_old_file(tmp_path, error):
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(error):
        fail_half_way(path, error)
    assert path.read_text() == "old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["out.txt"]


def test_an_error_after_the_temporary_file_was_removed_is_the_one_that_is_seen(tmp_path):
    with pytest.raises(Broken):
        fail_half_way(tmp_path / "out.txt", Broken, remove=True)
    assert names(tmp_path) == []


def test_when_it_cannot_take_its_name_nothing_is_left_behind(tmp_path):
    (tmp_path / "out.txt").mkdir()
    with pytest.raises(OSError, match=r"out\.txt"), atomic_write(tmp_path / "out.txt") as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("name", ["out.npz", "out.tar.gz", "with space.csv", "two.dots.csv"])
def test_the_suffix_is_kept(tmp_path, name):
    with atomic_write(tmp_path / name) as temporary:
        assert temporary.suffix == Path(name).suffix
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        temporary.write_text("new")
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["out", ".hidden", "ends."])
def test_names_without_a_suffix_are_written_too(tmp_path, name):
    with atomic_write(tmp_path / name) as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == [name]


def test_a_writer_that_looks_at_the_suffix_is_content(tmp_path):
    with atomic_write(tmp_path / "out.npz") as temporary:
        np.savez(temporary, x=np.arange(3))
    with np.load(tmp_path / "out.npz") as stored:
        assert stored["x"].tolist() == [0, 1, 2]
    assert names(tmp_path) == ["out.npz"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0o000, 0o666)])
def test_the_mode_follows_the_umask(tmp_path, umask, mask, mode):
    umask(mask)
    with atomic_write(tmp_path / "out.txt") as temporary:
        temporary.write_text("new")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600  # nobody else reads a half-written file
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == mode
    assert umask(mask) == mask  # it was looked at, not changed


def test_folders_on_the_way_are_made(tmp_path):
    with atomic_write(tmp_path / "a" / "b" / "out.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a" / "b" / "out.txt").read_text() == "new"


def test_two_writers_at_once_do_not_mix(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_write(path) as one, atomic_write(path) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"  # the outer block ended last
    assert names(tmp_path) == ["out.txt"]


def test_a_path_may_be_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_write("out.txt") as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["out.txt"]


def test_write_text_is_utf8_and_whole(tmp_path):
    write_text(tmp_path / "out.txt", "τ = 1 − 2d\n")
    assert (tmp_path / "out.txt").read_bytes() == "τ = 1 − 2d\n".encode()
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "out.txt", "half \ud800")
    assert (tmp_path / "out.txt").read_bytes() == "τ = 1 − 2d\n".encode()
    assert names(tmp_path) == ["out.txt"]
