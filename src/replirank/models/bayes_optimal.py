"""The Bayes-optimal ranking function (bayesopt2010, section 5.2): expected gain in a multiclass logistic model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from replirank.errors import ReplirankError
from replirank.models.base import Array, Model, namespace


@dataclass(frozen=True, eq=False)
class BayesOptimal(Model):
    weights: Array  # (levels, features): the w_j of Eq. 12
    offsets: Array  # (levels,)
    gains: Array  # (levels,): G(j)

    def score_query(self, features: Array) -> Array:
        # NumPy's einsum goes row by row, as in models/linear.py.
        logits = namespace(features).einsum("nd,kd->kn", features, self.weights) + self.offsets[:, None]
        return expected_gain(logits, self.gains)


def expected_gain(logits: Array, gains: Sequence[float] | Array, certain_above: Array | None = None) -> Array:
    """Sum over j of P(r = j|x) G(j), the levels being the first axis.

    In training a level of probability above `certain_above` (epsilon, at least 1/2) counts as certain (section 6.2):
    such a document has no gradient, so that it does not drive the weights to infinity.

    >>> expected_gain(np.log([[1.0, 3.0], [2.0, 3.0], [1.0, 0.5]]), gains=np.array([0, 1, 3])).round(4).tolist()
    [1.25, 0.6923]
    """
    xp, highest = namespace(logits), logits.max(axis=0)
    highest = highest if xp is np else jax.lax.stop_gradient(highest)  # it cancels, in the slopes too
    # Level by level: sums over a first axis this short are slow in JAX, and in NumPy one order of adding makes a
    # document's score independent of the documents beside it. The likeliest level has odds 1.
    odds = [xp.exp(each - highest) for each in logits]
    total = sum(odds)
    expected = sum(gain * each for gain, each in zip(gains, odds, strict=True)) / total
    if certain_above is None:
        return expected
    likeliest = xp.zeros_like(total)
    for gain, each in zip(gains, odds, strict=True):
        likeliest = xp.where(each == 1, gain, likeliest)
    return xp.where(certain_above * total < 1, likeliest, expected)


def gains_of(levels: Sequence[float]) -> tuple[float, ...]:
    """G(r) = 2^r - 1, for labels from 0 on.

    >>> gains_of([0, 1, 2])
    (0.0, 1.0, 3.0)
    """
    if reason := too_many(levels):
        raise ReplirankError(
            reason, remedy="take the Bayes-optimal ranking functions off data sets whose labels are a strict order"
        )
    return tuple(2.0**level - 1 for level in levels)


def too_many(levels: Sequence[float] | np.ndarray) -> str | None:
    """The reason why there can be no model of these levels."""
    if len(levels) <= 100 and max(levels) <= 100:
        return None
    return f"{len(levels)} relevance levels up to {max(levels):g} are too many for a multiclass logistic model"


def warm_start(linear: np.ndarray, levels: Sequence[float], boundaries: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """(levels, points, inputs): where to start from linear functions (section 6.2), whose last input is the offset's.

    A level's logit is a part of the linear function, none of it for the lowest level and all for the highest, in units
    of its `spread`. Where the linear function is at a boundary, (levels - 1, points), the two levels beside it are
    equally likely. The odds of a higher against a lower level grow with the linear function, and so does the expected
    gain: the start ranks as the linear function does.

    >>> warm_start(np.array([[4.0, 1.0]]), [0, 1, 2], np.array([[2.0], [6.0]]), np.array([2.0]))[:, 0].tolist()
    [[0.0, 0.0], [1.0, -0.25], [2.0, -1.5]]
    """
    levels = np.asarray(levels, dtype=np.float64)
    part = (levels - levels.min()) / max(np.ptp(levels), 1e-9)
    start = np.multiply.outer(part, linear / spread[:, None])
    start[1:, :, -1] -= np.cumsum(np.diff(part)[:, None] * boundaries / spread, axis=0)
    return start.astype(np.float32)


def share_boundaries(scores: np.ndarray, labels: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """(levels - 1, points): the linear scores (points, documents) that put each level's share of documents above them.

    At a boundary stands a document, whose two likeliest levels are equally likely: it is certain for no epsilon.

    >>> share_boundaries(np.array([[0.1, 0.4, 0.3, 0.2]]), np.array([0, 2, 0, 1]), [0, 1, 2]).tolist()
    [[0.3], [0.4]]
    """
    descending = -np.sort(-scores, axis=1)
    above = [max(int(np.count_nonzero(labels >= level)), 1) for level in levels[1:]]
    return descending[:, [number - 1 for number in above]].T
