"""How queries are cut into training, validation and test: LETOR's rotation of parts, and a single split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replirank.data.arrays import Fold
from replirank.errors import ReplirankError


def rotate(parts: int) -> list[tuple[list[int], int, int]]:
    """LETOR's folds over parts counted from 0: train, validation, test. Each part is tested on once.

    >>> rotate(5)[0], rotate(5)[4]
    (([0, 1, 2], 3, 4), ([4, 0, 1], 2, 3))
    """
    if parts < 3:
        raise ReplirankError(
            f"{parts} part(s) cannot be rotated into training, validation and test", remedy="give at least 3 parts"
        )
    turns = [[(first + step) % parts for step in range(parts)] for first in range(parts)]
    return [(turn[:-2], turn[-2], turn[-1]) for turn in turns]


def rotated(parts: Sequence[np.ndarray]) -> tuple[Fold, ...]:
    """The folds over these parts of the queries."""
    return tuple(
        Fold(np.concatenate([parts[part] for part in train]), parts[vali], parts[test])
        for train, vali, test in rotate(len(parts))
    )


def rotation(queries: int, folds: int) -> tuple[Fold, ...]:
    """LETOR's folds: of n parts, fold k trains on the n - 2 from part k on, chooses on the next, reports on the last.

    >>> [fold.test.tolist() for fold in rotation(7, 5)]
    [[6], [0, 1], [2, 3], [4], [5]]
    """
    if not 3 <= folds <= queries:
        raise ReplirankError(
            f"{queries} queries cannot make {folds} folds", remedy="take 3 folds or more, and as many queries at least"
        )
    parts = np.array_split(np.arange(queries), folds)
    return rotated(parts)


def single_fold(queries: int, shares: Sequence[float]) -> Fold:
    """Training, validation and test queries, one after the other, in these shares.

    >>> single_fold(6, (2 / 3, 1 / 6, 1 / 6))
    Fold(train=array([0, 1, 2, 3]), vali=array([4]), test=array([5]))
    """
    ends = np.rint(np.cumsum(shares) * queries).astype(np.int64)
    parts = np.split(np.arange(queries), ends[:2])
    if min(map(len, parts)) == 0:
        raise ReplirankError(f"{queries} queries are too few to train, validate and test on", remedy="ask for more")
    return Fold(*parts)
