"""Finds the text files of a data set in an unpacked LETOR folder: files of folds, or parts to be rotated into folds.

A data set of one's own may also be a single file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from replirank.errors import ReplirankError

# A whole LETOR 3.0 unpacks to LETOR3.0/Gov/QueryLevelNorm/2003_td_dataset: four levels down.
DEPTH = 4

# The papers' numbers are for features scaled within each query.
PREFERRED = "querylevelnorm"

SPLITS = {
    "train": ("train", "training", "trainset", "trainingset"),
    "vali": ("vali", "valid", "validation", "valiset", "validset", "validationset"),
    "test": ("test", "testset"),
}
FOLD = re.compile(r"fold_?(\d{1,3})")
PART = re.compile(r"s(\d{1,3})")
TEXT = (".txt", ".dat", ".letor", ".svm", ".svmlight")  # how a single file of one's own may end
ROW = re.compile(rb"\s*[-+.\deE]+\s+qid:\S")


class FoldFiles(NamedTuple):
    """The files of one fold. Validation may be missing only where there is one train and one test file and no folds."""

    train: Path
    vali: Path | None
    test: Path


@dataclass(frozen=True)
class Layout:
    """One of three: `folds`, the files of each fold; `parts`, the files S1..Sn in order; `whole`, a single file."""

    folder: Path
    folds: tuple[FoldFiles, ...] = ()
    parts: tuple[Path, ...] = ()
    whole: Path | None = None


def normalized_name(name: str) -> str:
    """A name without what differs between copies of a data set: case, and hyphens or underscores.

    >>> normalized_name("MQ2008-list") == normalized_name("mq2008_LIST")
    True
    """
    return name.casefold().replace("-", "_")


class Listing:
    """The folders and files in folders, sorted; each folder is read once. Without hidden entries and __MACOSX."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[Path], list[Path]]] = {}

    def folders(self, folder: Path) -> list[Path]:
        return self._entries(folder)[0]

    def files(self, folder: Path) -> list[Path]:
        return self._entries(folder)[1]

    def _entries(self, folder: Path) -> tuple[list[Path], list[Path]]:
        if folder not in self._known:
            self._known[folder] = _list_folder(folder)
        return self._known[folder]


def find_layout(folder: str | os.PathLike, names: Iterable[str] = (), parts: Collection[int] = ()) -> Layout:
    """The layout in `folder` or up to four levels below; or `folder` is itself the single file of a data set.

    If a subfolder has one of `names`, only that one is searched: a bundle such as Gov holds several data sets. If none
    has, the whole folder is searched, since the archive of a single data set may have a top folder of any name.

    `parts` are the numbers of the parts S1..Sn that a copy has, where it has not all; these may be fewer than 3.
    """
    folder, listing = Path(folder), Listing()
    if is_single_file(folder):
        return Layout(folder.parent, whole=folder)
    if not folder.is_dir():
        raise ReplirankError("there is no such folder", path=folder, remedy="unpack the data set there")
    tops = _named_folders(folder, names, listing) or [folder]
    found = unique_folders(place for top in tops for place in _data_folders(top, listing))
    if not found:
        single = [file for file in listing.files(folder) if file.suffix.lower() in TEXT and starts_like_letor(file)]
        if len(single) == 1:
            return Layout(folder, whole=single[0])
        raise ReplirankError(
            "no LETOR text here: looked for Fold1..n/{train,vali,test}.txt, S1..Sn.txt and {train,vali,test}.txt, "
            f"down to {DEPTH} levels, and for a single file",
            path=folder,
            remedy="unpack the data set's archive into this folder",
        )
    if len(found) > 1:
        raise ReplirankError(
            "several data sets, or several versions of one, lie here: "
            + ", ".join(str(place.relative_to(folder)) for place in found),
            path=folder,
            remedy="keep one of them, or point to its folder",
        )
    return _read_layout(found[0], listing, parts)


def holds_letor(folder: Path, listing: Listing | None = None) -> bool:
    """Does the folder have a layout, complete or not, with a file that starts like LETOR text?"""
    listing = listing or Listing()
    return any(
        starts_like_letor(file) for place in _data_folders(folder, listing) for file in _data_files(place, listing)
    )


