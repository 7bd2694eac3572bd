"""Which reading of AdaRank did LETOR run? Readings, against LETOR's training and validation values by fold.

    python tools/adarank_readings.py ohsumed --data results/data

LETOR's sheets have 21 values for each fold and split: NDCG@1..10, P@1..10 and MAP. A reading is boosted for some
rounds, and its values after each are held against them. Test values are not looked at.

The second table needs no algorithm: it has weights of features that give LETOR's values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml

from replirank.data.arrays import Dataset, RankingData, load
from replirank.metrics.conventions import Convention, convention
from replirank.metrics.formulas import Lists, Ranking, average_precision, ndcg, precision
from replirank.metrics.per_query import Judge
from replirank.reporting.published import read_sheets

ROOT = Path(__file__).parents[1]
ROOM = ROOT / "src/replirank/papers/letor"
VALUES = [*(f"ndcg@{k}" for k in range(1, 11)), *(f"p@{k}" for k in range(1, 11)), "map"]
EXACT = 1.01e-4  # LETOR's values have four digits, not all of them rounded alike
SPLITS = ("train", "vali")

CHOICES = ("again", "once", "not the last", "five in a row", "best for the ensemble")

# The next P of a query, up to a factor: from P, E of the ensemble, E of the chosen feature and its alpha.
Weigh = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]
WEIGHTS: Mapping[str, Weigh] = MappingProxyType(
    {
        "exp(-E)": lambda p, ensemble, feature, alpha: np.exp(-ensemble),
        "exp(-2E)": lambda p, ensemble, feature, alpha: np.exp(-2 * ensemble),
        "1 - E": lambda p, ensemble, feature, alpha: 1 - ensemble,
        "P exp(-E)": lambda p, ensemble, feature, alpha: p * np.exp(-ensemble),
        "P exp(-alpha E of the feature)": lambda p, ensemble, feature, alpha: p * np.exp(-alpha * feature),
        "equal": lambda p, ensemble, feature, alpha: np.ones_like(p),
    }
)

# What else may be read otherwise.
CHANGES = (
    "both directions",
    "only queries with relevant documents",
    "ties: worst case",
    "ties: last first",
    "last of equals",
)


class Reading(NamedTuple):
    """As in the paper, unless said otherwise."""

    measure: str
    choice: str = "again"  # which features may be chosen, or what is chosen by
    weights: str = "exp(-E)"
    change: str = ""


def readings() -> dict[str, list[Reading]]:
    """By LETOR's row: every measure with every choice; the paper's measure with one other change at a time."""
    measures = {"AdaRank-MAP": ["burges.map"], "AdaRank-NDCG": [f"burges.ndcg@{k}" for k in (5, 1, 3, 10)]}
    found = {}
    for row, names in measures.items():
        found[row] = [Reading(name, choice) for name in names for choice in CHOICES]
        for plain in (Reading(names[0], choice) for choice in CHOICES[:2]):
            found[row] += [plain._replace(weights=weights) for weights in list(WEIGHTS)[1:]]
            found[row] += [plain._replace(change=change) for change in CHANGES]
    return found


def boost(train: RankingData, reading: Reading, rounds: int) -> Iterator[np.ndarray]:
    """The weights of features after each round."""
    train = train_order(train, reading.change)
    x = train.features.astype(np.float64)
    if reading.change == "both directions":
        x = np.hstack([x, -x])
    judge = Judge(train.labels, train.offsets, reading.measure)
    weak = np.stack([judge(column) for column in x.T], axis=1)
    teaches = np.ones(train.queries)
    if reading.change == "only queries with relevant documents":
        teaches = (np.add.reduceat(train.labels > 0, train.offsets[:-1], dtype=np.int64) > 0).astype(float)
    p, learned, allowed = teaches / teaches.sum(), np.zeros(x.shape[1]), np.ones(x.shape[1], dtype=bool)
    scores, last, in_a_row = np.zeros(train.documents), -1, 0
    for _ in range(rounds):
        performance = np.minimum(p @ weak, 1 - 1e-12)
        alphas = np.arctanh(performance)  # ln((1 + E) / (1 - E)) / 2
        merit = performance
        if reading.choice == "best for the ensemble":
            sums = (scores + alpha * column for alpha, column in zip(alphas, x.T, strict=True))
            merit = np.array([teaches @ judge(here) for here in sums])
        feature = best(np.where(allowed, merit, -np.inf), last_of_equals=reading.change == "last of equals")
        if not allowed[feature] or performance[feature] <= 0:
            return
        in_a_row = in_a_row + 1 if feature == last else 1
        last = feature
        if reading.choice != "once":
            allowed[:] = True
        if reading.choice in ("once", "not the last") or (reading.choice == "five in a row" and in_a_row == 5):
            allowed[feature] = False
        learned[feature] += alphas[feature]
        scores = scores + alphas[feature] * x[:, feature]
        p = teaches * WEIGHTS[reading.weights](p, judge(scores), weak[:, feature], alphas[feature])
        p = p / p.sum()
        up, down = learned[: train.features.shape[1]], learned[train.features.shape[1] :]
        yield up - down if len(down) else up.copy()


def train_order(train: RankingData, change: str) -> RankingData:
    """The documents of each query in another order: that is what decides where scores are equal."""
    keys = {"ties: worst case": train.labels, "ties: last first": -np.arange(train.documents)}
    if change not in keys:
        return train
    order = np.lexsort((keys[change], train.query_of))
    return replace(train, features=train.features[order], labels=train.labels[order], document_ids=None)


def best(merit: np.ndarray, *, last_of_equals: bool) -> int:
    equals = np.flatnonzero(merit >= merit.max() - 1e-12)
    return int(equals[-1 if last_of_equals else 0])


class Split:
    """The queries of a fold's split, with LETOR's values for them."""

    def __init__(self, data: RankingData, rules: Convention, letors: np.ndarray):
        self.features, self.rules, self.letors = data.features.astype(np.float64), rules, letors
        self.lists = Lists(data.labels, data.offsets)

    def gaps(self, weights: np.ndarray) -> np.ndarray:
        """(21,): ours less LETOR's."""
        ranking = Ranking(self.lists, self.features @ weights)
        parts = [values(ranking, self.rules).mean(axis=0)[:10] for values in (ndcg, precision)]
        return np.array([*parts[0], *parts[1], average_precision(ranking, self.rules).mean()]) - self.letors


