"""Which data sets are on this machine, and where the others can be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from replirank.data.download import Unreachable
from replirank.data.fetch import Network, fetch
from replirank.data.find import Catalogue, find_source, homes
from replirank.data.prepare import check, read_source
from replirank.data.sources import Source, describe
from replirank.data.specs import Spec
from replirank.errors import ReplirankError

FETCHED = "fetched"


class Stock:
    """Looks for each data set once; `look_again` after data has arrived. Without `look`, only own data is at hand."""

    def __init__(
        self, specs: Mapping[str, Spec], sources: Mapping[str, Source], root: str | os.PathLike, *, look: bool = True
    ):
        self.specs, self.sources = specs, sources
        self._root, self._look = Path(root), look
        self.look_again()

    def look_again(self) -> None:
        self._homes = homes(root=self._root) if self._look else []  # a fetch may have made the folder data
        self._catalogue = Catalogue()
        self._found: dict[str, Path | None] = {}

    def source(self, name: str) -> Path | None:
        """The folder, archive or file that holds a data set; None if it is not on this machine."""
        if name not in self._found:
            self._found[name] = self._find(self.specs[name])
        return self._found[name]

    def _find(self, spec: Spec) -> Path | None:
        if path := spec.path or self.specs[self.files_of(spec.id)].path:
            return path
        if spec.made:
            return None
        return find_source(spec.names, self._homes, spec.bundles, catalogue=self._catalogue)

    def files_of(self, name: str) -> str:
        """The data set whose files hold this one: itself, or the one that it is a version of."""
        return self.specs[name].files_of or name

    def public_copy(self, name: str) -> Source | None:
        """The known public copies of a data set; None if there are none."""
        source = self.sources.get(self.files_of(name))
        return source if source is not None and (source.files or source.archives) else None

    def plan(self, name: str) -> str:
        """What would be fetched, and from where.

        For example: "TD2004: 3 files from github.com/JasonWyse/factorized_rankSVM, into data/TD2004".
        """
        source = self.public_copy(name)
        assert source is not None
        return f"{self.specs[name].title}: {describe(source)}, into data/{self.folder(name).name}"

    def folder(self, name: str) -> Path:
        """Where a data set that is fetched will lie."""
        return self._root / "data" / self.specs[self.files_of(name)].names[0]

    def remedy(self, name: str) -> str:
        """How to get a data set that is not at hand."""
        spec = self.specs[name]
        if spec.made:
            return "it was never published"
        files = self.files_of(name)
        by_hand = f"unpack a copy into data/{spec.names[0]}"
        if files in self.sources:
            by_hand = f"get it from {self.sources[files].page} and {by_hand}"
        if copy := self.public_copy(name):
            return f"where there is a network, `replirank fetch {files}` fetches it ({describe(copy)}); or {by_hand}"
        return f"no public copy is known: {by_hand}"

    def status(self, name: str) -> str:
        """In a few words: where a data set was found, or where it can be had."""
        if source := self.source(name):
            return f"found: {source}"
        if self.specs[name].made:
            return f"made here: {self.specs[name].note}"
        if copy := self.public_copy(name):
            return f"can be fetched: {describe(copy)}"
        return f"to be got by hand: {self.remedy(name)}"


def fetch_all(stock: Stock, names: Iterable[str], report: Callable[[str], None]) -> dict[str, str]:
    """Fetch these data sets, as far as that is possible. By name: "fetched", or why not."""
    network, outcomes = Network(), {}
    for name in names:
        spec = stock.specs[name]

        def has_known_shape(folder: Path, spec: Spec = spec) -> None:
            dataset, _ = read_source(spec, folder, report)
            check(spec, dataset, counts=True, source=folder)

        source = stock.public_copy(name)
        try:
            if found := stock.source(name):
                report(f"{spec.title} is there: {found}")
            elif source is None:
                raise ReplirankError(f"{spec.title} cannot be fetched", remedy=stock.remedy(name))
            else:
                fetch(source, stock.folder(name), check=has_known_shape, network=network, report=report)
                stock.look_again()
            outcomes[name] = FETCHED
        except Unreachable as error:  # which was reported, once for all data sets
            outcomes[name] = str(error)
        except ReplirankError as error:
            report(f"{spec.title}: {error}")
            outcomes[name] = str(error)
    return outcomes
