"""Where a data set is: an unpacked folder or an archive in one of the places where people keep data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from replirank.data.layouts import DEPTH, Listing, distinct, holds_letor, is_preferred, plain
from replirank.data.unpack import folders_in
from replirank.errors import ReplirankError

# Gov/QueryLevelNorm/2003_td_dataset
LEVELS = 3
ARCHIVES = (".tar.xz", ".txz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip")
UNREADABLE = (".rar", ".7z")


class Catalogue(Listing):
    """Remembers what homes and bundles hold. Make one for a series of searches, not for longer: files come and go."""

    def __init__(self) -> None:
        super().__init__()
        self._walks: dict[Path, list[Path]] = {}
        self._bundles: dict[Path, frozenset[str]] = {}

    def below(self, home: Path) -> list[Path]:
        """All folders down to three levels, the upper ones first, and those in QueryLevelNorm before their like."""
        if home not in self._walks:
            self._walks[home] = list(self._walk(home))
        return self._walks[home]

    def inside(self, bundle: Path) -> frozenset[str]:
        """The names of the folders in an archive."""
        if bundle not in self._bundles:
            self._bundles[bundle] = frozenset(map(plain, folders_in(bundle, DEPTH)))
        return self._bundles[bundle]

    def _walk(self, home: Path) -> Iterator[Path]:
        level = [home]
        for _ in range(LEVELS):
            level = [child for folder in level for child in self.folders(folder)]
            level.sort(key=lambda folder: (not is_preferred(folder.parent), folder))
            yield from level


def homes(environ: Mapping[str, str] = os.environ, root: str | os.PathLike = Path(".")) -> list[Path]:
    """The folders that may hold data and exist: $LETOR_HOME (one or several), data, ../shared/data."""
    root = Path(root)
    given = [Path(os.path.expanduser(home)) for home in environ.get("LETOR_HOME", "").split(os.pathsep) if home]
    return distinct(home for home in [*given, root / "data", root / "../shared/data"] if home.is_dir())


def find_source(
    names: Iterable[str],
    homes: Iterable[str | os.PathLike],
    bundles: Iterable[str] = (),
    *,
    catalogue: Catalogue | None = None,
) -> Path | None:
    """The folder or archive of the data set with one of these names; None if there is neither.

    The first home that has it counts; in a home a folder counts before an archive of its own, and that before one of
    the `bundles` which holds it. Give the same `catalogue` to a series of searches and each folder is read only once.
    """
    catalogue = catalogue or Catalogue()
    names, bundles, folders = _plain(names), _plain(bundles), [Path(home) for home in homes]
    for home in folders:
        if found := _folder(names, home, catalogue) or _archive(names, bundles, home, catalogue):
            return found
    _mention_unreadable([*names, *bundles], folders, catalogue)
    return None


def _plain(names: Iterable[str]) -> list[str]:
    return [plain(name) for name in names]


def _folder(names: list[str], home: Path, catalogue: Catalogue) -> Path | None:
    named = (folder for folder in catalogue.below(home) if plain(folder.name) in names)
    return next((folder for folder in named if holds_letor(folder, catalogue)), None)


def _archive(names: list[str], bundles: list[str], home: Path, catalogue: Catalogue) -> Path | None:
    for archive in _files(names, ARCHIVES, home, catalogue):
        return archive
    for bundle in _files(bundles, ARCHIVES, home, catalogue):
        if catalogue.inside(bundle).intersection(names):
            return bundle
    return None


def _files(names: list[str], suffixes: Iterable[str], home: Path, catalogue: Catalogue) -> Iterator[Path]:
    """The files in `home` with these names and suffixes, in the order of the names, then of the suffixes."""
    files = [(plain(file.name), file) for file in catalogue.files(home)]
    wanted = (name + suffix for name in names for suffix in suffixes)
    return (file for want in wanted for name, file in files if name == want)


def _mention_unreadable(names: list[str], homes: list[Path], catalogue: Catalogue) -> None:
    """LETOR's own downloads are rar archives: whoever put one there must not be told that there is nothing."""
    for home in homes:
        for file in _files(names, UNREADABLE, home, catalogue):
            raise ReplirankError(
                f"{file.suffix} archives cannot be read here",
                path=file,
                remedy=f"unpack it by hand into data/{file.stem}/",
            )
