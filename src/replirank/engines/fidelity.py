"""FRank's search (frank2007, Fig. 2): the weak learner of least fidelity loss, each with the alpha of Eq. 3.

A round of the paper's algorithm needs the loss (Eq. 2) of every candidate, a sum over all pairs each time. Here most
candidates are spared it, by a bound which they cannot get below. Let t be h(x_i) - h(x_j) of a pair, m its margin and
D its weight. The candidate changes the loss by the sum of D (F(m + alpha t) - F(m)), of which Taylor's formula has

- odd terms, with t: these sums over pairs collapse to potentials of documents;
- even terms, with |t|: a pair counts for the thresholds between its two documents, so for each feature they collapse to
  documents too, a pair adding to the lower document what it takes from the higher one;
- a remainder that is bounded, since F's slope changes by a factor of e^|alpha| at the most.

Sums over documents are histograms, for all thresholds of a feature at once. Then the candidates' losses are computed by
Eq. 2, lowest bound first, until no bound is below the least loss found: mostly that is one, sometimes a hundred, of ten
thousand. All in float64.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from replirank.data.arrays import RankingData
from replirank.data.pairs import pair_counts
from replirank.engines.batches import list_shapes
from replirank.engines.boosting import Choice, Ended
from replirank.engines.weak_learners import Histogram, WeakLearners

MOST_GROUPS = 6  # each is compiled by itself
CELLS_PER_CALL = 1 << 20  # documents x features of a call: enough to be worth one, few enough for the cache
CANDIDATES_AT_ONCE = 4  # candidates whose losses are computed at once
LEAST_FALL = 1e-12  # of the loss: to fall by less is rounding
SLACK = 1e-9  # what rounding may do to a bound, relative to the candidate's sum of slopes


class GroupShape(NamedTuple):
    length: int
    queries: int


class Group(NamedTuple):
    """Queries of like length for one call, the documents of each sorted by decreasing label."""

    documents: np.ndarray  # (queries, length) row numbers, 0 where there is none
    labels: np.ndarray  # (queries, length) infinite where there is no document, which so is below no other
    better: np.ndarray  # (queries,) how many documents are the better one of a pair
    weight: np.ndarray  # (queries,) Eq. 1: D = 1 over the number of pairs
    bins: np.ndarray  # (queries, length, features)


def common_groups(trains: Iterable[RankingData]) -> tuple[GroupShape, ...]:
    """Shapes for the training sets of all folds, so that they share one compilation."""
    trains = list(trains)
    lengths = [found.length for found in list_shapes(trains, MOST_GROUPS).classes]
    features = trains[0].features.shape[1]
    shapes = []
    for length in lengths:
        most = max(int(np.sum(_group_of(train, lengths) == length)) for train in trains)
        shapes.append(GroupShape(length, max(1, min(most, CELLS_PER_CALL // (length * features)))))
    return tuple(shapes)


def _group_of(data: RankingData, lengths: list[int]) -> np.ndarray:
    """The padded length of each query; 0 where it has no pair."""
    padded = np.array([next((one for one in lengths if one >= length), 0) for length in data.lengths])
    return np.where(pair_counts(data) > 0, padded, 0)


def make_groups(data: RankingData, bins: np.ndarray, shapes: tuple[GroupShape, ...]) -> list[Group]:
    """The queries that have pairs, in calls of these shapes. A call that is not full has queries without documents."""
    pairs = pair_counts(data)
    group_of = _group_of(data, [shape.length for shape in shapes])
    groups = []
    for length, count in shapes:
        members = np.flatnonzero(group_of == length)
        for first in range(0, len(members), count):
            groups.append(_group(data, bins, pairs, members[first : first + count], GroupShape(length, count)))
    return groups


def _group(data: RankingData, bins: np.ndarray, pairs: np.ndarray, queries: np.ndarray, shape: GroupShape) -> Group:
    length, count = shape
    documents = np.zeros((count, length), dtype=np.int64)
    labels = np.full((count, length), np.inf)
    better, weight = np.zeros(count, dtype=np.int32), np.zeros(count)
    for place, query in enumerate(queries):
        rows = np.arange(*data.offsets[query : query + 2])
        rows = rows[np.argsort(-data.labels[rows], kind="stable")]
        documents[place, : len(rows)], labels[place, : len(rows)] = rows, data.labels[rows]
        better[place] = np.sum(data.labels[rows] > data.labels[rows[-1]])
        weight[place] = 1 / pairs[query]
    return Group(documents, labels, better, weight, bins[documents])


class FidelityBooster:
    """Chooses by the least loss. |alpha| is at most `limit`: Eq. 3 is infinite where no pair speaks against h."""

    def __init__(self, train: RankingData, learners: WeakLearners, shapes: tuple[GroupShape, ...], *, limit: float):
        self.learners, self.limit = learners, limit
        self.groups = make_groups(train, learners.bins, shapes)
        features = train.features.shape[1]
        self.histograms = [Histogram(group.bins.reshape(-1, features), learners.width) for group in self.groups]
        self.scores = np.zeros(train.documents)
        self.queries = int(sum(np.sum(group.weight > 0) for group in self.groups))
        with jax.enable_x64(True):
            self.on_device = [jax.device_put(group._asdict()) for group in self.groups]

    def choose(self) -> Choice | Ended:
        if not self.queries:
            return Ended("no query has two different labels")
        with jax.enable_x64(True):
            scores = self.grouped_scores()
            alphas, bounds, loss = self.bounds(scores)
            change, place = self._least(scores, alphas, bounds, -LEAST_FALL * loss)
        if place is None:
            return Ended(f"no weak learner lowers the fidelity loss of {loss / self.queries:.6g}")
        feature, threshold = map(int, np.unravel_index(place, alphas.shape))
        alpha = float(alphas[feature, threshold])
        self.scores += alpha * self.learners.output(feature, threshold)
        return Choice(feature, threshold, alpha, (loss + change) / self.queries)

    def grouped_scores(self) -> list[jax.Array]:
        return [jnp.asarray(self.scores[group.documents]) for group in self.groups]

    def bounds(self, scores: list[jax.Array]) -> tuple[np.ndarray, np.ndarray, float]:
        """Of every candidate (features, thresholds): Eq. 3's alpha and a bound on the change of the loss; the loss."""
        even, odd = np.zeros((2, 2, *self.histograms[0].shape))
        loss = 0.0
        for device, histogram, here in zip(self.on_device, self.histograms, scores, strict=True):
            on_pairs, on_documents, value = _slopes(here, **_without(device, "documents"))
            loss += float(value)
            for k in range(2):
                even[k] += histogram(np.asarray(on_pairs[k]).reshape(-1, histogram.shape[0]))
                odd[k] += histogram(np.asarray(on_documents[k]).ravel())
        a1, a2 = (self.learners.sums(sums) for sums in even)
        l1, l3 = (-self.learners.sums(sums) for sums in odd)  # all of a query's potentials add up to 0
        alphas = best_alpha(l1, a1, self.limit)
        return alphas, lower_bound(alphas, l1, a1, a2, l3), loss

    def _least(
        self, scores: list[jax.Array], alphas: np.ndarray, bounds: np.ndarray, least: float
    ) -> tuple[float, int | None]:
        """The least change of the loss and its candidate; None where no change is below `least`."""
        order = np.argsort(bounds, axis=None, kind="stable")
        place = None
        for first in range(0, len(order), CANDIDATES_AT_ONCE):
            if bounds.flat[order[first]] >= least:
                break
            # The last candidates may be fewer: the last of them is computed several times.
            tried = order[np.minimum(np.arange(first, first + CANDIDATES_AT_ONCE), len(order) - 1)]
            changes = self.changes(scores, alphas, tried)
            best = int(np.argmin(changes))
            if changes[best] < least:
                least, place = float(changes[best]), int(tried[best])
        return least, place

    def changes(self, scores: list[jax.Array], alphas: np.ndarray, tried: np.ndarray) -> np.ndarray:
        """By how much each of these candidates changes the loss, by Eq. 2."""
        features, thresholds = np.unravel_index(tried, alphas.shape)
        steps = alphas[features, thresholds]
        total = np.zeros(len(tried))
        for group, device, here in zip(self.groups, self.on_device, scores, strict=True):
            outputs = np.swapaxes(group.bins[:, :, features] > thresholds, 1, 2)
            total += np.asarray(_change(here, outputs, steps, **_without(device, "documents", "bins")))
        return total


