"""frank2007, section 4.4.4: how much does a method gain from more training queries?

A draw puts the training queries of each fold into a random order and takes the first so many twelfths of them, the
same for every method. Validation and test queries stay as they are. All twelfths are the usual results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from replirank.data.arrays import Dataset, Fold, Judgements
from replirank.data.pairs import pair_counts
from replirank.methods.base import Method
from replirank.metrics.per_query import Judge
from replirank.metrics.registry import column_of
from replirank.seeds import derive
from replirank.training import train

ALL = 12


def smaller_sizes(queries: Sequence[int]) -> list[int]:
    """The training sizes that the paper printed, in twelfths of the last and largest, which is left out.

    >>> smaller_sizes([1000, 4000, 12_000])
    [1, 4]
    """
    *smaller, full = queries
    return [ALL * size // full for size in smaller]


def draw(
    dataset: Dataset,
    method: type[Method],
    number: int,
    parts: Sequence[int],  # the training sizes, in twelfths
    *,
    grid: Mapping[str, Sequence] | None,
    convention: str,
    select_by: str,
    seed: int,
    names: tuple[str, str],
    report: Callable[[str], None],
) -> pd.DataFrame:
    """One method on one draw: a row for each size and fold, with the metric `select_by` of the test queries.

    The full size has its counts only: it is not trained again.
    """
    place = {"method": names[1], "draw": number}
    rows = []
    for twelfths in parts:
        smaller = subset(dataset, twelfths, seed=derive(seed, "training sizes", names[0], number))
        trained = train(
            smaller,
            method,
            grid=grid,
            convention=convention,
            select_by=select_by,
            seed=derive(seed, "training sizes", number, twelfths),
            names=names,
            splits=["test"],
            report=lambda text, twelfths=twelfths: report(f"{twelfths}/{ALL} of the queries, {text}"),
        )
        for scored in trained.scored:
            test = smaller.judgements(scored.fold, "test")
            judge = Judge(test.labels, test.offsets, column_of(select_by, convention), dataset.best_label)
            size = sizes(smaller.judgements(scored.fold, "train"))
            here = {**place, "twelfths": twelfths, "fold": scored.fold + 1}
            rows.append({**here, **size, "test": float(np.nanmean(judge(scored.scores)))})
    for fold in range(len(dataset.folds)):
        rows.append({**place, "twelfths": ALL, "fold": fold + 1, **sizes(dataset.judgements(fold, "train"))})
    return pd.DataFrame(rows)


def subset(dataset: Dataset, twelfths: int, *, seed: int) -> Dataset:
    """The data set with so many twelfths of each fold's training queries; those of a smaller number are among them."""
    folds = []
    for number, fold in enumerate(dataset.folds):
        order = np.random.default_rng([seed, number]).permutation(fold.train)
        count = max(1, round(len(order) * twelfths / ALL))
        folds.append(Fold(np.sort(order[:count]), fold.vali, fold.test))
    return replace(dataset, folds=tuple(folds))


def sizes(train: Judgements) -> dict[str, Any]:
    return {"queries": train.queries, "documents": train.documents, "pairs": int(pair_counts(train).sum())}
