"""Unpacks archives that are not trusted: completely or not at all, within limits, and never outside the target."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import secrets
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from replirank.data import foreign
from replirank.errors import ReplirankError

CHUNK = 1 << 20
MAX_BYTES = 64 << 30
MAX_FILES = 100_000

# tarfile reads a header, with its long names and other properties, into memory at once. No honest one is this long.
MAX_HEADER = 1 << 20

# What the first bytes of a file say about it.
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


class Member(NamedTuple):
    """One entry of an archive. `kind` is "file", "folder", or the kind of entry that is refused.

    `open` works only until the next member is asked for, since a tar is read as a stream.
    """

    name: str
    kind: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]] | None = None


def unpack(
    archive: str | os.PathLike, target: str | os.PathLike, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES
) -> Path:
    """Unpack a tar (plain, gz, bz2, xz), zip, rar or 7z into the new folder `target`.

    Links and special files are refused. So is a file that comes twice, since it is unclear which of the two is meant.
    The limits apply to what is really written. Owners, modes and times are not carried over.

    tarfile's data filter cannot replace these checks: it accepts links inside the target and duplicates, and makes
    absolute paths relative instead of refusing them. For zip there is no such filter.

    rar and 7z are unpacked by another program: names are checked before, kinds and sizes once they are written.
    """
    archive, target = Path(archive), Path(target)
    if target.is_symlink() or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
        raise ReplirankError("is there already", path=target, remedy="remove it, or choose another folder")
    # Not tempfile.mkdtemp: its folders are private, but all who may read the parent folder may read the data.
    temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}"
    try:
        with _errors_explained(archive):
            temporary.mkdir(parents=True)
            budget = _Budget(archive, max_bytes, max_files)
            (_extract_foreign if foreign.is_foreign(archive) else _write_all)(archive, temporary, budget)
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def folders_in(archive: str | os.PathLike, depth: int) -> frozenset[str]:
    """The names of the folders in an archive, down to `depth` levels. A compressed tar has to be read to its end."""
    archive = Path(archive)
    found: set[str] = set()
    with _errors_explained(archive):
        if foreign.is_foreign(archive):
            return frozenset(part for name in foreign.names_in(archive) for part in _parts(name)[:-1][:depth])
        for member in _members(archive):
            parts = _parts(member.name)
            found.update(parts[:depth] if member.kind == "folder" else parts[:-1][:depth])
    return frozenset(found)


class _Budget:
    """Counts what is written, and raises an error when it is more than allowed."""

    def __init__(self, archive: Path, max_bytes: int, max_files: int):
        self.archive, self.max_bytes, self.max_files = archive, max_bytes, max_files
        self.bytes = self.files = 0

    def spend(self, *, size: int = 0, files: int = 0) -> None:
        self.bytes += size
        self.files += files
        if self.bytes > self.max_bytes:
            self._refuse(f"holds more than {self.max_bytes:,} bytes", "max_bytes")
        if self.files > self.max_files:
            self._refuse(f"holds more than {self.max_files:,} files and folders", "max_files")

    def _refuse(self, what: str, limit: str) -> None:
        raise ReplirankError(
            f"the archive {what}", path=self.archive, remedy=f"see whether it is the right one; else raise {limit}"
        )


def _write_all(archive: Path, folder: Path, budget: _Budget) -> None:
    for member in _members(archive, budget):
        parts = _safe_parts(archive, member)
        # Each level on its own, so that folders without an entry of their own are counted as well.
        for level in range(1, len(parts) + (member.kind == "folder")):
            _make_folder(archive, folder.joinpath(*parts[:level]), member, budget)
        if member.kind == "file":
            budget.spend(files=1)
            _write_file(archive, folder.joinpath(*parts), member, budget)


def _extract_foreign(archive: Path, folder: Path, budget: _Budget) -> None:
    for name in foreign.names_in(archive):
        _safe_parts(archive, Member(name, "folder", 0))
    foreign.extract(archive, folder)
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            found = path.lstat()
            _safe_parts(archive, Member(str(path.relative_to(folder)), _kind_on_disk(found), found.st_size))
            budget.spend(files=1, size=0 if path.is_dir() else found.st_size)
            path.chmod(0o755 if path.is_dir() else 0o644)


def _kind_on_disk(found: os.stat_result) -> str:
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    if stat.S_ISREG(found.st_mode):
        return "file" if found.st_nlink == 1 else "hard link"
    return "symbolic link" if stat.S_ISLNK(found.st_mode) else "special file"


def _make_folder(archive: Path, folder: Path, member: Member, budget: _Budget) -> None:
    if folder.is_dir():
        return
    budget.spend(files=1)
    try:
        folder.mkdir()
    except FileExistsError:
        raise _refused(archive, member, "lies in what is a file elsewhere in the archive") from None


def _write_file(archive: Path, path: Path, member: Member, budget: _Budget) -> None:
    written = 0
    try:
        output = path.open("xb")
    except FileExistsError:
        raise _refused(archive, member, "comes twice") from None
    with output, member.open() as source:
        while chunk := source.read(CHUNK):
            budget.spend(size=len(chunk))
            written += len(chunk)
            output.write(chunk)
    if written != member.size:
        raise EOFError(f"{member.name!r} has {written} of {member.size} bytes")


def _parts(name: str) -> list[str]:
    """The folders of a member's name, and the name itself. Some Windows programs separate them by backslashes."""
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _safe_parts(archive: Path, member: Member) -> list[str]:
    """The parts of the member's path below the target; an error if it is not safe to write there."""
    parts = _parts(member.name)
    if member.kind not in ("file", "folder"):
        raise _refused(archive, member, f"is a {member.kind}")
    if re.match(r"[/\\]|[A-Za-z]:", member.name):
        raise _refused(archive, member, "has an absolute path")
    if ".." in parts:
        raise _refused(archive, member, "would leave the folder it is unpacked into")
    if "\0" in member.name or (member.kind == "file" and not parts):
        raise _refused(archive, member, "has no usable name")
    return parts


