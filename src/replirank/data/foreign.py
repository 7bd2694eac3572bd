"""Archives for which Python has no reader, rar and 7z: listed and unpacked by a program that is on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from replirank.errors import ReplirankError

SUFFIXES = (".rar", ".7z")
MAGIC = (b"Rar!", b"7z\xbc\xaf\x27\x1c")


class Program(NamedTuple):
    """What lists an archive, and what unpacks it into the working folder: commands without the archive's path."""

    show: tuple[str, ...]
    extract: tuple[str, ...]
    members: Callable[[list[str]], list[str]] = lambda lines: lines  # the names in the lines that `show` prints

    @property
    def name(self) -> str:
        return self.extract[0]


PROGRAMS = (
    Program(("bsdtar", "-tf"), ("bsdtar", "-xf")),
    # The first line that lsar prints is about the archive itself.
    Program(("lsar",), ("unar", "-quiet", "-force-overwrite", "-no-directory"), lambda lines: lines[1:]),
    Program(
        ("7z", "l", "-ba", "-slt"),
        ("7z", "x", "-y"),
        lambda lines: [line.removeprefix("Path = ") for line in lines if line.startswith("Path = ")],
    ),
    Program(("unrar", "lb", "-p-"), ("unrar", "x", "-idq", "-p-", "-o+")),
)


class _FailedError(Exception):
    """A program could not do it; its last words."""


def programs() -> list[Program]:
    """The programs that are on the PATH."""
    return [program for program in PROGRAMS if shutil.which(program.show[0]) and shutil.which(program.extract[0])]


def is_foreign(archive: Path) -> bool:
    """Whatever the name, the first bytes tell."""
    with archive.open("rb") as file:
        return file.read(8).startswith(MAGIC)


def names_in(archive: Path) -> list[str]:
    """The paths of the members."""

    def show(program: Program) -> list[str]:
        return program.members(_run(program.show, archive, archive.parent))

    return _by_the_first_that_can(archive, show)


def extract(archive: Path, folder: Path) -> None:
    """Unpack into the empty folder. Whoever calls this checks the names before and what was written afterwards."""

    def extract(program: Program) -> list[str]:
        for left in list(folder.iterdir()):  # by a program that failed
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        return _run(program.extract, archive, folder)

    _by_the_first_that_can(archive, extract)


def no_program(archive: Path) -> ReplirankError:
    return ReplirankError(
        "rar and 7z archives are unpacked by another program, and none is on the PATH",
        path=archive,
        remedy=f"install {', '.join(program.name for program in PROGRAMS[:-1])} or {PROGRAMS[-1].name}; "
        f"or unpack it by hand into data/{archive.stem}/",
    )


def _by_the_first_that_can(archive: Path, action: Callable[[Program], list[str]]) -> list[str]:
    """Not every program reads every kind of rar: the next one may."""
    failures = []
    for program in programs():
        try:
            return action(program)
        except _FailedError as error:
            failures.append(f"{program.name} says: {error}")
    if not failures:
        raise no_program(archive)
    raise ReplirankError(
        f"the archive is damaged, or of a kind that cannot be read here ({'; '.join(failures)})",
        path=archive,
        remedy="fetch it again, or unpack it by hand",
    )


def _run(command: tuple[str, ...], archive: Path, folder: Path) -> list[str]:
    """The lines that the program prints. Without a terminal, so that it cannot ask for a password."""
    done = subprocess.run(
        [*command, str(archive.absolute())],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        words = [line.strip() for line in (done.stderr.strip() or done.stdout.strip()).splitlines()]
        raise _FailedError(words[-1] if words else f"nothing, and ended with code {done.returncode}")
    return [line for line in done.stdout.splitlines() if line.strip()]