def _without(arrays: dict[str, jax.Array], *names: str) -> dict[str, jax.Array]:
    return {name: array for name, array in arrays.items() if name not in names}


def best_alpha(l1: np.ndarray, a1: np.ndarray, limit: float) -> np.ndarray:
    """Eq. 3: half the logarithm of the weight of the pairs in favour over that of those against.

    In terms of their difference and their sum that is an inverse hyperbolic tangent.

    >>> best_alpha(np.array([3.0 - 1.0, 3.0, 0.0]), np.array([3.0 + 1.0, 3.0, 0.0]), limit=2.0)  # ln(3) / 2 ...
    array([0.54930614, 2.        , 0.        ])
    """
    share = np.divide(l1, a1, out=np.zeros_like(l1), where=a1 > 0)
    furthest = np.tanh(limit)
    return np.clip(np.arctanh(np.clip(share, -furthest, furthest)), -limit, limit)


def lower_bound(alpha: np.ndarray, l1: np.ndarray, a1: np.ndarray, a2: np.ndarray, l3: np.ndarray) -> np.ndarray:
    """What the change of the loss cannot be below, the larger of two bounds.

    With f = -F', the logarithm of f has slopes between -1 and 1/2. So along alpha the gain of a pair in favour grows by
    a factor of e^(u/2) at the most, and so shrinks the loss of a pair against: the first bound. And |F''''| <= f
    everywhere, so that the remainder after alpha^3 is at most alpha^4/24 e^|alpha| f: the second.
    """
    size = np.abs(alpha)
    by_slope = -(a1 + np.abs(l1)) * np.expm1(size / 2) - (a1 - np.abs(l1)) * np.expm1(-size / 2)
    remainder = alpha**4 / 24 * np.exp(size) * a1
    by_taylor = -alpha * l1 - alpha**2 / 2 * a2 - alpha**3 / 6 * l3 - remainder
    return np.maximum(by_slope, by_taylor) - SLACK * a1


