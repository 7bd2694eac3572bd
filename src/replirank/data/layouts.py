"""Where the text lies in an unpacked LETOR folder: files of folds, or parts to be rotated into folds."""

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
ROW = re.compile(rb"\s*[-+.\deE]+\s+qid:\S")


class FoldFiles(NamedTuple):
    """The files of one fold. Only a split that is not one of several folds may come without validation."""

    train: Path
    vali: Path | None
    test: Path


@dataclass(frozen=True)
class Layout:
    """Either the files of each fold or the parts S1..Sn, in order; the other is empty."""

    folder: Path
    folds: tuple[FoldFiles, ...] = ()
    parts: tuple[Path, ...] = ()


def plain(name: str) -> str:
    """A name as it is compared.

    >>> plain("MQ2008-list") == plain("mq2008_LIST")
    True
    """
    return name.casefold().replace("-", "_")


class Listing:
    """What folders hold, sorted, each folder read once. Hidden entries and __MACOSX are left out."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[list[Path], list[Path]]] = {}

    def folders(self, folder: Path) -> list[Path]:
        return self._entries(folder)[0]

    def files(self, folder: Path) -> list[Path]:
        return self._entries(folder)[1]

    def _entries(self, folder: Path) -> tuple[list[Path], list[Path]]:
        if folder not in self._read:
            self._read[folder] = _read(folder)
        return self._read[folder]


def find_layout(folder: str | os.PathLike, names: Iterable[str] = ()) -> Layout:
    """The layout in `folder` or up to four levels below.

    Where a subfolder is called by one of `names`, only that is looked at: a bundle such as Gov holds several data sets.
    Where there is none, the name is taken on trust, since archives of one data set have top folders of any name.
    """
    folder, listing = Path(folder), Listing()
    if not folder.is_dir():
        raise ReplirankError("there is no such folder", path=folder, remedy="unpack the data set there")
    starts = _named(folder, names, listing) or [folder]
    places = distinct(place for start in starts for place in _places(start, listing))
    if not places:
        raise ReplirankError(
            "no LETOR text here: looked for Fold1..n/{train,vali,test}.txt, S1..Sn.txt and {train,vali,test}.txt, "
            f"down to {DEPTH} levels",
            path=folder,
            remedy="unpack the data set's archive into this folder",
        )
    if len(places) > 1:
        raise ReplirankError(
            "several data sets, or several versions of one, lie here: "
            + ", ".join(str(place.relative_to(folder)) for place in places),
            path=folder,
            remedy="keep one of them, or point to its folder",
        )
    return _read_layout(places[0], listing)


def holds_letor(folder: Path, listing: Listing | None = None) -> bool:
    """Is there a layout, complete or not, with a file that starts like LETOR text?"""
    listing = listing or Listing()
    return any(_is_letor(file) for place in _places(folder, listing) for file in _texts(place, listing))


def is_preferred(folder: Path) -> bool:
    return plain(folder.name).replace("_", "") == PREFERRED


def distinct(folders: Iterable[Path]) -> list[Path]:
    """Each folder once, though links may lead to it on several ways."""
    found: dict[str, Path] = {}
    for folder in folders:
        found.setdefault(os.path.realpath(folder), folder)
    return list(found.values())


def _read(folder: Path) -> tuple[list[Path], list[Path]]:
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
    """Is this a link to a folder which it lies in?"""
    if not entry.is_symlink():
        return False
    goal, place = os.path.realpath(entry.path), os.path.realpath(os.path.dirname(entry.path))
    return Path(place).is_relative_to(goal)


def _search(folder: Path, wanted: Callable[[Path], bool], listing: Listing, depth: int = DEPTH) -> list[Path]:
    """The topmost wanted folders; but where QueryLevelNorm holds any, none of those beside it."""
    below = listing.folders(folder) if depth else []
    for child in filter(is_preferred, below):
        if found := _search(child, wanted, listing, depth - 1):
            return found
    if wanted(folder):
        return [folder]
    return [hit for child in below for hit in _search(child, wanted, listing, depth - 1)]


def _named(folder: Path, names: Iterable[str], listing: Listing) -> list[Path]:
    """Subfolders with one of the names, and data in them. `folder` itself may have that name too: look into it."""
    known = {plain(name) for name in names}

    def wanted(place: Path) -> bool:
        return place != folder and plain(place.name) in known and bool(_places(place, listing))

    return _search(folder, wanted, listing) if known else []


def _places(folder: Path, listing: Listing) -> list[Path]:
    """Folders that hold folds, parts or a split. A lone train or test file counts only if there is nothing better."""

    def solid(place: Path) -> bool:
        splits = _splits(place, listing)
        return bool(_filled_folds(place, listing) or _parts(place, listing) or (splits["train"] and splits["test"]))

    def hollow(place: Path) -> bool:
        splits = _splits(place, listing)
        return bool(splits["train"] or splits["test"])

    return _search(folder, solid, listing) or _search(folder, hollow, listing)


def _splits(folder: Path, listing: Listing) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for file in _text_files(folder, listing):
        for split, names in SPLITS.items():
            if plain(file.stem).replace("_", "") in names:
                found[split].append(file)
    return found


def _text_files(folder: Path, listing: Listing) -> Iterator[Path]:
    return (file for file in listing.files(folder) if file.suffix.lower() == ".txt")


def _numbered(pattern: re.Pattern, named: Iterable[tuple[str, Path]]) -> dict[int, list[Path]]:
    found: dict[int, list[Path]] = {}
    for name, path in named:
        if match := pattern.fullmatch(plain(name)):
            found.setdefault(int(match[1]), []).append(path)
    return dict(sorted(found.items()))


def _folds(folder: Path, listing: Listing) -> dict[int, list[Path]]:
    return _numbered(FOLD, ((path.name, path) for path in listing.folders(folder)))


def _filled_folds(folder: Path, listing: Listing) -> list[Path]:
    """Fold folders with any of the files: LETOR's folders of baseline results have empty-looking Fold1..5 too."""
    folds = [fold for same in _folds(folder, listing).values() for fold in same]
    return [fold for fold in folds if any(_splits(fold, listing).values())]


