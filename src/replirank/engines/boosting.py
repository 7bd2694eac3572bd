"""Boosting: round by round a weak learner is added that a booster chose. The best number of them is kept.

What a booster minimises is its own; rounds, curves and the choice on validation are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from replirank.engines.task import Fit, Task
from replirank.engines.weak_learners import WeakLearners
from replirank.metrics.per_query import Judge
from replirank.models.base import Model
from replirank.models.stumps import Stumps

CURVE = "burges.ndcg@10"  # of the training curve, whatever chooses


class Choice(NamedTuple):
    """A weak learner and its coefficient."""

    feature: int
    threshold: int  # its number, from 0
    alpha: float
    loss: float  # of the training set, with it


class Ended(NamedTuple):
    """Why there is no further weak learner."""

    why: str


class Booster(Protocol):
    """Knows the training set and what was chosen so far."""

    def choose(self) -> Choice | Ended: ...


class Round(NamedTuple):
    """A row of the history."""

    round: int
    loss: float
    training_ndcg: float  # NDCG@10 of the training queries
    validation: float  # the metric that chooses


class Curves:
    """What each round came to, and which one validates best (the first of equals)."""

    def __init__(self, task: Task, rounds: int):
        self.task, self.rounds = task, rounds
        self.training = Judge(task.train.labels, task.train.offsets, CURVE)
        self.history: list[Round] = []
        self.best = 0

    def add(self, loss: float, train_scores: np.ndarray, vali_scores: np.ndarray) -> None:
        row = self._round(len(self.history) + 1, loss, train_scores, vali_scores)
        if not self.best or row.validation > self.history[self.best - 1].validation:
            self.best = row.round
        self.history.append(row)
        if row.round % 10 == 0 or row.round == self.rounds:
            self.task.report(f"round {row.round}/{self.rounds}, loss {loss:.6g}, validation {row.validation:.4f}")

    def _round(self, number: int, loss: float, train_scores: np.ndarray, vali_scores: np.ndarray) -> Round:
        return Round(number, loss, float(np.mean(self.training(train_scores))), self.task.validate(vali_scores))

    def end(self, ended: Ended) -> None:
        self.task.report(f"ended after round {len(self.history)}: {ended.why}")

    def fit(self, model: Callable[[int], Model]) -> Fit:
        """`model` of the number of rounds that validates best; where there was nothing to learn, of none."""
        nothing = (np.zeros(data.documents) for data in (self.task.train, self.task.vali))
        return Fit(model(self.best), pd.DataFrame(self.history or [self._round(0, 0.0, *nothing)]))


def boost(booster: Booster, learners: WeakLearners, task: Task, *, rounds: int) -> Fit:
    """At most so many rounds of choosing a weak learner."""
    curves, chosen = Curves(task, rounds), []
    scores = {"train": np.zeros(task.train.documents), "vali": np.zeros(task.vali.documents)}
    for _ in range(rounds):
        choice = booster.choose()
        if isinstance(choice, Ended):
            curves.end(choice)
            break
        chosen.append(choice)
        stump = _stumps(learners, chosen[-1:])
        scores["train"] += choice.alpha * learners.output(choice.feature, choice.threshold)
        scores["vali"] += stump.score(task.vali)
        curves.add(choice.loss, scores["train"], scores["vali"])
    return curves.fit(lambda best: _stumps(learners, chosen[:best]))


def _stumps(learners: WeakLearners, chosen: list[Choice]) -> Stumps:
    features = np.array([choice.feature for choice in chosen], dtype=np.int64)
    thresholds = np.array([choice.threshold for choice in chosen], dtype=np.int64)
    return Stumps(
        features=features,
        thresholds=learners.thresholds[features, thresholds],
        alphas=np.array([choice.alpha for choice in chosen], dtype=np.float64),
    )
