"""ranknet2005, section 5: RankNet on the two artificial tasks. A draw is a new target function and new data.

The recipe is the paper's: a learning rate of 0.001 that is halved when the error grows, 100 epochs or until no training
pair is wrong, the epoch of least validation error kept; in two-layer nets the first layer's weights start at zero, the
second layer's in [-0.1, 0.1]. Nothing is tuned. The paper updates the weights after each pair. Here that is one of two
ways: the tables' nets are updated after each query, and others after each pair, to see what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank.data.arrays import Dataset, RankingData
from replirank.data.artificial import artificial
from replirank.data.pairs import pairs_of
from replirank.engines.batches import Batches, make_batches, pair_shapes
from replirank.engines.one_by_one import cost_of_pair, descend_one_by_one
from replirank.engines.stochastic import LossOfScores, descend_by_query
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.losses.pairwise import cross_entropy, cross_entropy_ties
from replirank.models import linear, two_layer
from replirank.models.base import Model
from replirank.seeds import derive

LEARNING_RATE = 0.001
EPOCHS = 100
# The paper says that a net could learn 1,000 vectors without error, not how long it took nor how often it was tried.
CAPACITY_STARTS = 20
CAPACITY_EPOCHS = 500  # of each start
# Both readings of the polynomial have one draw's vectors and terms, so that nothing but the reading differs.
DRAWN_AS = {"net": "net", "poly": "poly", "poly_variance": "poly"}
# Updates after each pair take half a minute a draw with more vectors than this: every other draw has to do.
PAIRS_IN_EVERY_DRAW = 2500


class Trial(NamedTuple):
    """A net, trained on the first so many vectors."""

    table: str
    units: int  # hidden ones; 0: a linear net
    ties: bool  # pairs with equal labels are trained on, with target probability 1/2
    vectors: int
    update: str = "query"  # the weights are updated after each query, or after each "pair"

    @property
    def net(self) -> str:
        return "two_layer" if self.units else "linear"


def trials(task: str, vectors: Mapping[str, Any]) -> list[Trial]:
    """What the paper tries on a task. `vectors` are the training sizes that it printed, for each table."""
    table1 = [Trial("table1", units, False, size) for units in (0, 5) for size in vectors["table1"]]
    table2 = [Trial("table2", 10, ties, size) for ties in (False, True) for size in vectors["table2"]]
    capacity = [Trial("capacity", 10, False, vectors["capacity"])]
    by_task = {"net": [*table1, *capacity], "poly": [*table1, *table2], "poly_variance": [*table1, *table2]}
    if task not in by_task:
        raise ReplirankError(f"there is no artificial task {task!r}", remedy=f"take one of {', '.join(by_task)}")
    return by_task[task]


def pair_trials(number: int, vectors: Mapping[str, Any]) -> list[Trial]:
    """Table 1 again with an update after each pair, in this draw of any task."""
    return [
        Trial("updates", units, False, size, "pair")
        for units in (0, 5)
        for size in vectors["table1"]
        if size <= PAIRS_IN_EVERY_DRAW or number % 2 == 0
    ]


def draw(
    task: str,
    number: int,
    trials: Sequence[Trial],
    *,
    seed: int,
    epochs: int = EPOCHS,
    report: Callable[[str], None] = lambda text: None,
) -> pd.DataFrame:
    """The trials of one draw: a row for each trial and split.

    `correct` is in percent, of the `pairs` of documents of one query whose labels differ; `wrong` counts the others.
    `trained_pairs` are those that the net learned from, `epoch` is the one that was kept, after so many `starts`.
    """
    seed = derive(seed, "ranknet2005", DRAWN_AS[task], number)
    rows = run(artificial(task, seed=seed), trials, seed=seed, epochs=epochs, report=report)
    return pd.DataFrame([{"task": task, "draw": number, **row} for row in rows])


def run(
    dataset: Dataset, trials: Sequence[Trial], *, seed: int, epochs: int, report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The trials on one data set; all of them have one seed and one set of shapes, so few compilations."""
    train = dataset.split(0, "train")
    held_out = {split: dataset.split(0, split) for split in ("vali", "test")}
    trains = {trial.vectors: first_vectors(train, trial.vectors) for trial in trials}
    shapes = pair_shapes([trains[max(trains)]])
    rows = []
    for trial in trials:
        train = trains[trial.vectors]
        learner = Learner(trial, train, make_batches(train, shapes), seed, report)
        kept = learner.validated(held_out["vali"], epochs)
        results = {split: (data, kept) for split, data in {"train": train, **held_out}.items()}
        if trial.table == "capacity":
            results["train"] = train, learner.by_heart(CAPACITY_EPOCHS * epochs // EPOCHS)
        rows += [{**learner.described(), "split": split, **judged(*result)} for split, result in results.items()]
    return rows


def first_vectors(train: RankingData, vectors: int) -> RankingData:
    """The first queries that hold so many vectors."""
    ends = train.offsets[1:]
    if vectors not in ends:
        raise ReplirankError(
            f"{vectors} vectors are not a number of whole queries of the {train.documents} there are",
            remedy=f"take a multiple of {train.lengths[0]}",
        )
    return train.take(np.arange(np.searchsorted(ends, vectors) + 1))


class Kept(NamedTuple):
    model: Model
    epoch: int  # which it is of
    epochs: int  # that were run
    starts: int = 1  # that were tried


class Learner(NamedTuple):
    trial: Trial
    train: RankingData
    batches: Batches
    seed: int
    report: Callable[[str], None]

    def validated(self, vali: RankingData, epochs: int) -> Kept:
        """The net of the epoch with the least validation error."""
        return self._descend(self.start(), vali, epochs, "validated")

    def by_heart(self, epochs: int) -> Kept:
        """The net of the epoch with the least error on what it learns from, of a few starts: can it be none?"""
        tried = []
        for number in range(CAPACITY_STARTS):
            kept = self._descend(self.start(number), self.train, epochs, f"by heart, start {number + 1}")
            tried.append((wrong_pairs(kept.model.score(self.train), self.train)[0], number, kept))
            if tried[-1][0] == 0:
                break
        return min(tried)[-1]._replace(starts=len(tried))

    def start(self, number: int = 0) -> Model:
        """Section 5.1: the first layer's weights are zero, the second layer's random in [-0.1, 0.1]."""
        features = self.train.features.shape[1]
        if not self.trial.units:
            return linear.start(features)
        return two_layer.start(features, self.trial.units, seed=derive(self.seed, "start", number), spread=0.0)

    def _descend(self, start: Model, vali: RankingData, epochs: int, purpose: str) -> Kept:
        trial = self.trial
        what = f"{trial.net}, {trial.vectors} vectors{', with ties' if trial.ties else ''}, {purpose}"
        task = Task(
            train=self.train,
            vali=vali,
            seed=derive(self.seed, purpose),
            validate=lambda scores: -wrong_pairs(scores, vali)[0],
            report=lambda text: self.report(f"{what}: {text}"),
        )
        descend = self._descend_by_pair if trial.update == "pair" else self._descend_by_query
        fit = descend(start, task, epochs)
        history = pd.DataFrame(fit.history)
        best = history["validation"].idxmax()  # the first of the best, as `descend_by_query` keeps it
        return Kept(fit.model, int(history["epoch"][best]), len(history))

    def _descend_by_query(self, start: Model, task: Task, epochs: int) -> Fit:
        return descend_by_query(
            LossOfScores(cross_entropy_ties if self.trial.ties else cross_entropy),
            start,
            self.batches,
            task=task,
            learning_rate=LEARNING_RATE,
            epochs=epochs,
            optimizer="sgd",
            patience=1,
            finished=self._finished,
        )

    def _descend_by_pair(self, start: Model, task: Task, epochs: int) -> Fit:
        pairs = pairs_of(self.train.labels, self.train.offsets)
        return descend_one_by_one(
            cost_of_pair,
            start,
            self.train.features,
            lambda model: pairs,
            task=task,
            learning_rate=LEARNING_RATE,
            epochs=epochs,
            patience=1,
            finished=self._finished,
        )

    def _finished(self, model: Model) -> bool:
        return wrong_pairs(model.score(self.train), self.train)[0] == 0

    def described(self) -> dict[str, Any]:
        return {**self.trial._asdict(), "net": self.trial.net, "trained_pairs": trained_pairs(self.train, self.trial)}


def judged(data: RankingData, kept: Kept) -> dict[str, Any]:
    wrong, pairs = wrong_pairs(kept.model.score(data), data)
    correct = 100 * (1 - wrong / pairs)
    run = {"epoch": kept.epoch, "epochs": kept.epochs, "starts": kept.starts}
    return {"correct": correct, "wrong": wrong, "pairs": pairs, **run}


def wrong_pairs(scores: np.ndarray, data: RankingData) -> tuple[int, int]:
    """How many pairs of documents with different labels are not in their order, and how many there are.

    >>> data = RankingData(np.zeros((4, 1)), np.array([2, 0, 1, 1]), np.array([0, 4]), np.array([1]))
    >>> wrong_pairs(np.array([3.0, 1.0, 4.0, 1.0]), data)  # 2 below a 1, and 1 level with 0
    (2, 5)
    """
    scores, labels = (values.reshape(data.queries, -1) for values in (scores, data.labels))  # all are of one length
    pairs = labels[:, :, None] > labels[:, None, :]
    # A tie between different labels is no correct order.
    return int(np.sum(pairs & (scores[:, :, None] <= scores[:, None, :]))), int(np.sum(pairs))


def trained_pairs(data: RankingData, trial: Trial) -> int:
    """n(n - 1)/2 for each query with ties; without them the paper's sum over levels j of n_j (n_1 + ... + n_(j-1))."""
    every = int(np.sum(data.lengths * (data.lengths - 1) // 2))
    if trial.ties:
        return every
    levels = np.unique(data.labels)
    counts = np.array([np.sum(data.labels[rows, None] == levels, axis=0) for rows in data])
    return every - int(np.sum(counts * (counts - 1) // 2))