@jax.jit
def _slopes(scores, labels, better, weight, bins):
    """Sums by document, and the loss: even (2, ..., features), odd (2, ...)."""

    def on_query(query):
        scores, labels, better, weight, bins = query

        def add(i, sums):
            even, odd, loss = sums
            first, second, third, fidelity = _derivatives(scores[i] - scores)
            pair = weight * (labels < labels[i])
            # Which of the two has the feature in a higher bin: 1 if it is the other, -1 if it is the better document.
            side = (bins > bins[i]).astype(pair.dtype) - (bins < bins[i]).astype(pair.dtype)
            absolute = jnp.stack([pair * first, pair * second])
            signed = jnp.stack([pair * first, pair * third])
            even = (even - absolute[:, :, None] * side[None]).at[:, i].add(absolute @ side)
            odd = (odd - signed).at[:, i].add(jnp.sum(signed, axis=1))
            return even, odd, loss + jnp.sum(pair * fidelity)

        start = jnp.zeros((2, *bins.shape)), jnp.zeros((2, *scores.shape)), jnp.zeros(())
        return jax.lax.fori_loop(0, better, add, start)

    even, odd, loss = jax.lax.map(on_query, (scores, labels, better, weight, bins))
    return jnp.moveaxis(even, 1, 0), jnp.moveaxis(odd, 1, 0), jnp.sum(loss)


def _derivatives(margin: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Of -F, the first three, and F itself: F(m) = 1 - sqrt(P), P the logistic function of m."""
    odds = jnp.exp(-margin)
    p = 1 / (1 + odds)
    q = jnp.where(odds < 1, odds * p, 1 - p)  # 1 - P, of which a large margin would leave no digits
    root = jnp.sqrt(p)
    first = root * q / 2
    slope = 0.5 - 1.5 * p  # of its logarithm
    return first, first * slope, first * (slope**2 - 1.5 * p * q), q / (1 + root)


@jax.jit
def _change(scores, outputs, steps, labels, better, weight):
    """(candidates,): the sum over pairs of D (F(m + alpha t) - F(m)), for outputs h (queries, candidates, length)."""

    def on_query(query):
        scores, outputs, labels, better, weight = query
        grown = jnp.exp(steps[:, None] * outputs)  # e^(alpha h)

        def add(i, total):
            odds = jnp.exp(scores - scores[i])
            factor = grown * (1 / grown[:, i])[:, None]  # e^(-alpha t)
            change = _root(odds)[None] - _root(odds[None] * factor)
            return total + jnp.where((labels < labels[i])[None], change, 0.0)

        by_document = jax.lax.fori_loop(0, better, add, jnp.zeros(outputs.shape))
        return weight * jnp.sum(by_document, axis=1)

    return jnp.sum(jax.lax.map(on_query, (scores, outputs, labels, better, weight)), axis=0)


def _root(odds: jax.Array) -> jax.Array:
    """sqrt(P) = 1 - F, for odds of (1 - P) / P."""
    return 1 / jnp.sqrt(1 + odds)
