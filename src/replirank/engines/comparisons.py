"""SortNet's training (Rigutini et al. 2008): the pairs to learn from are chosen as learning goes on.

In each round the comparator sorts the training queries. The pairs that it compared on the way and got wrong join those
that it learns from; it goes on learning from all of them, until none is wrong. (The paper learns to the end in each
round, and stops when no pair is new. Here a round is short, and a pair may be wrong again.)
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

from replirank.data.arrays import RankingData
from replirank.engines.task import Fit, Task
from replirank.errors import ReplirankError
from replirank.models.comparator import Comparator, sort_by

PAIRS_AT_ONCE = 128  # learned from in a step
ADAM = optax.scale_by_adam()


class Round(NamedTuple):
    """A row of the history."""

    round: int
    loss: float  # the mean over the pairs of the last epoch
    validation: float
    pairs: int  # learned from


def learn_to_compare(model: Comparator, *, task: Task, learning_rate: float, rounds: int, epochs: int) -> Fit:
    """From `model` on, with so many epochs in each round; keeps the round that validates best (the first of equals).

    The documents of task.train must be in an order that does not depend on the one in which they came.
    """
    random = np.random.default_rng(task.seed)
    features = jax.device_put(task.train.features)
    known = np.zeros((0, 2), dtype=np.int32)
    state = ADAM.init(model)
    best, best_value = model, -np.inf
    history: list[Round] = []
    for number in range(1, rounds + 1):
        wrong = wrongly_compared(model, task.train)
        if not len(wrong) and history:
            task.report(f"ended after round {number - 1}: every pair that sorting compares is in order")
            break
        known, loss = np.unique(np.concatenate([known, wrong]), axis=0), 0.0
        for _ in range(epochs if len(known) else 0):
            model, state, total = _epoch(model, state, features, *_in_steps(random.permutation(known)), learning_rate)
            loss = float(total) / len(known)
        if not np.isfinite(loss):
            raise ReplirankError(
                f"the training loss is {loss} in round {number} at learning rate {learning_rate:g}",
                remedy="take larger learning rates out of this method's grid in config.yaml",
            )
        model = jax.tree.map(np.asarray, model)
        value = task.validate(model.score(task.vali))
        task.report(f"round {number}/{rounds}, {len(known):,} pairs, loss {loss:.5g}, validation {value:.4f}")
        if not history or value > best_value:
            best, best_value = model, value
        history.append(Round(number, loss, value, len(known)))
    return Fit(best, pd.DataFrame(history))


def wrongly_compared(model: Comparator, train: RankingData) -> np.ndarray:
    """(pairs, 2): the rows of the better and the worse document of each pair that was compared and not put in order.

    Two documents with the same features are left out: no comparator can tell them apart.
    """
    found: list[tuple[int, int]] = []
    for rows in train:
        labels = train.labels[rows].tolist()
        if min(labels) == max(labels):
            continue

        def note(one: int, other: int, preference: float, labels=labels, start=int(rows.start)) -> None:
            if labels[one] > labels[other] and preference <= 0:
                found.append((start + one, start + other))
            elif labels[one] < labels[other] and preference >= 0:
                found.append((start + other, start + one))

        sort_by(model.preferences(train.features[rows]), np.arange(len(labels)), note)
    pairs = np.array(found, dtype=np.int32).reshape(-1, 2)
    differ = np.any(train.features[pairs[:, 0]] != train.features[pairs[:, 1]], axis=1)
    return pairs[differ]


def _in_steps(pairs: np.ndarray) -> tuple[np.ndarray, int]:
    """(steps, pairs at once, 2), and how many pairs there are. Powers of two are few shapes to compile."""
    steps = -(-len(pairs) // PAIRS_AT_ONCE)
    padded = np.zeros((1 << (steps - 1).bit_length(), PAIRS_AT_ONCE, 2), dtype=np.int32)
    padded.reshape(-1, 2)[: len(pairs)] = pairs
    return padded, len(pairs)


@jax.jit
def _epoch(model, state, features, pairs, count, learning_rate):
    def cost(model, better, worse, there):
        # Of two logistic outputs "x is first" has the target 1 and "y is first" 0. The second mirrors the first: its
        # squared error is the same and is left out.
        missed = jax.nn.sigmoid(-model.preference(features[better], features[worse]))
        return jnp.sum(jnp.where(there, missed**2, 0.0))

    def step(i, carry):
        model, state, total = carry
        there = i * PAIRS_AT_ONCE + jnp.arange(PAIRS_AT_ONCE) < count
        value, slopes = jax.value_and_grad(cost)(model, pairs[i, :, 0], pairs[i, :, 1], there)
        updates, state = ADAM.update(slopes, state, model)
        model = jax.tree.map(lambda p, u: p - learning_rate * u, model, updates)
        return model, state, total + value

    steps = (count + PAIRS_AT_ONCE - 1) // PAIRS_AT_ONCE
    return jax.lax.fori_loop(0, steps, step, (model, state, jnp.zeros(())))
