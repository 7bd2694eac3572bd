"""diffrank2011: Theorem 1 on random lists, with the differences of Theorem 2 and with those of Figure 1."""

from __future__ import annotations

import numpy as np
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.data.places import scaled_places
from replirank.methods.diffrank import PlaceBooster
from replirank.papers.diffrank2011.lists import FIGURE, THEOREM
from replirank.seeds import derive

LISTS, FEATURES, LEAST, MOST = 1000, 46, 5, 20
ROUNDING = 1e-12  # what a product may seem to rise by


def draw(random: np.random.Generator) -> RankingData:
    """A list of 5 to 20 documents in strict order, half of it a linear function of the features and half noise."""
    documents = int(random.integers(LEAST, MOST + 1))
    features = random.standard_normal((documents, FEATURES))
    worth = (features * random.standard_normal(FEATURES)).sum(axis=1) / np.sqrt(FEATURES)
    places = (worth + random.standard_normal(documents)).argsort().argsort()
    return RankingData(
        features=features.astype(np.float32),
        labels=places.astype(np.float32),
        offsets=np.array([0, documents]),
        query_ids=np.array([1]),
    )


def random_lists(seed: int, lists: int = LISTS) -> pd.DataFrame:
    """A row for each list and reading: rounds, in how many the product fell, in how many the error was above it."""
    random = np.random.default_rng(derive(seed, "diffrank2011", "random lists"))
    rows = []
    for number in range(1, lists + 1):
        data = draw(random)
        for reading in (THEOREM, FIGURE):
            rounds = run(data, cumulated=reading == FIGURE)
            products, errors = np.array(rounds).reshape(-1, 2).T
            rows.append(
                {
                    "list": number,
                    "reading": reading,
                    "rounds": len(rounds),
                    "fell": int(np.sum(np.diff(products, prepend=1.0) < ROUNDING)),
                    "above": int(np.sum(errors > products)),
                }
            )
    return pd.DataFrame(rows)


def run(data: RankingData, *, cumulated: bool) -> list[tuple[float, float]]:
    """The product of the Z and the error after each round, until there is no coefficient."""
    booster = PlaceBooster(data, scaled_places(data.features), cumulated=cumulated)
    rounds = []
    for feature in range(data.features.shape[1]):
        if not booster.add(feature):
            break
        rounds.append((booster.bound, booster.errors()[0]))
    return rounds