def is_single_file(path: Path) -> bool:
    """Is this LETOR text, by its name or by its first row, and not an archive or a folder?"""
    return path.is_file() and (path.suffix.lower() in TEXT or starts_like_letor(path))


def is_preferred(folder: Path) -> bool:
    return normalized_name(folder.name).replace("_", "") == PREFERRED


def unique_folders(folders: Iterable[Path]) -> list[Path]:
    """Each folder once, even if several links lead to it."""
    found: dict[str, Path] = {}
    for folder in folders:
        found.setdefault(os.path.realpath(folder), folder)
    return list(found.values())


def _list_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    folders, files = [], []
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except (PermissionError, FileNotFoundError):
        return folders, files
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__MACOSX":
            continue
        try:
            if entry.is_file():
                files.append(folder / entry.name)
            elif entry.is_dir() and not _leads_back(entry):
                folders.append(folder / entry.name)
        except OSError:  # a link to itself
            continue
    return folders, files


def _leads_back(entry: os.DirEntry) -> bool:
    """Is this a link to a folder that contains the link itself? To follow it would never end."""
    if not entry.is_symlink():
        return False
    target, parent = os.path.realpath(entry.path), os.path.realpath(os.path.dirname(entry.path))
    return Path(parent).is_relative_to(target)


def _search(folder: Path, wanted: Callable[[Path], bool], listing: Listing, depth: int = DEPTH) -> list[Path]:
    """The topmost wanted folders. If a folder QueryLevelNorm has any, then only those in it."""
    below = listing.folders(folder) if depth else []
    for child in filter(is_preferred, below):
        if found := _search(child, wanted, listing, depth - 1):
            return found
    if wanted(folder):
        return [folder]
    return [hit for child in below for hit in _search(child, wanted, listing, depth - 1)]


def _named_folders(folder: Path, names: Iterable[str], listing: Listing) -> list[Path]:
    """Subfolders with one of the names and with data in them; not `folder` itself, whatever its name."""
    known = {normalized_name(name) for name in names}

    def wanted(place: Path) -> bool:
        return place != folder and normalized_name(place.name) in known and bool(_data_folders(place, listing))

    return _search(folder, wanted, listing) if known else []


def _data_folders(folder: Path, listing: Listing) -> list[Path]:
    """Folders with folds, parts, or a train and a test file; if there are none, those with only one of the two."""

    def has_data_set(place: Path) -> bool:
        splits = _splits(place, listing)
        return bool(_filled_folds(place, listing) or _parts(place, listing) or (splits["train"] and splits["test"]))

    def has_one_split(place: Path) -> bool:
        splits = _splits(place, listing)
        return bool(splits["train"] or splits["test"])

    return _search(folder, has_data_set, listing) or _search(folder, has_one_split, listing)


def _splits(folder: Path, listing: Listing) -> dict[str, list[Path]]:
    """The files of each split, of which there should be one."""
    found: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for file in _text_files(folder, listing):
        for split, names in SPLITS.items():
            if normalized_name(file.stem).replace("_", "") in names:
                found[split].append(file)
    return found


def _text_files(folder: Path, listing: Listing) -> Iterator[Path]:
    return (file for file in listing.files(folder) if file.suffix.lower() == ".txt")


def _numbered(pattern: re.Pattern, named: Iterable[tuple[str, Path]]) -> dict[int, list[Path]]:
    """The paths whose names match, by the number in the name."""
    found: dict[int, list[Path]] = {}
    for name, path in named:
        if match := pattern.fullmatch(normalized_name(name)):
            found.setdefault(int(match[1]), []).append(path)
    return dict(sorted(found.items()))


def _folds(folder: Path, listing: Listing) -> dict[int, list[Path]]:
    return _numbered(FOLD, ((path.name, path) for path in listing.folders(folder)))


