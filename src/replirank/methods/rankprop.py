"""RankProp (Caruana et al. 1996): regression on ranks that follow the net where the labels leave them open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.places import scaled_places
from replirank.engines.one_by_one import descend_one_by_one, squared_error
from replirank.methods.base import Fit, Method, Task
from replirank.models.base import Model
from replirank.models.linear import Affine


@dataclass(frozen=True)
class RankProp(Method):
    """A linear function with an offset, by plain gradient descent with an update after each document, as its paper.

    Each pass regresses on targets that stay as they are during it; the next one has those of the net as it is then. The
    rate is constant: the targets move, so a growing error is no sign of going astray.
    """

    learning_rate: float = 0.1  # as a part of the largest rate at which no update overshoots its target
    epochs: int = 100

    title = "RankProp"
    grid = {"learning_rate": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)}

    @classmethod
    def share(cls, train: RankingData, plan: None = None) -> RankingData:
        """The documents in an order that is theirs and not the file's, since the random one is drawn on top of it."""
        order = np.lexsort((*train.features.T, train.labels, train.query_of))
        return replace(train, features=train.features[order], labels=train.labels[order])

    def fit(self, task: Task) -> Fit:
        train: RankingData = task.shared
        rows = np.arange(train.documents, dtype=np.int32)

        def examples(model: Model) -> tuple[np.ndarray, ...]:
            return rows, rank_targets(model.score(train), train.labels)

        return descend_one_by_one(
            squared_error,
            Affine(np.zeros(train.features.shape[1], dtype=np.float32), np.zeros((), dtype=np.float32)),
            train.features,
            examples,
            task=task,
            learning_rate=self.learning_rate * largest_rate(train.features),
            epochs=self.epochs,
            patience=None,
        )


def largest_rate(features: np.ndarray) -> float:
    """An update changes its document's error e by -2 rate (|x|^2 + 1) e: beyond this rate it would change its sign.

    >>> largest_rate(np.array([[0.0, 1.0], [1.0, 1.0]]))  # 1 / (2 (2 + 1))
    0.166...
    """
    return float(1 / (2 * (np.square(features, dtype=np.float64).sum(axis=1).max(initial=0) + 1)))


def rank_targets(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Each document's rank in the whole training set, scaled to 0..1: by label, equal labels as the net has them.

    Documents equal in both have the middle of their ranks.

    >>> rank_targets(np.array([0.3, 0.9, 0.1, 0.3, 0.3]), np.array([1, 0, 1, 0, 0])).tolist()
    [1.0, 0.5, 0.75, 0.125, 0.125]
    """
    order = np.lexsort((scores, labels))
    changes = (np.diff(scores[order]) != 0) | (np.diff(labels[order]) != 0)
    groups = np.empty(len(order), dtype=np.int64)
    groups[order[:1]], groups[order[1:]] = 0, np.cumsum(changes)
    return scaled_places(groups).astype(np.float32)
