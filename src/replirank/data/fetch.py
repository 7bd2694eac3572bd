"""Fetches a data set from its public copies: file by file, each verified by a hash, and the whole or nothing."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from replirank.data.download import Unreachable, download
from replirank.data.sources import Source, SourceFile
from replirank.errors import ReplirankError

# How often progress is reported, in seconds.
INTERVAL = 2.0

Report = Callable[[str], None]
Check = Callable[[Path], None]


@dataclass
class Network:
    """What a run knows of the network. Make one for all data sets that a run fetches.

    If the first host cannot be reached, the run is offline: that is reported once, and nothing more is tried. Once a
    host has answered, another that cannot be reached is only a source that failed.
    """

    connect_timeout: float = 5.0
    timeout: float = 20.0
    retries: int = 2
    wait: Callable[[float], None] = time.sleep
    answered: bool = False
    offline: str = ""  # why
    said: set[str] = field(default_factory=set)

    def say_once(self, line: str, report: Report) -> None:
        if line not in self.said:
            self.said.add(line)
            report(line)

    def require(self, source: Source) -> None:
        """Raise at once if this run is offline."""
        if self.offline:
            raise Unreachable(f"{source.id} is not fetched: no network ({self.offline})", why=self.offline)

    def get(self, file: SourceFile, path: Path, label: str, report: Report) -> None:
        """Download one file."""
        try:
            download(
                file.url,
                path,
                sha256=file.checksum.sha256,
                git_blob=file.checksum.git_blob,
                size=file.checksum.size,
                retries=self.retries,
                connect_timeout=self.connect_timeout,
                timeout=self.timeout,
                progress=Progress(label, file.checksum.size, report),
                wait=self.wait,
            )
        except Unreachable as error:
            if not self.answered:
                self.offline = error.why
                self.say_once(f"no network: {error.why}; going on with what is at hand", report)
            raise
        except ReplirankError:
            self.answered = True
            raise
        self.answered = True


class Progress:
    """Reports bytes and rate, every two seconds and at the end. The rate is that since the first byte of this run."""

    def __init__(self, label: str, size: int | None, report: Report, clock: Callable[[], float] = time.monotonic):
        self.label, self.size, self.report, self.clock = label, size, report, clock
        self.start: tuple[float, int] | None = None  # when, and the bytes that were there already
        self.last = 0.0

    def __call__(self, done: int, total: int | None) -> None:
        now, total = self.clock(), total or self.size
        if self.start is None or done < self.start[1]:  # a download that cannot be resumed starts again
            self.start, self.last = (now, done), now
        if done != total and now - self.last < INTERVAL:
            return
        self.last = now
        seconds, received = now - self.start[0], done - self.start[1]
        rate = f", {received / seconds / 1e6:,.1f} MB/s" if seconds > 0 else ""
        of = f" of {total / 1e6:,.1f}" if total else ""
        self.report(f"{self.label}: {done / 1e6:,.1f}{of} MB{rate}")


def fetch(source: Source, folder: str | os.PathLike, *, check: Check, network: Network, report: Report) -> Path:
    """Fetch a data set into the new folder `folder`; where the source is an archive, into a file beside it.

    `check(path)` gets the folder with the files before it has its name, and raises a ReplirankError if they are not the
    data set that they are meant to be; then other copies are tried. An archive is verified by its hash alone. What a
    run that was cut off has received stays in the hidden folder .fetch beside `folder`, and the next run resumes.

    Raises Unreachable if there is no network, else a ReplirankError that says what failed.
    """
    folder = Path(folder)
    if not source.files and not source.archives:
        raise ReplirankError(f"{source.id} cannot be fetched: {source.why}", remedy=_by_hand(source, folder))
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ReplirankError(f"{source.id} is there already", path=folder, remedy="remove it to fetch it again")
    network.require(source)
    network.say_once(f"{source.terms} ({source.page})", report)
    if source.archives:
        return _fetch_archive(source, folder, network, report)
    return _fetch_files(source, folder, check, network, report)


def _fetch_archive(source: Source, folder: Path, network: Network, report: Report) -> Path:
    (name, copies), *_ = source.archives.items()
    _fetch_one(source, folder, name, folder.parent / name, copies, network, report)
    return folder.parent / name


def _fetch_files(source: Source, folder: Path, check: Check, network: Network, report: Report) -> Path:
    staged = folder.parent / ".fetch" / folder.name
    left = dict(source.files)
    while True:
        used = {
            name: _fetch_one(source, folder, name, staged / name, copies, network, report)
            for name, copies in left.items()
        }
        try:
            check(staged)
        except ReplirankError as error:
            left = {name: _others(copies, used[name]) for name, copies in left.items()}
            _refuse(source, folder, staged, used, error, more=all(left.values()), report=report)
        else:
            return _publish(staged, folder, source.files)


def _fetch_one(
    source: Source,
    folder: Path,
    name: str,
    path: Path,
    copies: tuple[SourceFile, ...],
    network: Network,
    report: Report,
) -> SourceFile:
    """Fetch one file from the first copy that gives it; that copy."""
    for file in copies:
        if file.checksum.matches(path):
            return file
    failure: ReplirankError | None = None
    for file in copies:
        report(f"{source.id}: fetching {file.url}")
        try:
            network.get(file, path, f"{source.id}: {name}", report)
            return file
        except ReplirankError as error:
            network.require(source)
            report(f"{source.id}: {error.what}")
            failure = error
    raise ReplirankError(
        f"{source.id} could not be fetched: none of {len(copies)} source(s) gave {name}; the last one: "
        + (failure.what if failure else "none is known"),
        path=folder,
        remedy=f"run this again, what has arrived is kept; or {_by_hand(source, folder)}",
    ) from failure


def _others(copies: tuple[SourceFile, ...], used: SourceFile) -> tuple[SourceFile, ...]:
    """The copies with other content: the same bytes would be refused again."""
    return tuple(file for file in copies if file.checksum != used.checksum)


def _refuse(
    source: Source,
    folder: Path,
    staged: Path,
    used: Mapping[str, SourceFile],
    error: ReplirankError,
    *,
    more: bool,
    report: Report,
) -> None:
    """Remove what arrived and is not the data set. An error if there are no more copies to try."""
    shutil.rmtree(staged)
    _remove_if_empty(staged.parent)
    origins = " and ".join(dict.fromkeys(file.origin for file in used.values()))
    what = f"what arrived from {origins} is not {source.id}: {error.what}"
    if not more:
        raise ReplirankError(what, path=folder, remedy=_by_hand(source, folder)) from error
    report(f"{source.id}: {what}; trying other copies")


def _publish(staged: Path, folder: Path, names: Mapping[str, object]) -> Path:
    """Give the folder its name in one step."""
    for path in [path for path in staged.rglob("*") if path.is_file()]:
        if str(path.relative_to(staged)) not in names:  # left by a run with another list of sources
            path.unlink()
    try:
        os.replace(staged, folder)
    except OSError as error:
        raise ReplirankError(
            f"the files cannot be put there: {error}", path=folder, remedy="see that the folder can be written"
        ) from error
    _remove_if_empty(staged.parent)
    return folder


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # other data sets may have files in it
        folder.rmdir()


def _by_hand(source: Source, folder: Path) -> str:
    return f"get it from its makers' page ({source.page}) and put it into {folder.parent}/"