def _refused(archive: Path, member: Member, why: str) -> ReplirankError:
    return ReplirankError(
        f"refused, since the member {member.name!r} {why}",
        path=archive,
        remedy="do not trust this archive; fetch it from its publisher and compare its sha256",
    )


def _members(archive: Path, budget: _Budget | None = None) -> Iterator[Member]:
    """The entries in their order. The first bytes tell the format; the archive's name may be wrong."""
    with archive.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"PK") or archive.suffix.lower() == ".zip":
        return _zip_members(archive)
    opener = next((opener for magic, opener in COMPRESSED.items() if head.startswith(magic)), open)
    return _tar_members(archive, opener, budget)


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            if info.flag_bits & 1:
                raise ReplirankError("is encrypted", path=archive, remedy="unpack it by hand")
            yield Member(info.filename, _zip_kind(info), info.file_size, lambda info=info: packed.open(info))


def _zip_kind(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "symbolic link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "special file"
    return "folder" if kind == stat.S_IFDIR or info.filename.endswith(("/", "\\")) else "file"


def _tar_members(archive: Path, opener: Callable[..., IO[bytes]], budget: _Budget | None) -> Iterator[Member]:
    with opener(archive, "rb") as stream:
        limited = _LimitedStream(stream)
        with tarfile.open(fileobj=limited, mode="r|", tarinfo=_StrictInfo) as packed:
            for info in packed:
                limited.allow(info.size)
                yield Member(info.name, _tar_kind(info), info.size, lambda info=info: packed.extractfile(info))
        # The checksum of a compressed file is checked only at its end, which comes after the end of the tar in it.
        while chunk := stream.read(CHUNK):
            if budget:
                budget.spend(size=len(chunk))


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.isdir():
        return "folder"
    if info.issym() or info.islnk():
        return "symbolic link" if info.issym() else "hard link"
    return "file" if info.isreg() and not info.issparse() else "special file"


class _LimitedStream:
    """A stream from which no more can be read than the content of one member and the longest allowed header."""

    def __init__(self, stream: IO[bytes]):
        self.stream = stream
        self.allow(0)

    def allow(self, size: int) -> None:
        self.left = max(size, 0) + MAX_HEADER + tarfile.RECORDSIZE

    def read(self, size: int) -> bytes:
        chunk = self.stream.read(size)
        self.left -= len(chunk)
        if self.left < 0:
            raise tarfile.ReadError("a header without end")
        return chunk


class _StrictInfo(tarfile.TarInfo):
    """A broken or missing header is an error. tarfile takes it for the end of the archive, unless it is the first."""

    @classmethod
    def fromtarfile(cls, packed: tarfile.TarFile) -> tarfile.TarInfo:
        try:
            return super().fromtarfile(packed)
        except tarfile.EOFHeaderError:  # the block of zeros with which every complete tar ends
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error) or "no end") from None


@contextmanager
def _errors_explained(archive: Path) -> Iterator[None]:
    """Turn the different errors of the libraries used here into ReplirankErrors."""
    damage = (EOFError, RuntimeError, NotImplementedError, ValueError, struct.error, zlib.error, lzma.LZMAError)
    try:
        yield
    except (*damage, tarfile.TarError, zipfile.BadZipFile) as error:
        raise _damaged(archive, error) from error
    except OSError as error:
        if error.errno is None:  # gzip and bz2 raise it without a number for bad data
            raise _damaged(archive, error) from error
        raise ReplirankError(
            f"cannot be unpacked: {error}",
            path=archive,
            remedy="see that the archive can be read and that there is room for what is in it",
        ) from error


def _damaged(archive: Path, error: Exception) -> ReplirankError:
    return ReplirankError(
        f"the archive is damaged or truncated ({error})",
        path=archive,
        remedy="fetch it again, or compare its sha256 with the publisher's",
    )