def splits_of(dataset: Dataset, name: str, row: str) -> list[dict[str, Split]]:
    """By fold."""
    sheets = read_sheets(yaml.safe_load((ROOM / "paper.yaml").read_text()), ROOM)
    here = sheets[(sheets["dataset"] == name) & (sheets["printed_as"] == row)]
    rules = convention(here["convention"].iloc[0])
    wide = here.pivot(index=["fold", "split"], columns="metric", values="value")[VALUES]
    return [
        {
            split: Split(dataset.split(fold, split), rules, wide.loc[(str(fold + 1), split)].to_numpy())
            for split in SPLITS
        }
        for fold in range(len(dataset.folds))
    ]


def compare(dataset: Dataset, folds: list[dict[str, Split]], reading: Reading, rounds: int) -> dict[str, object]:
    """A line of the table: of each fold the round nearest on training, and the round that validation MAP keeps."""
    nearest, exact, kept = [], 0, []
    for number, splits in enumerate(folds):
        learned = list(boost(dataset.split(number, "train"), reading, rounds))
        gaps = {split: np.stack([splits[split].gaps(weights) for weights in learned]) for split in SPLITS}
        training = np.abs(gaps["train"])
        nearest.append(training.mean(axis=1).min())
        exact += bool((training.max(axis=1) < EXACT).any())
        kept.append({split: gaps[split][gaps["vali"][:, -1].argmax()] for split in SPLITS})
    line: dict[str, object] = {
        "measure": reading.measure,
        "features": reading.choice,
        "otherwise": reading.change or ("" if reading.weights == "exp(-E)" else f"P: {reading.weights}"),
        "folds exact": exact,
        "nearest round": np.mean(nearest),
    }
    for split in SPLITS:
        here = np.stack([fold[split] for fold in kept])
        line |= {
            f"{split} mean": np.abs(here).mean(),
            f"{split} max": np.abs(here).max(),
            f"{split} MAP": here[:, -1].mean(),
        }
    return line


# Found by search among weights, not by an algorithm: (row, fold) -> the weights of LETOR's features, counted from 1.
FOUND = {
    "ohsumed": {("AdaRank-MAP", 2): {42: 1.0, 11: 0.85, 8: 0.065}},
    "mq2008": {("AdaRank-MAP", 5): {39: 1.0, 38: 0.2655}},
}


def found_models(dataset: Dataset, name: str) -> Iterator[str]:
    for (row, fold), named in FOUND.get(name, {}).items():
        weights = np.zeros(dataset.data.features.shape[1])
        for feature, weight in named.items():
            weights[feature - 1] = weight
        gaps = {
            split: np.abs(part.gaps(weights)).max() for split, part in splits_of(dataset, name, row)[fold - 1].items()
        }
        yield f"{row}, fold {fold}, weights {named}: " + ", ".join(f"{split} {gap:.5f}" for split, gap in gaps.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="ohsumed, mq2008 or td2003")
    parser.add_argument("--data", type=Path, default=ROOT / "results/data", help="of a run, where arrays.npz are")
    parser.add_argument("--rounds", type=int, default=50)
    asked = parser.parse_args()
    dataset = load(asked.data / asked.dataset / "arrays.npz")
    print("nearest round: mean |difference| on training, least over rounds, mean over folds")
    print("the others: differences at the round of the best validation MAP, over folds and values; MAP: with its sign")
    for row, here in readings().items():
        folds = splits_of(dataset, asked.dataset, row)
        table = pd.DataFrame([compare(dataset, folds, reading, asked.rounds) for reading in here])
        print(
            f"\n{asked.dataset}, LETOR's {row}\n{table.to_string(index=False, float_format='{:.4f}'.format)}",
            flush=True,
        )
    print("\nWeights that give LETOR's values, with the largest difference:")
    print("\n".join(found_models(dataset, asked.dataset)) or "none is known")


if __name__ == "__main__":
    main()
