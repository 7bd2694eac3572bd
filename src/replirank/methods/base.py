"""What a method is: a frozen dataclass whose fields are its hyper-parameters, with a `fit`.

Adding one is one file in this folder with one subclass of Method; docs/adding-a-method.md walks through it. The
conformance suite (tests/conformance) runs over every method found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from replirank.data.arrays import RankingData
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError

__all__ = ["Fit", "Method", "Task"]


@dataclass(frozen=True)
class Method(ABC):
    """Subclasses are frozen dataclasses; their fields must have defaults."""

    title: ClassVar[str]  # as tables and figures name it
    grid: ClassVar[Mapping[str, Sequence]] = {}  # what validation chooses from, unless config.yaml says other

    @classmethod
    def unsupported(cls, data: RankingData) -> str | None:
        """Why this method cannot be used on this data set, for people; None where it can. Asked before training."""
        return None

    @classmethod
    def plan(cls, trains: Iterable[RankingData]) -> Any:
        """Whatever all folds of a data set can share: the shapes of jitted code. It is passed on to `share`."""
        return None

    @classmethod
    def share(cls, train: RankingData, plan: Any = None) -> Any:
        """Whatever all grid points of a fold can share (pairs, batches, bins). It is passed on in the task."""
        return None

    @abstractmethod
    def fit(self, task: Task) -> Fit:
        """Learn from task.train. Every random choice comes from task.seed."""

    @classmethod
    def fit_together(cls, points: Sequence[Method], task: Task) -> list[Fit] | None:
        """The fits of all grid points of a fold, for a method that gains by computing them at once; None: one by one.

        Each must be what `fit` alone would give.
        """
        return None

    @classmethod
    def make(cls, **hyperparameters: Any) -> Method:
        """An instance; a hyper-parameter that the method does not have is refused."""
        known = {field.name for field in fields(cls)}
        for name in hyperparameters:
            if name not in known:
                raise ReplirankError(
                    f"{cls.title} has no hyper-parameter {name!r}",
                    remedy=f"it has {', '.join(sorted(known))}" if known else "it has none: leave its grid empty",
                )
        return cls(**hyperparameters)
