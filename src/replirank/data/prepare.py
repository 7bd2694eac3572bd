"""From whatever is at hand to a checked data set: found, or else simulated; and its data card."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from replirank.data import letor_text
from replirank.data.arrays import Dataset, Fold, RankingData, join_ids
from replirank.data.folds import rotated, rotation
from replirank.data.layouts import Layout, find_layout, is_single_file
from replirank.data.lists import first_equal, is_strict
from replirank.data.normalize import is_normalized_by_query, normalize_by_query
from replirank.data.specs import Spec
from replirank.data.unpack import unpack
from replirank.errors import ReplirankError

Origin = Literal["real", "rebuilt", "derived", "artificial", "simulated"]


class Prepared(NamedTuple):
    dataset: Dataset
    card: dict[str, Any]


def prepare(
    spec: Spec,
    *,
    source: Path | None,
    on_missing: Literal["skip", "simulate", "fail"] = "skip",
    size: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> Prepared:
    """The data set of this spec.

    `source` is the folder, archive or file that was found, if any. `size` (queries, documents) is that of a simulated
    set. Whether a missing set is asked for at all is decided before: here it is simulated, unless on_missing is "fail".
    """
    origin: Origin
    scaled = rebuilt = False
    if source is not None:
        dataset, origin = read_source(spec, source, report, normalize=spec.normalize)
        scaled = spec.normalize or (spec.normalized and not is_normalized_by_query(dataset.data))
        if scaled and not spec.normalize:
            report(f"{spec.title}: this copy is not scaled by query as it should be: scaling it")
            dataset, origin = read_source(spec, source, report, normalize=True)
        if spec.derive:
            rebuilt = origin == "rebuilt"
            dataset, origin = replace(dataset, data=spec.derive(dataset.data)), "derived"
    elif spec.made or on_missing != "fail":
        if not size or spec.stand_in is None:
            raise ReplirankError(
                f"{spec.title} is to be simulated, but no size is set",
                remedy=f"set datasets: {spec.id}: simulate: in config.yaml",
            )
        report(f"{spec.title}: simulating {size}")
        dataset = spec.stand_in(**size, seed=seed)
        origin = "artificial" if spec.artificial else "simulated"
    else:
        raise ReplirankError(
            f"{spec.title} was not found, and config.yaml says on_missing: fail",
            remedy=f"put its folder or archive ({', '.join(spec.names)}) into data/ or $LETOR_HOME",
        )
    check(spec, dataset, counts=origin in ("real", "rebuilt", "derived"), source=source)
    return Prepared(dataset, card(spec, dataset, origin, source, scaled=scaled, rebuilt=rebuilt))


def read_source(
    spec: Spec, source: Path, report: Callable[[str], None], *, normalize: bool = False
) -> tuple[Dataset, Origin]:
    """Read a folder or a single file, or an archive by way of a temporary folder; `normalize` scales by query."""
    report(f"{spec.title}: reading {source}")
    if source.is_dir() or is_single_file(source):
        dataset = read_layout(spec, find_layout(source, spec.names, spec.part_numbers), normalize=normalize)
    else:
        with tempfile.TemporaryDirectory(prefix="replirank-") as temporary:
            folder = unpack(source, Path(temporary) / "unpacked")
            try:
                layout = find_layout(folder, spec.names, spec.part_numbers)
            except ReplirankError as error:
                name = _member(Path(error.path or folder), (folder, source))
                raise ReplirankError(error.what, path=name, remedy=error.remedy) from error
            dataset = read_layout(spec, layout, archive=(folder, source), normalize=normalize)
    ids = dataset.data.document_ids
    # Copies that were put together again have lost names of documents: some (MQ2007, which marks them) or all (TD2003).
    lost = spec.named if ids is None else bool(np.any(np.char.startswith(ids, "NA-")))
    return dataset, "rebuilt" if lost else "real"


def _member(path: Path, archive: tuple[Path, Path] | None) -> str:
    """A file as messages name it: one that was unpacked lies in an archive, not in a temporary folder."""
    return f"{archive[1]}!{path.relative_to(archive[0])}" if archive else str(path)


def read_layout(
    spec: Spec, layout: Layout, archive: tuple[Path, Path] | None = None, *, normalize: bool = False
) -> Dataset:
    """The queries of all files once each, and the folds over them.

    `archive` is the temporary folder that an archive was unpacked to and the archive, by which messages name files.
    """
    collected = _Collector(spec, archive, normalize)
    folds: Sequence[Fold]
    if layout.whole:
        folds = _cut(spec, collected.read(layout.whole), _member(layout.whole, archive))
    elif layout.parts:
        parts = [collected.read(path) for path in layout.parts]
        folds = rotation(sum(map(len, parts)), spec.folds) if spec.folds and spec.cut_anew else rotated(parts)
    else:
        folds = [
            Fold(*(collected.read(path) if path else np.array([], dtype=np.int64) for path in files))
            for files in layout.folds
        ]
        if spec.folds and spec.cut_anew:
            folds = rotation(len(collected.seen), spec.folds)
        elif len(folds) == 1 and spec.part_queries:
            folds = _all_folds(spec, folds[0], _member(layout.folder, archive))
    return Dataset(collected.data(), tuple(folds))


def _cut(spec: Spec, queries: np.ndarray, name: str) -> Sequence[Fold]:
    """The queries of a single file, in the order of the file, as folds."""
    if spec.queries is not None:  # a published set has folds of its own, which one file cannot show
        raise ReplirankError(
            f"a single file, but {spec.title} was published in folds or parts",
            path=name,
            remedy="fetch the data set's own files, or give this one a name of its own as a data set of yours",
        )
    return rotation(len(queries), spec.cut_into)


def _all_folds(spec: Spec, first: Fold, name: str) -> Sequence[Fold]:
    """All of LETOR's folds from the first, which has the parts in order: the last is for test, the one before vali."""
    counts = spec.part_queries
    expected = [sum(counts[:-2]), counts[-2], counts[-1]]
    found = [len(split) for split in first]
    if found != expected:
        raise ReplirankError(
            f"train, vali and test have {found} queries, but the first fold of {spec.title} has {expected}",
            path=name,
            remedy="the files are not the first fold's, or not whole: fetch them again",
        )
    return rotated(np.split(np.concatenate(first), np.cumsum(counts)[:-1]))


