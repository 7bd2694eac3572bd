"""Honest, malicious and damaged archives, all built here."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import stat
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from foreign_archives import stub_programs, write_foreign
from hypothesis import given, settings
from hypothesis import strategies as st

from replirank.data.unpack import folders_in, unpack
from replirank.errors import ReplirankError

ROW = b"1 qid:7 1:0.25 2:1.0 #docid = A-1\n"
FILES = {"OHSUMED/QueryLevelNorm/Fold1/train.txt": ROW * 3, "OHSUMED/readme.txt": b"", "OHSUMED/S1.txt": ROW}
NOISE = random.Random(1).randbytes(20_000)
TARS = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz", "txz": "w:xz"}


def tar_file(name: str, content: bytes = ROW, **properties) -> tuple[tarfile.TarInfo, io.BytesIO]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in properties.items():
        setattr(info, key, value)
    return info, io.BytesIO(content)


def tar_other(name: str, kind: bytes, goal: str = "") -> tuple[tarfile.TarInfo, None]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, goal
    return info, None


def write_tar(path: Path, *members, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as packed:
        for info, content in members:
            packed.addfile(info, content)
    return path


def write_zip(path: Path, *members, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return path


def write_honest(path: Path) -> Path:
    if path.suffix == ".zip":
        return write_zip(path, *FILES.items())
    return write_tar(path, *(tar_file(*item) for item in FILES.items()), mode=TARS[path.name.partition(".")[2]])


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refuse(archive: Path, match: str, **limits) -> ReplirankError:
    """Nothing may have been written, neither inside the folder nor anywhere near it."""
    before = sorted(archive.parent.rglob("*"))
    with pytest.raises(ReplirankError, match=match) as caught:
        unpack(archive, archive.parent / "out", **limits)
    assert sorted(archive.parent.rglob("*")) == before
    assert caught.value.path == archive
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("suffix", [*TARS, "zip"])
def test_everything_comes_out_as_it_went_in(tmp_path, suffix):
    archive = write_honest(tmp_path / f"OHSUMED.{suffix}")
    assert unpack(archive, tmp_path / "new" / "out") == tmp_path / "new" / "out"
    assert content_of(tmp_path / "new" / "out") == FILES
    assert os.listdir(tmp_path / "new") == ["out"]


def test_the_first_bytes_count_and_not_the_name(tmp_path):
    zipped = write_honest(tmp_path / "a.zip").rename(tmp_path / "a.tar.gz")
    unpack(zipped, tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_in_a_zip(tmp_path, method):
    unpack(write_zip(tmp_path / "a.zip", *FILES.items(), method=method), tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


def test_folders_long_names_and_dots_before_names(tmp_path):
    long = "x" * 150 + "/" + "y" * 150 + ".txt"
    archive = write_tar(tmp_path / "a.tar", tar_other("./", tarfile.DIRTYPE), tar_other("./e", tarfile.DIRTYPE))
    with tarfile.open(archive, "a") as packed:
        packed.addfile(*tar_file(f"./{long}"))
    unpack(archive, tmp_path / "out")
    assert content_of(tmp_path / "out") == {long: ROW}
    assert (tmp_path / "out" / "e").is_dir()


def test_backslashes_separate(tmp_path):
    unpack(write_zip(tmp_path / "a.zip", ("MQ2008\\Fold1\\", b""), ("MQ2008\\Fold1\\train.txt", ROW)), tmp_path / "out")
    assert content_of(tmp_path / "out") == {"MQ2008/Fold1/train.txt": ROW}


def test_modes_are_not_carried_over_and_folders_are_not_private(tmp_path):
    unpack(write_tar(tmp_path / "a.tar", tar_file("run.sh", mode=0o4777)), tmp_path / "out")
    (tmp_path / "like").mkdir()
    (tmp_path / "like" / "file").touch()
    assert (tmp_path / "out" / "run.sh").stat().st_mode == (tmp_path / "like" / "file").stat().st_mode
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "like").stat().st_mode


def test_an_empty_folder_may_be_there_but_nothing_is_overwritten(tmp_path):
    archive = write_honest(tmp_path / "a.zip")
    (tmp_path / "out").mkdir()
    unpack(archive, tmp_path / "out")
    (tmp_path / "out" / "mine.txt").write_bytes(b"mine")
    with pytest.raises(ReplirankError, match="is there already"):
        unpack(archive, tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_bytes() == b"mine"


BAD_NAMES = ["../evil.txt", "a/../../evil.txt", "a/..", "..\\evil.txt", "C:\\evil.txt", "c:evil.txt", "\\evil.txt"]


@pytest.mark.parametrize("name", [*BAD_NAMES, "/tmp/evil.txt", "//evil.txt"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_no_member_leaves_the_folder(tmp_path, name, kind):
    (tmp_path / "in").mkdir()
    if kind == "tar":
        archive = write_tar(tmp_path / "in" / "a.tar", tar_file("good.txt"), tar_file(name))
    else:
        archive = write_zip(tmp_path / "in" / "a.zip", ("good.txt", ROW), (name, ROW))
    error = refuse(archive, "absolute path" if name[0] in "/\\Cc" else "would leave")
    assert repr(name) in str(error)
    assert os.listdir(tmp_path) == ["in"]


@settings(deadline=None)
@given(st.text(alphabet="ab./\\:~\u00e9", min_size=1, max_size=12))
def test_whatever_the_name_is_it_stays_inside_or_is_refused(name):
    with tempfile.TemporaryDirectory() as scratch:
        outer = Path(scratch) / "1" / "2" / "3" / "4" / "5" / "6"
        outer.mkdir(parents=True)
        archive = write_tar(outer / "x.tar", tar_file(name))
        try:
            unpack(archive, outer / "out")
        except ReplirankError:
            assert not (outer / "out").exists()
        else:
            assert list(content_of(outer / "out").values()) == [ROW]
        files = [path for path in Path(scratch).rglob("*") if path.is_file()]
        assert all(path == archive or path.is_relative_to(outer / "out") for path in files)


@pytest.mark.parametrize(
    ("kind", "goal", "why"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", "is a symbolic link"),
        (tarfile.SYMTYPE, "good.txt", "is a symbolic link"),
        (tarfile.LNKTYPE, "../a.tar", "is a hard link"),
        (tarfile.LNKTYPE, "good.txt", "is a hard link"),
        (tarfile.CHRTYPE, "", "is a special file"),
        (tarfile.BLKTYPE, "", "is a special file"),
        (tarfile.FIFOTYPE, "", "is a special file"),
    ],
)
def test_links_and_devices_in_a_tar(tmp_path, kind, goal, why):
    archive = write_tar(tmp_path / "a.tar", tar_file("good.txt"), tar_other("bad", kind, goal))
    assert "'bad'" in str(refuse(archive, why))


def test_a_file_written_through_a_link(tmp_path):
    (tmp_path / "outside").mkdir()
    link = tar_other("door", tarfile.SYMTYPE, str(tmp_path / "outside"))
    refuse(write_tar(tmp_path / "a.tar", link, tar_file("door/evil.txt")), "'door' is a symbolic link")


@pytest.mark.parametrize(("kind", "why"), [(stat.S_IFLNK, "symbolic link"), (stat.S_IFIFO, "special file")])
def test_links_and_pipes_in_a_zip(tmp_path, kind, why):
    info = zipfile.ZipInfo("bad")
    info.external_attr = (kind | 0o777) << 16
    refuse(write_zip(tmp_path / "a.zip", ("good.txt", ROW), (info, b"/etc/passwd")), f"'bad' is a {why}")


@pytest.mark.parametrize("again", ["S1.txt", "./S1.txt", "x//../S1.txt", ".\\S1.txt"])
def test_a_file_that_comes_twice(tmp_path, again):
    archive = write_tar(tmp_path / "a.tar", tar_file("S1.txt"), tar_file(again, b"other"))
    refuse(archive, "comes twice|would leave")


def test_a_file_that_comes_twice_in_a_zip(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = write_zip(tmp_path / "a.zip", ("S1.txt", ROW), ("S1.txt", b"other"))
    refuse(archive, r"'S1\.txt' comes twice")


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a")])
def test_a_file_where_a_folder_is(tmp_path, names):
    refuse(write_tar(tmp_path / "a.tar", *map(tar_file, names)), "'a/b' lies in what is a file|'a' comes twice")


def test_folders_may_come_twice(tmp_path):
    folder = tar_other("a", tarfile.DIRTYPE)
    unpack(write_tar(tmp_path / "a.tar", folder, folder, tar_file("a/b")), tmp_path / "out")
    assert content_of(tmp_path / "out") == {"a/b": ROW}


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.tar.xz", "bomb.tar.gz"])
def test_a_bomb_stops_at_the_limit(tmp_path, name):
    zeros = bytes(3 << 20)
    if name.endswith("zip"):
        archive = write_zip(tmp_path / name, *((f"{k}.txt", zeros) for k in range(3)))
    else:
        members = [tar_file(f"{k}.txt", zeros) for k in range(3)]
        archive = write_tar(tmp_path / name, *members, mode=TARS[name.removeprefix("bomb.")])
    assert archive.stat().st_size < 100_000
    refuse(archive, "more than 4,194,304 bytes", max_bytes=4 << 20)
    unpack(archive, tmp_path / "out", max_bytes=10 << 20)
    assert sum(map(len, content_of(tmp_path / "out").values())) == 9 << 20


@pytest.mark.parametrize("claimed", [100, 2 << 20])
def test_a_zip_that_lies_about_a_size_is_damaged(tmp_path, claimed):
    archive = write_zip(tmp_path / "a.zip", ("S1.txt", bytes(1 << 20)))
    real = (1 << 20).to_bytes(4, "little")
    assert archive.read_bytes().count(real) == 2
    archive.write_bytes(archive.read_bytes().replace(real, claimed.to_bytes(4, "little")))
    refuse(archive, "damaged or truncated", max_bytes=max(claimed, 1000))


def test_a_bomb_behind_the_end_of_a_tar(tmp_path):
    whole = gzip.decompress(write_honest(tmp_path / "x.tar.gz").read_bytes())
    (tmp_path / "x.tar.gz").unlink()
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(whole + bytes(8 << 20)))
    refuse(tmp_path / "a.tar.gz", "more than", max_bytes=1 << 20)


def test_a_tar_header_too_large_for_memory(tmp_path):
    archive = write_tar(tmp_path / "a.tar.gz", tar_file("n" * (9 << 20)), mode="w:gz")
    refuse(archive, "damaged or truncated .*header")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_too_many_files_and_folders(tmp_path, kind):
    names = [f"a/{k}.txt" for k in range(9)]
    if kind == "tar":
        archive = write_tar(tmp_path / "a.tar", *map(tar_file, names))
    else:
        archive = write_zip(tmp_path / "a.zip", *((name, ROW) for name in names))
    refuse(archive, "more than 9 files and folders", max_files=9)
    unpack(archive, tmp_path / "out", max_files=10)
    assert sorted(content_of(tmp_path / "out")) == names


@pytest.mark.parametrize("suffix", [*TARS, "zip"])
def test_a_truncated_archive_wherever_it_ends(tmp_path, suffix):
    noise = tar_file("S1.txt", NOISE[:3000]), tar_file("S2.txt", NOISE[3000:6000])
    archive = tmp_path / f"a.{suffix}"
    if suffix == "zip":
        write_zip(archive, *((info.name, content.getvalue()) for info, content in noise))
    else:
        write_tar(archive, *noise, mode=TARS[suffix])
    whole = archive.read_bytes()
    # A tar's end is two blocks of zeros and then padding, of which some may be lost without harm.
    end = len(whole.rstrip(b"\0")) if suffix == "tar" else len(whole) - 1
    members_only = 2 * (512 + 3072)  # of a tar: both are whole, but it cannot be seen that there was no third
    for length in [*range(0, end, 257), 512 + 3072, min(members_only, len(whole) - 1), end]:
        archive.write_bytes(whole[:length])
        refuse(archive, r"the archive is damaged or truncated \(.+\)")


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_damage_in_the_middle(tmp_path, suffix, compress):
    archive = tmp_path / f"a.tar.{suffix}"
    tar = write_tar(tmp_path / "x", tar_file("S1.txt", NOISE))
    data = bytearray(compress(tar.read_bytes()))
    tar.unlink()
    data[len(data) // 2] ^= 255
    archive.write_bytes(data)
    refuse(archive, "damaged or truncated")


def test_a_damaged_header_is_not_taken_for_the_end(tmp_path):
    archive = write_tar(tmp_path / "a.tar", tar_file("S1.txt"), tar_file("S2.txt"))
    data = bytearray(archive.read_bytes())
    data[1024 + 100] ^= 1
    archive.write_bytes(data)
    refuse(archive, r"damaged or truncated \(bad checksum\)")


def test_a_negative_size_in_a_tar_header(tmp_path):
    archive = write_tar(tmp_path / "a.tar", tar_file("S1.txt"), tar_file("S2.txt"))
    data = bytearray(archive.read_bytes())
    data[124:136] = (-1024).to_bytes(12, "big", signed=True)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    archive.write_bytes(data)
    refuse(archive, "damaged or truncated")


def test_not_an_archive(tmp_path):
    for name, text in (("a.zip", b"<html>404</html>" * 99), ("a.tar.gz", b"<html>404</html>" * 99), ("b.tar", b"")):
        (tmp_path / name).write_bytes(text)
        refuse(tmp_path / name, "damaged or truncated")


def test_rar_and_7z_whatever_they_are_called(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for head in (b"Rar!\x1a\x07\x01\x00", b"7z\xbc\xaf\x27\x1c\x00\x04"):
        (tmp_path / "a.zip").write_bytes(head + bytes(100))
        error = refuse(tmp_path / "a.zip", "rar and 7z archives are unpacked by another program, and none is on the")
        assert "install bsdtar, unar, 7z or unrar" in error.remedy
        with pytest.raises(ReplirankError, match="none is on the PATH"):
            folders_in(tmp_path / "a.zip", 4)


@pytest.mark.parametrize("program", ["bsdtar", "unar", "7z", "unrar"])
def test_rar_and_7z_by_whichever_program_there_is(tmp_path, monkeypatch, program):
    stub_programs(monkeypatch, tmp_path / "bin", program)
    texts = {name: content.decode() for name, content in FILES.items()}
    archive = write_foreign(tmp_path / "Gov.rar", {"empty/": None, **texts})
    assert content_of(unpack(archive, tmp_path / "out")) == FILES
    assert (tmp_path / "out/empty").is_dir()
    assert folders_in(archive, 4) == {"OHSUMED", "QueryLevelNorm", "Fold1"}
    assert folders_in(archive, 1) == {"OHSUMED"}


def test_modes_in_a_rar_are_not_carried_over(tmp_path, monkeypatch):
    stub_programs(monkeypatch, tmp_path / "bin", "bsdtar")
    archive = write_foreign(tmp_path / "a.rar", {"d/S1.txt": "1"})
    unpack(archive, tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out/d/S1.txt").stat().st_mode) == 0o644  # the stub gives it 0o400


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../evil.txt": "x"}, "'../evil.txt' would leave the folder"),
        ({"/tmp/evil.txt": "x"}, "'/tmp/evil.txt' has an absolute path"),
        ({"S1.txt": "x", "link": {"symlink": "/etc"}}, "'link' is a symbolic link"),
        ({"S1.txt": "x", "S2.txt": {"link": "S1.txt"}}, "is a hard link"),
        ({"pipe": {"fifo": ""}}, "'pipe' is a special file"),
        ({"S1.txt": "x" * 101}, "holds more than 100 bytes"),
        ({"a/b/c/d/S1.txt": "x"}, "holds more than 4 files"),
    ],
)
def test_a_malicious_rar(tmp_path, monkeypatch, members, message):
    stub_programs(monkeypatch, tmp_path / "bin", "bsdtar")
    refuse(write_foreign(tmp_path / "a.rar", members), message, max_bytes=100, max_files=4)


def test_a_damaged_rar_quotes_what_the_program_says(tmp_path, monkeypatch):
    stub_programs(monkeypatch, tmp_path / "bin", "unrar")
    archive = write_foreign(tmp_path / "a.rar", {"S1.txt": "1"}, damaged_for=["unrar"])
    refuse(archive, r"damaged.*\(unrar says: CRC failed in S1.txt\)")


def test_a_program_that_cannot_read_this_kind_leaves_it_to_the_next(tmp_path, monkeypatch):
    stub_programs(monkeypatch, tmp_path / "bin", "bsdtar", "7z")
    archive = write_foreign(tmp_path / "a.rar", {"S1.txt": "1"}, damaged_for=["bsdtar"])
    assert content_of(unpack(archive, tmp_path / "out")) == {"S1.txt": b"1"}
    assert folders_in(archive, 4) == set()


def test_a_real_7z(tmp_path):
    commands = {"bsdtar": ["--format=7zip", "-cf"], "7z": ["a"]}
    makers = [name for name in commands if shutil.which(name)]
    if not makers:
        pytest.skip("neither bsdtar nor 7z is installed")
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for maker in makers:
        archive = tmp_path / f"{maker}.7z"
        subprocess.run([maker, *commands[maker], archive, "OHSUMED"], cwd=tmp_path, check=True, capture_output=True)
        assert content_of(unpack(archive, tmp_path / f"{maker}-out")) == FILES
        assert folders_in(archive, 4) == {"OHSUMED", "QueryLevelNorm", "Fold1"}


def test_an_encrypted_zip(tmp_path):
    archive = write_zip(tmp_path / "a.zip", ("S1.txt", ROW))
    data = bytearray(archive.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    refuse(archive, "is encrypted")


def test_no_archive_and_names_too_long_for_the_disk(tmp_path):
    with pytest.raises(ReplirankError, match="cannot be unpacked"):
        unpack(tmp_path / "gone.zip", tmp_path / "out")
    refuse(write_tar(tmp_path / "a.tar", tar_file("n" * 300)), "cannot be unpacked")


def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch):
    archive = write_honest(tmp_path / "a.zip")
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        unpack(archive, tmp_path / "out")
    assert os.listdir(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("suffix", ["zip", "tar", "tar.xz"])
def test_the_folders_in_an_archive(tmp_path, suffix):
    archive = write_honest(tmp_path / f"a.{suffix}")
    assert folders_in(archive, 4) == {"OHSUMED", "QueryLevelNorm", "Fold1"}
    assert folders_in(archive, 2) == {"OHSUMED", "QueryLevelNorm"}
