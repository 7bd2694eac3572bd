"""SVM-MAP's risk (Yue et al. 2007): the hinge loss of whole rankings, on the mean over queries.

A ranking y of a query's documents says of each relevant document i and irrelevant j which stands higher: y_ij is 1 or
-1. Its joint features are Psi(y) = sum of y_ij (x_i - x_j) / (R N), with R relevant and N irrelevant documents. A query
costs what its most violated ranking does:

    max over y of  1 - AP(y) + w . (Psi(y) - Psi(right order))

The greedy algorithm of section 4 finds it. Among the relevant documents, and among the irrelevant ones, the best order
is by score. The j-th irrelevant one then stands under the first m_j relevant ones, where m_j minimises

    sum over i <= m of  j / (j + i) - (j - 1) / (j + i - 1) - 2 (s_i - s_j) / N

The first two terms do not depend on scores: their sums are a table that all queries share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from replirank.engines.batches import LengthClass, covers, fewer_classes

MOST_CLASSES = 8  # of queries by size
CELLS = 300_000  # of the array [queries, irrelevant, relevant + 1] of a group: what fits into the processor's cache


class Group(NamedTuple):
    """Queries of like size, the row numbers of their documents padded to one length by a row whose score is -inf."""

    relevant: np.ndarray  # (queries, R) row numbers
    irrelevant: np.ndarray  # (queries, N) row numbers
    relevant_counts: np.ndarray  # (queries, 1)
    irrelevant_counts: np.ndarray  # (queries, 1)


class MapHinge:
    halvings = 10  # few, since a slope costs as much as a tangent; with two the search stalls

    def __init__(self, features: np.ndarray, relevant: np.ndarray, offsets: np.ndarray):
        self.features = features.astype(np.float64)
        self.queries = len(offsets) - 1
        self.groups = list(group_queries(relevant, offsets))
        self.table = shares_table(
            max((group.irrelevant.shape[1] for group in self.groups), default=0),
            max((group.relevant.shape[1] for group in self.groups), default=0),
        )

    def tangent(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = self.features @ w
        loss, pull = self.worst(scores)
        return (loss + pull @ scores) / self.queries, pull @ self.features / self.queries

    def slope(self, w: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        scores, change = self.features @ w, self.features @ direction
        return lambda t: self.worst(scores + t * change)[1] @ change / self.queries

    def worst(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The most violated rankings: the sum of their 1 - AP, and the slope of all costs in each score."""
        loss, pull, padded = 0.0, np.zeros(len(scores) + 1), np.append(scores, -np.inf)
        for group in self.groups:
            (relevant, s), (irrelevant, t) = (_best_first(padded, rows) for rows in (group.relevant, group.irrelevant))
            R, N = group.relevant_counts, group.irrelevant_counts
            above = most_violated(s, t, R, N, self.table)
            here = np.arange(above.shape[1]) < N
            wrong = _irrelevant_above(np.where(here, above, s.shape[1] + 1), s.shape[1])
            places = np.arange(1, s.shape[1] + 1)
            precisions = np.where(places <= R, places / (places + wrong), 0)
            loss += float(np.sum(1 - precisions.sum(axis=1, keepdims=True) / R))
            pull[relevant] = -2 / (R * N) * wrong
            pull[irrelevant] = 2 / (R * N) * (R - above)
        return loss, pull[:-1]


def most_violated(
    relevant: np.ndarray, irrelevant: np.ndarray, R: np.ndarray, N: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """(queries, irrelevant): how many relevant documents stand above each irrelevant one (m_j).

    The scores of each query come in decreasing order, then -inf; R and N (queries, 1) say how many there are.
    """
    above = np.arange(relevant.shape[1] + 1)
    sums = np.pad(np.cumsum(np.where(above[1:] <= R, relevant, 0), axis=1), ((0, 0), (1, 0)))
    sums = np.where(above <= R, sums, -np.inf)  # there are no more of them
    irrelevant = np.where(np.isfinite(irrelevant), irrelevant, 0)
    costs = np.multiply(((2 / N) * irrelevant)[:, :, None], above)
    costs -= ((2 / N) * sums)[:, None, :]
    costs += table[: irrelevant.shape[1], : len(above)]
    return np.argmin(costs, axis=2)


def _best_first(padded: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores by decreasing score."""
    scores = padded[rows]
    order = np.argsort(-scores, axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _irrelevant_above(above: np.ndarray, relevant: int) -> np.ndarray:
    """(queries, relevant): how many irrelevant documents stand above the i-th relevant one."""
    cells = np.arange(len(above))[:, None] * (relevant + 2) + above
    counts = np.bincount(cells.ravel(), minlength=len(above) * (relevant + 2)).reshape(len(above), -1)
    return np.cumsum(counts, axis=1)[:, :relevant]


def group_queries(relevant: np.ndarray, offsets: np.ndarray) -> Iterator[Group]:
    """The queries that have documents of both kinds; in others every ranking is right."""
    kinds = [
        [first + np.flatnonzero(part == kind) for kind in (True, False)]
        for first, part in zip(offsets[:-1], np.split(relevant, offsets[1:-1]), strict=True)
    ]
    sized = [(LengthClass(len(rows[1]), len(rows[0])), rows) for rows in kinds if all(map(len, rows))]
    classes = fewer_classes(Counter(size for size, _ in sized), MOST_CLASSES)
    in_class: dict[LengthClass, list[list[np.ndarray]]] = {found: [] for found in classes}
    for size, rows in sized:  # the classes are sorted by cost: the first that covers is the cheapest
        in_class[next(found for found in classes if covers(found, size))].append(rows)
    for (N, R), queries in in_class.items():
        assert R is not None
        at_once = max(1, CELLS // ((R + 1) * N))
        for start in range(0, len(queries), at_once):
            part = queries[start : start + at_once]
            rows_of = [[rows[kind] for rows in part] for kind in (0, 1)]
            yield Group(
                *(_padded(rows, width, len(relevant)) for rows, width in zip(rows_of, (R, N), strict=True)),
                *(np.array([[len(each)] for each in rows]) for rows in rows_of),
            )


def _padded(rows: Sequence[np.ndarray], width: int, value: int) -> np.ndarray:
    padded = np.full((len(rows), width), value)
    for number, each in enumerate(rows):
        padded[number, : len(each)] = each
    return padded


def shares_table(irrelevant: int, relevant: int) -> np.ndarray:
    """[j - 1, m] = sum over i <= m of j / (j + i) - (j - 1) / (j + i - 1), for up to so many documents.

    >>> shares_table(1, 2)  # 1/2, 1/2 + 1/3 - 0
    array([[0.        , 0.5       , 0.83333333]])
    """
    j, i = np.arange(1, irrelevant + 1)[:, None], np.arange(1, relevant + 1)
    # Over one denominator, so that no digits are lost where j is large.
    return np.pad(np.cumsum(i / ((j + i) * (j + i - 1)), axis=1), ((0, 0), (1, 0)))