class _Collector:
    """Reads file after file and keeps each query once; a query that comes again must be the same to the bit."""

    def __init__(self, spec: Spec, archive: tuple[Path, Path] | None, normalize: bool):
        self.spec, self.archive, self.normalize = spec, archive, normalize
        self.pieces: list[RankingData] = []
        self.seen: dict[str, tuple[int, bytes]] = {}  # query id -> its position and digest

    def read(self, path: Path) -> np.ndarray:
        """The positions of this file's queries."""
        name = _member(path, self.archive)
        try:
            data = letor_text.read(path, dtype=np.float64 if self.normalize else np.float32)
        except ReplirankError as error:
            raise ReplirankError(error.what, path=name, line=error.line, remedy=error.remedy) from error
        self._check_rows(data, path, name)
        if self.normalize:
            data = normalize_by_query(data)
        positions, fresh = [], []
        # As text: the ids of one file may be numbers, and those of the next not.
        for place, (query, rows) in enumerate(zip(data.query_ids.astype(str).tolist(), data, strict=True)):
            digest = _digest(data.features[rows], data.labels[rows])
            if query not in self.seen:
                self.seen[query] = len(self.seen), digest
                fresh.append(place)
            position, before = self.seen[query]
            if before != digest:
                raise ReplirankError(
                    f"query {query} differs from the same query in another file",
                    path=name,
                    line=letor_text.line_of(path, rows.start),
                    remedy="the folds were mixed up or edited: fetch the data again",
                )
            positions.append(position)
        if fresh:
            self.pieces.append(data.take(fresh))
        return np.array(positions, dtype=np.int64)

    def _check_rows(self, data: RankingData, path: Path, name: str) -> None:
        width, levels = data.features.shape[1], self.spec.levels
        expected = self.spec.features_in_files or self.spec.features
        # Lines may be sparse, but a feature in no line of a file is one that was lost.
        if expected is not None and width != expected:
            raise ReplirankError(
                f"{self.spec.title} has {expected} features, this file names {width}",
                path=name,
                remedy="is it the right data set and version? A last feature that is 0 throughout must be named once",
            )
        if levels is not None and not np.all(known := np.isin(data.labels, levels)):
            row = int(np.argmin(known))
            raise ReplirankError(
                f"label {data.labels[row]:g}, but {self.spec.title} has only {', '.join(f'{x:g}' for x in levels)}",
                path=name,
                line=letor_text.line_of(path, row),
                remedy="is it the right data set and version?",
            )
        if self.spec.strict and not self.spec.derive and (row := first_equal(data)) is not None:
            raise ReplirankError(
                f"label {data.labels[row]:g} for a second time in query {data.query_ids[data.query_of[row]]}, but the "
                f"labels of {self.spec.title} are a strict order",
                path=name,
                line=letor_text.line_of(path, row),
                remedy="is it the right data set? Every document of a query needs a label of its own",
            )

    def data(self) -> RankingData:
        lengths = np.concatenate([piece.lengths for piece in self.pieces])
        named = all(piece.document_ids is not None for piece in self.pieces)
        kept = list(self.spec.keep) or slice(None)
        # Where the width is not known, sparse files may end before the last feature, which is then 0.
        width = max(piece.features.shape[1] for piece in self.pieces)
        return RankingData(
            features=np.concatenate([_widened(piece.features, width)[:, kept] for piece in self.pieces]),
            labels=np.concatenate([piece.labels for piece in self.pieces]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            query_ids=join_ids([piece.query_ids for piece in self.pieces]),
            document_ids=np.concatenate([piece.document_ids for piece in self.pieces]) if named else None,
            columns=self.spec.columns,
        )


def _digest(features: np.ndarray, labels: np.ndarray) -> bytes:
    """Of a query's rows. Last features that are 0 in all of them do not count: a sparse file may leave them out."""
    used = np.flatnonzero(features.any(axis=0))
    features = features[:, : used[-1] + 1 if len(used) else 0]
    return hashlib.blake2b(str(features.shape).encode() + features.tobytes() + labels.tobytes()).digest()


def _widened(features: np.ndarray, width: int) -> np.ndarray:
    return np.pad(features, ((0, 0), (0, width - features.shape[1]))) if features.shape[1] < width else features


def check(spec: Spec, dataset: Dataset, *, counts: bool, source: Path | None = None) -> None:
    """What every data set must fulfil, and what is known of this one."""

    def refuse(what: str) -> ReplirankError:
        remedy = "the copy is incomplete or mixed up: fetch it again"
        return ReplirankError(f"{spec.title}: {what}", path=source, remedy=remedy)

    data, folds = dataset.data, dataset.folds
    if spec.folds is not None and len(folds) != spec.folds:
        raise refuse(f"{len(folds)} folds, expected {spec.folds}")
    for number, fold in enumerate(folds, 1):
        positions = np.concatenate(fold)
        if len(np.unique(positions)) < len(positions):
            raise refuse(f"fold {number} has a query in two of its splits")
        for name, split in fold._asdict().items():
            if not len(split):
                raise refuse(f"the {name} split of fold {number} is empty")
    tested = np.sort(np.concatenate([fold.test for fold in folds]))
    if len(folds) > 1 and not np.array_equal(tested, np.arange(data.queries)):
        raise refuse("the test splits of the folds do not hold every query once")
    if not counts:
        return
    by_label = (
        (f"documents of label {level}", count, int(np.sum(data.labels == level)))
        for level, count in (spec.labels or {}).items()
    )
    for what, expected, found in (
        ("queries", spec.queries, data.queries),
        ("documents", spec.documents, data.documents),
        *by_label,
    ):
        if expected is not None and expected != found:
            raise refuse(f"{found} {what}, expected {expected}")
    if spec.strict and not is_strict(data):
        raise refuse("equal labels in a query, where a strict order was expected")


def _note(spec: Spec, origin: Origin, scaled: bool, rebuilt: bool) -> str:
    """What is true of the real set is not said of its stand-in."""
    notes = [spec.note] if spec.note and (spec.made or origin != "simulated") else []
    if scaled:
        notes.append("each feature of a query was scaled to 0..1 here")
    if rebuilt:
        notes.append("the documents are rebuilt from copies, not the original bytes (docs/deviations.md)")
    return "; ".join(notes)


def card(
    spec: Spec,
    dataset: Dataset,
    origin: Origin,
    source: Path | None,
    *,
    scaled: bool = False,
    rebuilt: bool = False,
) -> dict[str, Any]:
    """What a reader wants to know of the data behind a table.

    `scaled`: its features were scaled by query here. `rebuilt`: what a set was derived from is.
    """
    data = dataset.data
    checksum = data.checksum()
    lengths = data.lengths
    levels, counts = np.unique(data.labels, return_counts=True)
    # Strict orders have as many labels as documents: there is nothing to count.
    labels = {f"{level:g}": int(count) for level, count in zip(levels, counts, strict=True) if not spec.strict}
    highest = np.maximum.reduceat(data.labels, data.offsets[:-1])
    return {
        "id": spec.id,
        "title": spec.title,
        "origin": origin,
        "note": _note(spec, origin, scaled, rebuilt),
        "source": None if source is None else str(source),
        "checksum": checksum,
        "original_bytes": spec.checksum is not None and checksum == spec.checksum,
        "queries": data.queries,
        "documents": data.documents,
        "features": data.features.shape[1],
        "constant_features": int(np.sum(data.features.min(axis=0) == data.features.max(axis=0))),
        "labels": labels,
        "label_shares": {label: round(count / data.documents, 4) for label, count in labels.items()},
        "best_label": float(levels[-1]),
        "documents_per_query": {
            "least": int(lengths.min()),
            "median": float(np.median(lengths)),
            "most": int(lengths.max()),
        },
        "queries_without_relevant": int(np.sum(highest == 0)),
        "folds": [
            {
                name: {"queries": len(split), "documents": int(lengths[split].sum())}
                for name, split in fold._asdict().items()
            }
            for fold in dataset.folds
        ],
    }
