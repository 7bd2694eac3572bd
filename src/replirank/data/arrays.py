"""Ranking data in memory: one float32 matrix, labels, query offsets, and the folds over its queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from replirank.atomic import atomic_write
from replirank.errors import ReplirankError


class Judgements:
    """Labels of the documents of many queries, those of a query side by side: all that an evaluation asks of data.

    Query q owns the rows offsets[q]:offsets[q + 1]. Query ids are int64, or text where any of them is not a number.
    """

    def __init__(self, labels: np.ndarray, offsets: np.ndarray, query_ids: np.ndarray):
        self.labels = labels
        self.offsets = offsets
        self.query_ids = query_ids

    @property
    def queries(self) -> int:
        return len(self.query_ids)

    @property
    def text_ids(self) -> bool:
        """Are the query ids text, not numbers?"""
        return self.query_ids.dtype.kind == "U"

    @property
    def documents(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def query_of(self) -> np.ndarray:
        """The position of each document's query."""
        return np.repeat(np.arange(self.queries), self.lengths)

    def __iter__(self) -> Iterator[slice]:
        """The rows of each query, in order."""
        return (slice(a, b) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The row numbers of the queries at these positions, one query after the other."""
        lengths = self.lengths[positions]
        first = np.cumsum(lengths) - lengths
        return np.repeat(self.offsets[positions] - first, lengths) + np.arange(lengths.sum())

    def judgements(self, positions: Sequence[int] | np.ndarray) -> Judgements:
        """Of the queries at these positions, in this order."""
        positions = np.asarray(positions, dtype=np.int64)
        return Judgements(
            labels=self.labels[self.rows(positions)],
            offsets=np.concatenate([[0], np.cumsum(self.lengths[positions])]).astype(np.int64),
            query_ids=self.query_ids[positions],
        )


@dataclass(frozen=True, eq=False)
class RankingData(Judgements):
    """Judged documents with their features.

    `columns` names the features whose meaning a method may ask for ("bm25", "pagerank"), counted from 0.
    """

    features: np.ndarray  # (documents, features) float32
    labels: np.ndarray  # (documents,) float32
    offsets: np.ndarray  # (queries + 1,) int64
    query_ids: np.ndarray  # (queries,) int64 or str
    document_ids: np.ndarray | None = None  # (documents,) str
    columns: Mapping[str, int] = field(default_factory=dict)

    def lacks(self, *columns: str) -> str | None:
        """The reason why a method that needs these columns cannot be used; None where all are known."""
        missing = [name for name in columns if name not in self.columns]
        return f"this data set has no column known to hold {' or '.join(missing)}" if missing else None

    def column(self, name: str) -> int:
        """The feature of this meaning."""
        if reason := self.lacks(name):
            raise ReplirankError(
                reason, remedy="name it in src/replirank/data/specs.py, or take the method off this data set"
            )
        return self.columns[name]

    def take(self, positions: Sequence[int] | np.ndarray) -> RankingData:
        """The queries at these positions, in this order."""
        positions = np.asarray(positions, dtype=np.int64)
        rows = self.rows(positions)
        return replace(
            self,
            features=self.features[rows],
            document_ids=None if self.document_ids is None else self.document_ids[rows],
            **vars(self.judgements(positions)),
        )

    def checksum(self) -> str:
        """SHA-256 of the content: the same whichever archive, fold layout or line ending it came in."""
        arrays = [(self.features, "<f4"), (self.labels, "<f4"), (self.offsets, "<i8"), (self.query_ids, "<i8")]
        digest = hashlib.sha256()
        if self.text_ids:  # in front, as JSON: it cannot be taken for numbers, and shows where each id ends
            digest.update(json.dumps(arrays.pop()[0].tolist()).encode())
        for array, dtype in arrays:
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array, dtype=dtype).data)
        return digest.hexdigest()


def join_ids(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """The query ids of several pieces, one after the other: if any are text, all are.

    >>> join_ids([np.array([7]), np.array(["WT04-132"])]).tolist()
    ['7', 'WT04-132']
    """
    if any(ids.dtype.kind == "U" for ids in pieces):
        pieces = [ids.astype(str) for ids in pieces]
    return np.concatenate(pieces)


class Fold(NamedTuple):
    """Positions of queries in the data set: what to learn from, what to choose on, what to report on."""

    train: np.ndarray
    vali: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class Dataset:
    data: RankingData
    folds: tuple[Fold, ...]

    def split(self, fold: int, name: str) -> RankingData:
        """The queries of one split ("train", "vali", "test") of a fold, counted from 0."""
        return self.data.take(getattr(self.folds[fold], name))

    def judgements(self, fold: int, name: str) -> Judgements:
        """What is known of the same queries without their features, which a split copies."""
        return self.data.judgements(getattr(self.folds[fold], name))

    @property
    def best_label(self) -> float:
        """The highest level of all queries, which ERR needs."""
        return float(self.data.labels.max())


def save(path: str | PathLike, dataset: Dataset) -> None:
    data = dataset.data
    arrays = {
        "features": data.features,
        "labels": data.labels,
        "offsets": data.offsets,
        "query_ids": data.query_ids,
        "columns": np.array(json.dumps(dict(data.columns), sort_keys=True)),
    }
    if data.document_ids is not None:
        arrays["document_ids"] = data.document_ids
    for number, fold in enumerate(dataset.folds, 1):
        for name, positions in fold._asdict().items():
            arrays[f"fold{number}_{name}"] = positions
    with atomic_write(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def load(path: str | PathLike) -> Dataset:
    with np.load(path, allow_pickle=False) as stored:
        data = RankingData(
            features=stored["features"],
            labels=stored["labels"],
            offsets=stored["offsets"],
            query_ids=stored["query_ids"],
            document_ids=stored.get("document_ids"),
            columns=json.loads(str(stored["columns"])),
        )
        count = sum(name.endswith("_test") for name in stored.files)
        folds = tuple(
            Fold(*(stored[f"fold{number}_{name}"] for name in Fold._fields)) for number in range(1, count + 1)
        )
    return Dataset(data, folds)
