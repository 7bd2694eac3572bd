"""Train one method on one data set: every fold, every grid point, the choice by validation, the scores."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank.atomic import atomic_write, write_text
from replirank.data.arrays import Dataset, Judgements
from replirank.errors import ReplirankError
from replirank.evaluation import scores
from replirank.evaluation.scores import Scored
from replirank.methods.base import Fit, Method, Task
from replirank.metrics.per_query import Judge
from replirank.metrics.registry import column_of, parse
from replirank.models import base as models
from replirank.models.base import Model
from replirank.seeds import derive


class Trained(NamedTuple):
    scored: list[Scored]
    models: dict[str, Model]  # "fold1" -> the chosen model
    choices: list[dict[str, Any]]  # for each fold: what was tried, what was chosen, how long it took
    histories: list[pd.DataFrame]  # fold, point (the number of the grid point), chosen, and the method's own columns
    unsupported: str | None = None  # the reason, where a method does not support the data set; all else is empty

    @property
    def history(self) -> pd.DataFrame:
        none = pd.DataFrame(columns=["fold", "point", "chosen"])  # of a method that has no rounds
        return pd.concat(self.histories, ignore_index=True) if self.histories else none

    def choose(
        self,
        fold: int,
        points: Sequence[Mapping[str, Any]],
        values: Sequence[float],
        histories: Sequence[pd.DataFrame | None],
        select_by: str,
    ) -> int:
        """Record what was tried in a fold; gives the best grid point, of equals the first.

        Values and histories are those of `task.validate`, where higher is better; the metric itself is recorded.
        """
        best, sign = int(np.argmax(values)), parse(select_by)[0].sign
        values = [sign * value for value in values]
        self.choices.append(
            {
                "fold": fold + 1,
                "chosen": points[best],
                "validation": values[best],
                "tried": [{**point, "validation": value} for point, value in zip(points, values, strict=True)],
            }
        )
        for number, history in enumerate(histories):
            if history is not None:
                place = {"fold": fold + 1, "point": number + 1, "chosen": number == best}
                own = history.assign(**{name: sign * history[name] for name in history if name == "validation"})
                self.histories.append(pd.DataFrame(place, index=history.index).join(own))
        return best


def combinations(grid: Mapping[str, Sequence]) -> list[dict[str, Any]]:
    """Every grid point.

    >>> combinations({"a": [1, 2], "b": [3]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def grid_points(method: type[Method], grid: Mapping[str, Sequence] | None) -> list[dict[str, Any]]:
    """Every combination of the grid's values; the config's values of a hyper-parameter replace the method's own."""
    points = combinations({**method.grid, **(grid or {})})
    for point in points:
        method.make(**point)  # refuse a wrong name before hours of work, not after
    return points


def train(
    dataset: Dataset,
    method: type[Method],
    *,
    grid: Mapping[str, Sequence] | None,
    convention: str,
    select_by: str,
    seed: int,
    names: tuple[str, str],
    splits: Sequence[str] = ("vali", "test"),
    report: Callable[[str], None],
) -> Trained:
    """`select_by` is the metric ("map", "ndcg@10") that chooses, on the validation queries, in this convention.

    `task.validate` negates a metric whose lower values are better; what is recorded is the metric itself.
    `names` (data set, method) go into the seeds. Of equally good grid points the first is taken.
    """
    points = grid_points(method, grid)
    trained = Trained([], {}, [], [])
    if reason := method.unsupported(dataset.data):
        report(f"not supported: {reason}")
        return trained._replace(unsupported=reason)
    plan = method.plan(dataset.split(fold, "train") for fold in range(len(dataset.folds)))
    for fold in range(len(dataset.folds)):
        started = time.perf_counter()
        train_data, vali = dataset.split(fold, "train"), dataset.split(fold, "vali")
        task = Task(
            train=train_data,
            vali=vali,
            seed=derive(seed, *names, fold),
            validate=validator(vali, column_of(select_by, convention), dataset.best_label),
            report=lambda text: None,
            shared=method.share(train_data, plan),
        )
        where = f"fold {fold + 1}/{len(dataset.folds)}"
        fits, at_once = _fit_all(method, points, task, report, where)
        values = [task.validate(fit.model.score(vali)) for fit in fits]
        best = trained.choose(fold, points, values, [fit.history for fit in fits], select_by)
        trained.models[f"fold{fold + 1}"] = model = fits[best].model
        trained.scored.extend(Scored(fold, split, model.score(dataset.split(fold, split))) for split in splits)
        trained.choices[-1] |= {"seconds": time.perf_counter() - started, "at_once": at_once}
        report(f"{where}: chose {_show(points[best])}, validation {trained.choices[-1]['validation']:.4f}")
    return trained


def _fit_all(
    method: type[Method], points: list[dict[str, Any]], task: Task, report: Callable[[str], None], where: str
) -> tuple[list[Fit], bool]:
    """The fit of every grid point: all at once where the method can (and whether it could), else one by one."""
    instances = [method.make(**point) for point in points]
    with _at(where):
        fits = method.fit_together(instances, replace(task, report=lambda text: report(f"{where}: {text}")))
    if fits is None:
        fits = []
        for number, (point, instance) in enumerate(zip(points, instances, strict=True), 1):
            here = f"{where}, grid point {number}/{len(points)}"
            report(f"{here}: {_show(point)}")
            with _at(f"{here}, {_show(point)}"):
                fits.append(instance.fit(replace(task, report=lambda text, here=here: report(f"{here}: {text}"))))
                _check_scores(fits[-1], task)
        return fits, False
    for point, fit in zip(points, fits, strict=True):
        with _at(f"{where}, {_show(point)}"):
            _check_scores(fit, task)
    return fits, True


@contextmanager
def _at(where: str) -> Iterator[None]:
    """A failure says which fold and grid point it was."""
    try:
        yield
    except ReplirankError as error:
        raise ReplirankError(f"{where}: {error.what}", remedy=error.remedy) from error


def _check_scores(fit: Fit, task: Task) -> None:
    if not np.all(np.isfinite(fit.model.score(task.vali))):
        raise ReplirankError("scores are not finite", remedy="take extreme values out of the grid in config.yaml")


def validator(vali: Judgements, column: str, best_label: float) -> Callable[[np.ndarray], float]:
    """Scores of vali's documents -> the mean of a column of `evaluate`, negated where lower is better."""
    judge = Judge(vali.labels, vali.offsets, column, best_label)

    def validate(scores: np.ndarray) -> float:
        values = judge(scores)
        if np.all(np.isnan(values)):
            raise ReplirankError(
                f"no validation query has a {column}, so nothing can be chosen by it",
                remedy="set another convention or select_by in config.yaml",
            )
        return judge.metric.sign * float(np.nanmean(values))

    return validate


def _show(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items()) or "no hyper-parameters"


def save(files: Mapping[str, str | PathLike], dataset: Dataset, title: str, trained: Trained) -> None:
    """What a rule that trains leaves behind: scores, choices, history, and models unless another program has them."""
    stated = {"title": title, "folds": trained.choices}
    if trained.unsupported:
        stated["unsupported"] = trained.unsupported
    scores.write(files["scores"], scores.frame(dataset, trained.scored), unsupported=trained.unsupported)
    if "models" in files:
        models.save(files["models"], trained.models)
    write_text(files["choices"], json.dumps(stated, indent=2) + "\n")
    with atomic_write(files["history"]) as temporary:
        trained.history.to_csv(temporary, index=False, lineterminator="\n")