def _filled_folds(folder: Path, listing: Listing) -> list[Path]:
    """Fold folders with data in them: LETOR's folders of baseline results also have folders Fold1..5, without data."""
    folds = [fold for paths in _folds(folder, listing).values() for fold in paths]
    return [fold for fold in folds if any(_splits(fold, listing).values())]


def _parts(folder: Path, listing: Listing) -> dict[int, list[Path]]:
    return _numbered(PART, ((path.stem, path) for path in _text_files(folder, listing)))


def _data_files(folder: Path, listing: Listing) -> Iterator[Path]:
    for place in (*_filled_folds(folder, listing), folder):
        for files in _splits(place, listing).values():
            yield from files
    for files in _parts(folder, listing).values():
        yield from files


def starts_like_letor(file: Path) -> bool:
    """Does the first row say `label qid:...`? Only the beginning is read."""
    try:
        with file.open("rb") as text:
            head = text.read(1 << 16)
    except OSError:
        return False
    rows = (line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip())
    first = next((line for line in rows if not line.lstrip().startswith(b"#")), b"")
    return ROW.match(first) is not None


def _read_layout(folder: Path, listing: Listing, expected: Collection[int]) -> Layout:
    if _filled_folds(folder, listing):
        return _read_folds(folder, listing)
    if _parts(folder, listing):
        return _read_parts(folder, listing, expected)
    found = _splits(folder, listing)
    _refuse_if_any(folder, [*_missing_splits(found, ("train", "test")), *_duplicates(found.values())])
    return Layout(folder, folds=(_fold_files(found),))


def _read_folds(folder: Path, listing: Listing) -> Layout:
    folds = _folds(folder, listing)
    problems = _wrong_numbers("Fold{}", folds) + _duplicates(folds.values())
    first = [paths[0] for paths in folds.values()]
    splits = [_splits(fold, listing) for fold in first]
    for fold, found in zip(first, splits, strict=True):
        problems += [f"in {fold.name} {why}" for why in [*_missing_splits(found, SPLITS), *_duplicates(found.values())]]
    _refuse_if_any(folder, problems)
    return Layout(folder, folds=tuple(map(_fold_files, splits)))


def _read_parts(folder: Path, listing: Listing, expected: Collection[int]) -> Layout:
    parts = _parts(folder, listing)
    problems = _wrong_numbers("S{}.txt", parts, expected) + _duplicates(parts.values())
    if not problems and not expected and len(parts) < 3:
        problems = [f"only {len(parts)} part(s) S1..Sn, and folds need at least 3"]
    _refuse_if_any(folder, problems)
    return Layout(folder, parts=tuple(paths[0] for paths in parts.values()))


def _fold_files(found: dict[str, list[Path]]) -> FoldFiles:
    return FoldFiles(found["train"][0], found["vali"][0] if found["vali"] else None, found["test"][0])


def _wrong_numbers(name: str, numbers: Collection[int], expected: Collection[int] = ()) -> list[str]:
    """Problems: a 0, since LETOR counts from 1; numbers missing from 1..n, or where some are expected, from these."""
    zero = [f"{name.format(0)} is there, but LETOR counts from 1"] if 0 in numbers else []
    wanted = expected or range(1, max(numbers) + 1)
    missing = [f"there is no {name.format(number)}" for number in sorted(set(wanted) - set(numbers))]
    others = [f"{name.format(number)} is one part too many" for number in sorted(set(numbers) - {0, *wanted})]
    return zero + missing + others


def _missing_splits(found: dict[str, list[Path]], splits: Iterable[str]) -> list[str]:
    return [
        f"there is no {split} file ({SPLITS[split][0]}.txt or {SPLITS[split][-1]}.txt)"
        for split in splits
        if not found[split]
    ]


def _duplicates(groups: Iterable[Sequence[Path]]) -> list[str]:
    return [f"{' and '.join(path.name for path in paths)} are the same thing" for paths in groups if len(paths) > 1]


def _refuse_if_any(folder: Path, problems: list[str]) -> None:
    if problems:
        raise ReplirankError(
            f"the data set is not complete or not clear: {'; '.join(problems)}",
            path=folder,
            remedy="unpack the archive again, whole, into an empty folder",
        )
