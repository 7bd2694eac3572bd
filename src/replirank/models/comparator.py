"""SortNet's comparator (Rigutini et al. 2008): a net of two documents that says which one is to be first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

import numpy as np

from replirank.data.order import feature_order
from replirank.models.base import Array, Model, namespace


@dataclass(frozen=True, eq=False)
class Comparator(Model):
    """Its hidden units come in pairs that see the two documents in opposite roles and share their weights.

    So the preferences of (x, y) and of (y, x) mirror each other.
    """

    by_document = False

    first: Array  # (features, units): the weights of the document in the first role
    second: Array  # (features, units): of the one in the second role
    offsets: Array  # (units,)
    output: Array  # (units,)

    def preference(self, x: Array, y: Array) -> Array:
        """Of rows of features: positive where x is to come before y."""
        xp = namespace(x)

        def one_role(x: Array, y: Array) -> Array:
            seen = xp.einsum("nd,du->nu", x, self.first) + xp.einsum("nd,du->nu", y, self.second) + self.offsets
            return xp.einsum("nu,u->n", xp.tanh(seen), self.output)

        return one_role(x, y) - one_role(y, x)

    def preferences(self, features: np.ndarray) -> np.ndarray:
        """(documents, documents): of each document to each other. It is antisymmetric to the last bit."""
        # NumPy's einsum goes row by row, as in models/linear.py; then unit by unit, since all at once is large.
        as_first = np.einsum("nd,du->un", features, self.first)
        as_second = np.einsum("nd,du->un", features, self.second)
        one_role = np.zeros((len(features), len(features)), dtype=as_first.dtype)
        for first, second, offset, weight in zip(as_first, as_second, self.offsets, self.output, strict=True):
            one_role += weight * np.tanh(first[:, None] + (second + offset))
        return one_role - one_role.T

    def score_query(self, features: np.ndarray) -> np.ndarray:
        """How many places a document is above the last, when the comparator sorts. Equals share a place."""
        preferences = self.preferences(features)
        order = sort_by(preferences, feature_order(features))
        # Where neither of two neighbours is preferred, they share a score.
        behind = preferences[order[:-1], order[1:]] != 0
        place = np.concatenate([[0], np.cumsum(behind)]) if len(order) else np.zeros(0)
        scores = np.empty(len(order))
        scores[order] = place.max(initial=0) - place
        return scores


def start(features: int, units: int, *, seed: int) -> Comparator:
    """As models/two_layer.py starts, a unit seeing two documents."""
    random = np.random.default_rng(seed)
    spread = (3 / (2 * features)) ** 0.5
    first, second = random.uniform(-spread, spread, (2, features, units)).astype(np.float32)
    output = random.uniform(-0.1, 0.1, units).astype(np.float32)
    return Comparator(first, second, np.zeros(units, dtype=np.float32), output)


# Sorting

Seen = Callable[[int, int, float], None]


def sort_by(preferences: np.ndarray, start: Sequence[int] | np.ndarray, seen: Seen | None = None) -> np.ndarray:
    """The documents, sorted from the order `start` by comparing two at a time. `seen` is told of each comparison.

    Where the preferences are transitive, there is one order that agrees with all of them, whatever `start` is.

    >>> sort_by(np.array([[0.0, -1.0, -1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 0.0]]), start=[0, 1, 2]).tolist()
    [1, 2, 0]
    """
    # A look into an array takes several times as long.
    numbers = memoryview(np.ascontiguousarray(preferences))  # type: ignore[arg-type]  # an array is a buffer

    def compare(one: int, other: int) -> int:
        preference = numbers[one, other]
        if seen is not None:
            seen(one, other, preference)
        return (preference < 0) - (preference > 0)

    return np.array(sorted(np.asarray(start).tolist(), key=cmp_to_key(compare)), dtype=np.int64)


def cyclic_triples(preferences: np.ndarray) -> int:
    """How many triples of documents are preferred in a circle; 0 where the preferences are transitive.

    A triple that is no circle has one document that beats both others. Of two documents without a preference the first
    one counts as preferred.

    >>> cyclic_triples(np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]]))
    1
    """
    count = len(preferences)
    beats = (preferences > 0) | ((preferences == 0) & np.triu(np.ones((count, count), dtype=bool), k=1))
    wins = beats.sum(axis=1)
    return count * (count - 1) * (count - 2) // 6 - int(np.sum(wins * (wins - 1) // 2))
