"""The Bayes-optimal ranking function (bayesopt2010, section 5.2): expected gain in a multiclass logistic model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError
from replirank.models.base import Model


class Weights(NamedTuple):
    weights: jax.Array  # (levels, features): the w_j of Eq. 12
    offsets: jax.Array  # (levels,)


@dataclass(frozen=True, eq=False)
class BayesOptimal(Model):
    weights: np.ndarray
    offsets: np.ndarray
    gains: np.ndarray  # (levels,): G(j)

    kind = "bayes_optimal"

    def score(self, data: RankingData) -> np.ndarray:
        # Row by row in float64, as in models/linear.py.
        logits = np.einsum("nd,kd->kn", data.features, self.weights.astype(np.float64)) + self.offsets[:, None]
        return expected_gain(logits, self.gains)


def expected_gain(logits: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Sum over j of P(r = j|x) G(j), the levels being the first axis.

    >>> expected_gain(np.log([[1.0, 3.0], [2.0, 3.0], [1.0, 0.5]]), gains=np.array([0, 1, 3])).round(4).tolist()
    [1.25, 0.6923]
    """
    odds = np.exp(logits - logits.max(axis=0))
    # The levels are added one after the other, which is the same whatever stands beside a document.
    total, expected = np.zeros_like(odds[0]), np.zeros_like(odds[0])
    for of_level, gain in zip(odds, gains, strict=True):
        total += of_level
        expected += of_level * gain
    return expected / total


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


def too_many(levels: Sequence[float]) -> str | None:
    """The reason why there can be no model of these levels."""
    if len(levels) <= 100 and max(levels) <= 100:
        return None
    return f"{len(levels)} relevance levels up to {max(levels):g} are too many for a multiclass logistic model"


def start(features: int, levels: int) -> Weights:
    """All levels equally likely. The gains tell them apart from the first step on, so that zero is no saddle."""
    return Weights(np.zeros((levels, features), dtype=np.float32), np.zeros(levels, dtype=np.float32))


def warm_start(linear: np.ndarray, levels: Sequence[float], counts: Sequence[int]) -> np.ndarray:
    """(levels, ..., inputs): where to start from a linear function (section 6.2), whose last input is the offset's.

    A level's logit is a part of the linear function, none of it for the lowest level and all for the highest, plus the
    logarithm of the level's share among the documents. The odds of a higher against a lower level then grow with the
    linear function, and so does the expected gain: the start ranks as the linear function does. Without the shares, a
    level that one document in a thousand has would begin as even odds, and the first step that mends this for all
    documents alike would overrun what the linear function knows.

    >>> warm_start(np.array([4.0, 0.0]), levels=[0, 1, 2], counts=[2, 1, 1]).tolist() == [
    ...     [0.0, np.log(0.5)], [2.0, np.log(0.25)], [4.0, np.log(0.25)]
    ... ]
    True
    """
    levels, counts = np.asarray(levels, dtype=linear.dtype), np.asarray(counts, dtype=np.float64)
    part = (levels - levels.min()) / max(np.ptp(levels), 1e-9)
    start = np.multiply.outer(part, linear)
    share = np.maximum(counts, 0.5) / max(counts.sum(), 1)  # what this fold does not have is rare, not impossible
    start[..., -1] += np.log(share).astype(linear.dtype).reshape(-1, *[1] * (linear.ndim - 1))
    return start


def apply(weights: Weights, features: jax.Array, *, gains: tuple[float, ...] | None = None) -> jax.Array:
    """The same function for training; without `gains`, of the levels 0, 1, 2 ..."""
    gains = gains or gains_of(range(len(weights.offsets)))
    chances = jax.nn.softmax(features @ weights.weights.T + weights.offsets, axis=-1)
    return chances @ jnp.asarray(gains, dtype=chances.dtype)
