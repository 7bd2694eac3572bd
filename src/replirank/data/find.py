"""Finds a data set: an unpacked folder or an archive in one of the folders where people keep data, called homes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from replirank.data import foreign
from replirank.data.layouts import DEPTH, Listing, holds_letor, is_preferred, normalized_name, unique_folders
from replirank.data.unpack import folders_in

# How deep a data set's folder may lie in a home: Gov/QueryLevelNorm/2003_td_dataset.
LEVELS = 3
ARCHIVES = (".tar.xz", ".txz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip", *foreign.SUFFIXES)


class Catalogue(Listing):
    """Remembers the folders in homes and in bundles (archives of several data sets).

    Make one for a series of searches and not for longer: it does not see files that come and go.
    """

    def __init__(self) -> None:
        super().__init__()
        self._below: dict[Path, list[Path]] = {}
        self._inside: dict[Path, frozenset[str]] = {}

    def below(self, home: Path) -> list[Path]:
        """All folders down to three levels: upper levels first, and in each level those in QueryLevelNorm first."""
        if home not in self._below:
            self._below[home] = list(self._walk(home))
        return self._below[home]

    def inside(self, bundle: Path) -> frozenset[str]:
        """The normalized names of the folders in an archive."""
        if bundle not in self._inside:
            self._inside[bundle] = frozenset(map(normalized_name, folders_in(bundle, DEPTH)))
        return self._inside[bundle]

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
    return unique_folders(home for home in [*given, root / "data", root / "../shared/data"] if home.is_dir())


def find_source(
    names: Iterable[str],
    homes: Iterable[str | os.PathLike],
    bundles: Iterable[str] = (),
    *,
    catalogue: Catalogue | None = None,
) -> Path | None:
    """The folder or archive of the data set with one of these names; None if there is neither.

    The first home that has it wins. Within a home a folder wins over an archive of this data set, and that over one of
    the `bundles` that has it inside. Give the same `catalogue` to a series of searches, and each folder is read once.
    """
    catalogue = catalogue or Catalogue()
    names, bundles = [list(map(normalized_name, given)) for given in (names, bundles)]
    folders = [Path(home) for home in homes]
    for home in folders:
        if found := _folder(names, home, catalogue) or _archive(names, bundles, home, catalogue):
            return found
    _refuse_without_program([*names, *bundles], folders, catalogue)
    return None


def _folder(names: list[str], home: Path, catalogue: Catalogue) -> Path | None:
    named = (folder for folder in catalogue.below(home) if normalized_name(folder.name) in names)
    return next((folder for folder in named if holds_letor(folder, catalogue)), None)


def _archive(names: list[str], bundles: list[str], home: Path, catalogue: Catalogue) -> Path | None:
    for archive in filter(_is_readable, _files(names, ARCHIVES, home, catalogue)):
        return archive
    for bundle in filter(_is_readable, _files(bundles, ARCHIVES, home, catalogue)):
        if catalogue.inside(bundle).intersection(names):
            return bundle
    return None


def _files(names: list[str], suffixes: Iterable[str], home: Path, catalogue: Catalogue) -> Iterator[Path]:
    """The files in `home` with these names and suffixes, ordered by name as given, then by suffix as given."""
    files = [(normalized_name(file.name), file) for file in catalogue.files(home)]
    wanted = (name + suffix for name in names for suffix in suffixes)
    return (file for want in wanted for name, file in files if name == want)


def _refuse_without_program(names: list[str], homes: list[Path], catalogue: Catalogue) -> None:
    """LETOR's own downloads are rar archives. Who has put one there must hear why it is not used."""
    for home in homes:
        for file in _files(names, foreign.SUFFIXES, home, catalogue):
            if not _is_readable(file):
                raise foreign.no_program(file)


def _is_readable(archive: Path) -> bool:
    return archive.suffix.lower() not in foreign.SUFFIXES or bool(foreign.programs())
