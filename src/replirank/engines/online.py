"""PRank (Crammer and Singer 2001) and averages of it, online: an update after each document, whatever its query.

An epoch is one jitted loop over the documents in a fresh random order. Perceptrons that see different documents of the
same order run side by side, the last axis of every array being theirs, so that all of an ensemble, and the ensembles of
all grid points, are one computation. The data goes in as arguments, so that folds share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.models.base import Model


class ExampleShapes(NamedTuple):
    """What the training sets of all folds fit into."""

    documents: int
    thresholds: int


class Examples(NamedTuple):
    """A training set, padded to the common shapes: with rows never visited and thresholds never moved."""

    features: np.ndarray  # (documents + padding, features)
    targets: np.ndarray  # (documents + padding, thresholds): +1 if the label is above it, -1 if below, 0 if none there
    documents: int


class Perceptrons(NamedTuple):
    weights: jax.Array  # (features, perceptrons)
    thresholds: jax.Array  # (thresholds, perceptrons)


class Epoch(NamedTuple):
    """A row of the history."""

    epoch: int
    loss: float  # how many levels off the prediction was, the mean over documents, each taken before its update
    validation: float


def example_shapes(trains: Iterable[RankingData]) -> ExampleShapes:
    """Shapes that all these training sets fit into."""
    sizes = [(train.documents, len(np.unique(train.labels)) - 1) for train in trains]
    return ExampleShapes(*map(max, zip(*sizes, strict=True)))


def make_examples(data: RankingData, shapes: ExampleShapes | None = None) -> Examples:
    """The examples of a training set. Its levels are counted, so that gaps between labels do not matter."""
    shapes = shapes or example_shapes([data])
    # An order of the documents that is theirs and not the file's, since the random one is drawn on top of it.
    order = np.lexsort((*data.features.T, data.labels, data.query_of))
    levels, ranks = np.unique(data.labels[order], return_inverse=True)
    targets = np.zeros((shapes.documents, shapes.thresholds), dtype=np.float32)
    targets[: data.documents, : len(levels) - 1] = np.where(ranks[:, None] > np.arange(len(levels) - 1), 1, -1)
    padding = shapes.documents - data.documents
    return Examples(np.pad(data.features[order], ((0, padding), (0, 0))), targets, data.documents)


def margins_of(perceptrons: Perceptrons, x: jax.Array) -> jax.Array:
    """(thresholds, perceptrons): how far above each threshold the document is put. The level predicted counts them."""
    return x @ perceptrons.weights - perceptrons.thresholds


def update(perceptrons: Perceptrons, x: jax.Array, target: jax.Array, seen: jax.Array) -> Perceptrons:
    """PRank's rule (Crammer and Singer 2001, Fig. 2), for those perceptrons that see the document.

    Each threshold that is on the wrong side of w . x, or on it, moves by 1, and w by x for each such threshold.

    >>> start = Perceptrons(weights=jnp.zeros((2, 1)), thresholds=jnp.zeros((2, 1)))
    >>> after = update(start, jnp.array([1.0, 3.0]), target=jnp.array([1.0, 1.0]), seen=jnp.array([True]))
    >>> print(after.weights.ravel(), after.thresholds.ravel())  # of the highest of three levels
    [2. 6.] [-1. -1.]
    """
    y = target[:, None]
    moves = jnp.where(seen & (margins_of(perceptrons, x) * y <= 0), y, 0)
    return Perceptrons(
        weights=perceptrons.weights + x[:, None] * jnp.sum(moves, axis=0),
        thresholds=perceptrons.thresholds - moves,
    )


@partial(jax.jit, static_argnames="expand")
def _epoch(perceptrons, features, targets, order, seen, count, members, *, expand):
    """The perceptrons after an epoch, and for each ensemble how many levels it was off, the sum over documents.

    `members` (perceptrons, ensembles) is 1 where a perceptron belongs to an ensemble.
    """

    def body(i, carry):
        perceptrons, off = carry
        x, target = expand(features[order[i]]), targets[order[i]]
        # The sum of the margins has the sign of their mean, which is the margin of the averaged perceptron.
        above = margins_of(perceptrons, x) @ members >= 0
        off += jnp.sum((above != (target > 0)[:, None]) & (target != 0)[:, None], axis=0)
        return update(perceptrons, x, target, seen[i]), off

    # The number of documents is a value, not a shape: folds of other sizes run the same code.
    return jax.lax.fori_loop(0, count, body, (perceptrons, jnp.zeros(members.shape[1], dtype=jnp.int32)))


class Draw(NamedTuple):
    """The random choices of an epoch."""

    order: np.ndarray  # (documents,) the rows in the order of visits
    chances: np.ndarray  # (documents, perceptrons) uniform: a perceptron sees a visited row if it is below tau


def draw(seed: int, epoch: int, documents: int, perceptrons: int) -> Draw:
    """What a perceptron sees depends neither on how many others there are nor on the number of epochs."""
    random = np.random.default_rng([seed, epoch])
    return Draw(random.permutation(documents), random.random((perceptrons, documents), dtype=np.float32).T)


class Ensemble(NamedTuple):
    """A grid point: an average of perceptrons."""

    perceptrons: int  # how many are averaged
    tau: float  # the chance of each to see a document
    epochs: int


def train_ensembles(
    ensembles: Sequence[Ensemble],
    task: Task,
    *,
    expand: Callable[[jax.Array], jax.Array],
    model: Callable[[np.ndarray], Model],
) -> list[Fit]:
    """All ensembles at once; of each the epoch that validates best is kept (the first of equals).

    `expand` gives the features that are learned on, of one document; `model` what scores with weights of these.
    """
    examples: Examples = task.shared
    features, targets = jax.device_put((examples.features, examples.targets))  # once, not in every epoch
    taus, most = sorted({ensemble.tau for ensemble in ensembles}), max(each.perceptrons for each in ensembles)
    members = _members(ensembles, taus, most).astype(features.dtype)
    width = len(jax.eval_shape(expand, features[0]))
    perceptrons = Perceptrons(
        weights=np.zeros((width, len(members)), features.dtype),
        thresholds=np.zeros((targets.shape[1], len(members)), features.dtype),
    )
    progresses = [_Progress(ensemble.epochs) for ensemble in ensembles]
    for epoch in range(1, max(ensemble.epochs for ensemble in ensembles) + 1):
        order, seen = _pad(draw(task.seed, epoch, examples.documents, most), taus, len(features))
        perceptrons, off = _epoch(
            perceptrons, features, targets, order, seen, examples.documents, members, expand=expand
        )
        weights = _averages(perceptrons, members, epoch)
        losses = np.asarray(off) / examples.documents
        for progress, average, loss in zip(progresses, weights, losses.tolist(), strict=True):
            progress.add(epoch, loss, model(average), task)
        _report(epoch, progresses, task.report)
    return [Fit(progress.best, pd.DataFrame(progress.history)) for progress in progresses]


class _Progress:
    """How one ensemble fared so far."""

    def __init__(self, epochs: int):
        self.epochs = epochs
        self.best: Model  # from the first epoch on
        self.history: list[Epoch] = []

    def add(self, epoch: int, loss: float, model: Model, task: Task) -> None:
        if epoch > self.epochs:  # others go on
            return
        value = task.validate(model.score(task.vali))
        if all(value > earlier.validation for earlier in self.history):
            self.best = model
        self.history.append(Epoch(epoch, loss, value))


def _report(epoch: int, progresses: Sequence[_Progress], report: Callable[[str], None]) -> None:
    """One line for all grid points: that of the best one."""
    running = [progress for progress in progresses if progress.epochs >= epoch]
    best = max(running, key=lambda progress: progress.history[-1].validation)
    _, loss, value = best.history[-1]
    report(f"epoch {epoch}/{best.epochs}, loss {loss:.5g}, validation {value:.4f}")


def _members(ensembles: Sequence[Ensemble], taus: Sequence[float], most: int) -> np.ndarray:
    """(perceptrons, ensembles): `most` perceptrons for each tau, of which an ensemble averages the first so many."""
    members = np.zeros((len(taus), most, len(ensembles)))
    for number, ensemble in enumerate(ensembles):
        members[taus.index(ensemble.tau), : ensemble.perceptrons, number] = 1
    return members.reshape(-1, len(ensembles))


def _pad(drawn: Draw, taus: Sequence[float], documents: int) -> tuple[np.ndarray, np.ndarray]:
    """The order and who sees what, (documents, perceptrons), as long as the common shapes say.

    All taus share the draws, so that what tells them apart is not luck.
    """
    visited, most = drawn.chances.shape
    order = np.zeros(documents, dtype=np.int32)
    seen = np.zeros((documents, len(taus), most), dtype=bool)
    order[:visited] = drawn.order
    for number, tau in enumerate(taus):
        np.less(drawn.chances, tau, out=seen[:visited, number])
    return order, seen.reshape(documents, -1)


def _averages(perceptrons: Perceptrons, members: np.ndarray, epoch: int) -> np.ndarray:
    """(ensembles, features) in float64."""
    weights = np.asarray(perceptrons.weights, dtype=np.float64)
    if not np.all(np.isfinite(weights)):
        raise ReplirankError(
            f"the weights of a perceptron are not finite in epoch {epoch}",
            remedy="features of extreme size cannot be learned on in float32: scale them",
        )
    return np.stack([weights[:, ours > 0].mean(axis=1) for ours in members.T])