def _parts(folder: Path, listing: Listing) -> dict[int, list[Path]]:
    return _numbered(PART, ((path.stem, path) for path in _text_files(folder, listing)))


def _texts(folder: Path, listing: Listing) -> Iterator[Path]:
    for place in (*_filled_folds(folder, listing), folder):
        for files in _splits(place, listing).values():
            yield from files
    for same in _parts(folder, listing).values():
        yield from same


def _is_letor(file: Path) -> bool:
    """Does the first row say `label qid:...`? Only the beginning is read."""
    try:
        with file.open("rb") as text:
            head = text.read(1 << 16)
    except OSError:
        return False
    rows = (line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip())
    first = next((line for line in rows if not line.lstrip().startswith(b"#")), b"")
    return ROW.match(first) is not None


def _read_layout(folder: Path, listing: Listing) -> Layout:
    if _filled_folds(folder, listing):
        return _read_folds(folder, listing)
    if _parts(folder, listing):
        return _read_parts(folder, listing)
    found = _splits(folder, listing)
    _complain(folder, [*_lacking(found, ("train", "test")), *_doubled(found.values())])
    return Layout(folder, folds=(_fold_files(found),))


def _read_folds(folder: Path, listing: Listing) -> Layout:
    folds = _folds(folder, listing)
    wrong = _miscounted("Fold{}", folds) + _doubled(folds.values())
    found = [_splits(same[0], listing) for same in folds.values()]
    for same, splits in zip(folds.values(), found, strict=True):
        wrong += [f"in {same[0].name} {lack}" for lack in [*_lacking(splits, SPLITS), *_doubled(splits.values())]]
    _complain(folder, wrong)
    return Layout(folder, folds=tuple(map(_fold_files, found)))


def _read_parts(folder: Path, listing: Listing) -> Layout:
    parts = _parts(folder, listing)
    wrong = _miscounted("S{}.txt", parts) + _doubled(parts.values())
    if not wrong and len(parts) < 3:
        wrong = [f"only {len(parts)} part(s) S1..Sn, and folds need at least 3"]
    _complain(folder, wrong)
    return Layout(folder, parts=tuple(same[0] for same in parts.values()))


def _fold_files(found: dict[str, list[Path]]) -> FoldFiles:
    return FoldFiles(found["train"][0], found["vali"][0] if found["vali"] else None, found["test"][0])


def _miscounted(name: str, numbers: Collection[int]) -> list[str]:
    """What is missing from 1..n. LETOR counts from 1: with a 0 it is not certain what the others are."""
    missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
    zero = [f"{name.format(0)} is there, but LETOR counts from 1"] if 0 in numbers else []
    return zero + [f"there is no {name.format(number)}" for number in missing]


def _lacking(found: dict[str, list[Path]], splits: Iterable[str]) -> list[str]:
    return [
        f"there is no {split} file ({SPLITS[split][0]}.txt or {SPLITS[split][-1]}.txt)"
        for split in splits
        if not found[split]
    ]


def _doubled(groups: Iterable[Sequence[Path]]) -> list[str]:
    return [f"{' and '.join(path.name for path in same)} are the same thing" for same in groups if len(same) > 1]


def _complain(folder: Path, wrong: list[str]) -> None:
    if wrong:
        raise ReplirankError(
            f"the data set is not complete or not clear: {'; '.join(wrong)}",
            path=folder,
            remedy="unpack the archive again, whole, into an empty folder",
        )
