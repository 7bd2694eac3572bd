"""bayesopt2010: what depends on choices that the paper leaves open, all else being as in its Table 1.

How far descent goes, whether its end or its best validated step is kept, where the Bayes-optimal function starts, and
from which number levels are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from replirank import methods
from replirank.data.arrays import Dataset
from replirank.engines.full_batch import Solution
from replirank.evaluation.per_dataset import metrics_of
from replirank.evaluation.scores import Scored
from replirank.methods.base import Task
from replirank.methods.families.surrogates import (
    CONVERGED,
    EVEN,
    LOG_SHARES,
    PLAIN,
    SHARES,
    BayesFunction,
    How,
    Surrogate,
)
from replirank.metrics.registry import column_of
from replirank.training import combinations, validator

LAST, BEST = "last", "best"


class Budget(NamedTuple):
    name: str
    optimizer: str
    epochs: int


BUDGETS = (
    Budget("200", PLAIN, 200),
    Budget("400", PLAIN, 400),
    Budget("converged", CONVERGED, 1000),
)
STARTS = (SHARES, EVEN, LOG_SHARES)


class Variant(NamedTuple):
    budget: Budget
    starts: Sequence[str]
    lowest: int = 0


VARIANTS = (*(Variant(budget, STARTS) for budget in BUDGETS), Variant(BUDGETS[-1], (SHARES,), lowest=1))


def run(
    dataset: Dataset,
    loss: str,
    *,
    name: str,
    grid: Mapping[str, Sequence],  # config.yaml's for the Bayes-optimal method
    convention: str,
    select_by: str,
    report: Callable[[str], None],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The test queries' metrics of each variant, and what became of the grid points."""
    method = methods.find(f"{loss}_bayes")
    assert issubclass(method, BayesFunction)
    plan = method.plan(dataset.split(fold, "train") for fold in range(len(dataset.folds)))
    metrics, descents = [], []
    for fold in range(len(dataset.folds)):
        train, vali = dataset.split(fold, "train"), dataset.split(fold, "vali")
        validate = validator(vali, column_of(select_by, convention), dataset.best_label)
        task = Task(train, vali, seed=0, validate=validate, report=lambda text: None, shared=method.share(train, plan))
        test = dataset.split(fold, "test")
        for variant in VARIANTS:
            report(f"fold {fold + 1}, {variant.budget.name}, levels from {variant.lowest}")
            for cls, how, solutions in _solve(method, grid, variant, task):
                keys = {
                    "dataset": name,
                    "loss": loss,
                    "function": "Bayes-optimal" if cls is method else "linear",
                    "budget": variant.budget.name,
                    "start": how.start if cls is method else "",
                    "lowest": how.lowest,
                }
                descents.append({**keys, "fold": fold + 1, **_what_became(solutions, variant.budget)})
                for keep in (LAST, BEST):
                    model = cls.model_of(task, how)(_chosen(solutions, keep))
                    scored = [Scored(fold, "test", model.score(test))]
                    metrics.append(metrics_of(dataset, scored, {**keys, "keep": keep}))
    return pd.concat(metrics, ignore_index=True), pd.DataFrame(descents)


def _solve(
    method: type[BayesFunction], grid: Mapping[str, Sequence], variant: Variant, task: Task
) -> Iterator[tuple[type[Surrogate], How, list[Solution]]]:
    """The linear functions, then the Bayes-optimal ones from each start; they begin where linear descent ended."""
    epochs = {"epochs": [variant.budget.epochs]}
    points = [method(**point) for point in combinations({**method.grid, **grid, **epochs})]
    wanted = [method.linear_point(point) for point in points]
    distinct = list(dict.fromkeys(wanted))
    how = How(variant.budget.optimizer, lowest=variant.lowest)
    solved = dict(zip(distinct, method.linear.solve(distinct, task, how), strict=True))
    yield method.linear, how, list(solved.values())
    linear = np.stack([solved[point].params[0] for point in wanted])
    for start in variant.starts:
        from_there = how._replace(start=start)
        yield method, from_there, method.solve_from(linear, points, task, from_there)


def _chosen(solutions: Sequence[Solution], keep: str) -> np.ndarray:
    """The parameters that rank the validation queries best, among the grid points' last or best steps."""
    if keep == LAST:
        return max(solutions, key=lambda each: each.history["validation"].iloc[-1]).params
    return max(solutions, key=lambda each: each.history["validation"].max()).best


def _what_became(solutions: Sequence[Solution], budget: Budget) -> dict[str, int]:
    ends = [each.history["epoch"].iloc[-1] for each in solutions]
    return {
        "points": len(solutions),
        "inert": sum(each.history["slope"].iloc[0] == 0 for each in solutions),
        "unfinished": sum(end >= budget.epochs for end in ends),
        "evaluations": sum(ends),
    }
