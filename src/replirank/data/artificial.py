"""The two artificial ranking tasks of ranknet2005, section 5.1: a random network and a random polynomial.

The polynomial has two readings: as the paper says it, and with each term divided by its variance.
"""

from __future__ import annotations

import numpy as np

from replirank.data.arrays import Dataset, RankingData
from replirank.data.folds import single_fold
from replirank.errors import ReplirankError

DIMENSIONS = 50
HIDDEN = 10
LEVELS = 6


def artificial(task: str, *, seed: int, queries: int = 1000, documents: int = 50) -> Dataset:
    """One of the paper's tasks: `queries` files of `documents` vectors each, labels 0 to 5, one fold of 80/10/10 %.

    A training set of n vectors is the first n / documents training queries.

    >>> tiny = artificial("net", seed=1, queries=10, documents=6)
    >>> tiny.data.features.shape, [len(part) for part in tiny.folds[0]]
    ((60, 50), [8, 1, 1])
    """
    targets = {"net": net, "poly": poly, "poly_variance": poly_variance}
    if task not in targets:
        raise ReplirankError(f"there is no artificial task {task!r}", remedy=f"take one of {', '.join(targets)}")
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (queries * documents, DIMENSIONS)).astype(np.float32)
    # The target sees the float32 numbers that the learner will see, so that the labels are a function of them.
    target = targets[task](features.astype(np.float64), rng)
    data = RankingData(
        features=features,
        labels=equal_shares(target, LEVELS),
        offsets=np.arange(queries + 1, dtype=np.int64) * documents,
        query_ids=np.arange(1, queries + 1, dtype=np.int64),
    )
    return Dataset(data, (single_fold(queries, (0.8, 0.1, 0.1)),))


def net(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The output of a random 50-10-1 net with tanh hidden units.

    The hidden units' offsets are drawn from [-1, 1] like the weights: the paper's nets have them (its section 4), and
    an offset is the weight of a unit that is always 1. The output unit is linear and has none: neither an offset nor a
    monotone transfer there could change the order of the outputs, and bins of equal shares depend on the order alone.
    """
    weights = rng.uniform(-1, 1, (HIDDEN, x.shape[1]))
    offsets = rng.uniform(-1, 1, HIDDEN)
    outer = rng.uniform(-1, 1, HIDDEN)
    return dot(np.tanh(dot(x, weights) + offsets), outer)


def poly(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As the paper says it: the mean of the three terms, each scaled to zero mean and unit variance over the data."""
    return np.mean([standardised(term) for term in poly_terms(x, rng)], axis=0)


def poly_variance(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A hypothesis, found by comparing with the printed values: each term is divided by its variance instead.

    The variances are about 50/9, 50/9 and 50/27, so the linear term has a fifth of the mean's variance, not a third.
    """
    return np.mean([(term - term.mean()) / term.var() for term in poly_terms(x, rng)], axis=0)


def poly_terms(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(3, vectors): a linear, a quadratic and a cubic term, not scaled yet.

    The fixed random vector is uniform in [-1, 1] like all else in the section. Its length cancels in the paper's
    scaling, and does not where a term is divided by its variance.
    """
    d: int = x.shape[1]
    vector = rng.uniform(-1, 1, d)
    quadratic, *cubic = (rng.permutation(d) for _ in range(3))
    terms = [
        dot(x, vector),
        (x * x[:, quadratic]).sum(axis=1),
        (x * x[:, cubic[0]] * x[:, cubic[1]]).sum(axis=1),
    ]
    return np.stack(terms)


def dot(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x @ weights.T without BLAS, whose rounding changes with the number of threads: one seed, the same bytes."""
    return np.einsum("ij,...j->i...", x, weights)


def standardised(values: np.ndarray) -> np.ndarray:
    """Shifted and scaled to zero mean and unit variance over the data."""
    return (values - values.mean()) / values.std()


def equal_shares(values: np.ndarray, levels: int) -> np.ndarray:
    """Bins that hold equal shares of the data, numbered from 0 upwards with the value.

    The paper does not say how it binned, but 20,382 pairs from 20 files of 1,225 pairs are 83.2 % = 1 - 1/6: two
    vectors share a bin in one case of six, as they do when the six bins are equally full.

    >>> equal_shares(np.array([0.3, -5.0, 40.0, 0.1]), 2)
    array([1., 0., 1., 0.], dtype=float32)
    """
    labels = np.empty(len(values), dtype=np.float32)
    labels[np.argsort(values, kind="stable")] = np.arange(len(values)) * levels // len(values)
    return labels
