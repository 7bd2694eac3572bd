"""RankSVM's risk by counting pairs, against the listed pairs and a double loop; and the room that it takes."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from helpers import ranking
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines import pair_hinge as engine
from replirank.engines.margin import Planes, maximise_margin
from replirank.engines.pair_hinge import CountedPairHinge, ListedPairHinge, pair_hinge, violations

# Quarters: many scores are equal, and many margins are exactly 1.
quarters = st.integers(-8, 8).map(lambda number: number / 4)
documents = st.tuples(quarters, st.integers(0, 5))
lists_of_queries = st.lists(st.lists(documents, min_size=1, max_size=9), min_size=1, max_size=5)


def by_double_loop(scores, labels, offsets):
    pairs, pull = 0, np.zeros(len(scores), dtype=int)
    for first, last in itertools.pairwise(offsets):
        for better, worse in itertools.permutations(range(first, last), 2):
            if labels[better] > labels[worse] and scores[better] - scores[worse] < 1:
                pairs += 1
                pull[worse] += 1
                pull[better] -= 1
    return pairs, pull


@settings(max_examples=200)
@given(lists_of_queries)
def test_counts_are_those_of_a_double_loop(queries):
    scores, labels = np.array([document for query in queries for document in query]).T
    offsets = np.cumsum([0, *map(len, queries)])
    pairs, pull = by_double_loop(scores, labels, offsets)
    found = violations(scores, labels.astype(int), offsets)
    assert found.pairs == pairs
    assert_array_equal(found.pull, pull)


def test_three_documents_by_hand():
    # Labels 2, 1, 0: the first is exactly 1 above the second, which is 0.75 above the third.
    found = violations(np.array([1.75, 0.75, 0.0]), np.array([2, 1, 0]), np.array([0, 3]))
    assert (found.pairs, found.pull.tolist()) == (1, [0, -1, 1])


@pytest.mark.parametrize("distance", [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 1 - 2**-54])
@pytest.mark.parametrize("low", [0.0, 5e-17, 6e-17, 0.1, 1 / 3, -0.3, 1e-300, 77.7])
def test_margins_that_round_to_1_are_as_in_the_list(low, distance):
    """The rounded difference of the two scores decides: 1 - 5e-17 is 1 in floating point."""
    scores = np.array([low + distance, low])
    expected = by_double_loop(scores, [1, 0], [0, 2])
    assert violations(scores, np.array([1, 0]), np.array([0, 2])).pairs == expected[0]
    assert CountedPairHinge(np.eye(2), np.array([1, 0]), np.array([0, 2])).tangent(scores)[0] == expected[0] * (
        1 - (scores[0] - scores[1])
    )


def both(labels, offsets, features):
    return [kind(features, labels, offsets) for kind in (ListedPairHinge, CountedPairHinge)]


def lists(seed, strict):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 60, 12)
    labels = [random.permutation(n) if strict else random.integers(0, 4, n) for n in lengths]
    return np.concatenate(labels).astype(np.float32), np.cumsum([0, *lengths]), random


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_pulls_are_those_of_the_listed_pairs(seed, strict):
    """A feature for each document makes the weights the scores, and the gradient the pulls."""
    labels, offsets, random = lists(seed, strict)
    listed, counted = both(labels, offsets, np.eye(len(labels)))
    for scores in (random.normal(size=len(labels)), random.integers(-8, 9, len(labels)) / 4, np.zeros(len(labels))):
        (value, gradient), (same_value, same_gradient) = listed.tangent(scores), counted.tangent(scores)
        assert_array_equal(same_gradient, gradient)
        assert_allclose(same_value, value, rtol=1e-9)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_tangents_and_slopes_are_those_of_the_listed_pairs(seed, strict):
    labels, offsets, random = lists(seed, strict)
    listed, counted = both(labels, offsets, np.round(random.normal(size=(len(labels), 3)) * 4) / 4)
    for w, direction in random.integers(-3, 4, (5, 2, 3)) / 2:
        assert_allclose(counted.tangent(w)[0], listed.tangent(w)[0], rtol=1e-9)
        assert_allclose(counted.tangent(w)[1], listed.tangent(w)[1], rtol=1e-9, atol=1e-9)
        slopes = listed.slope(w, direction), counted.slope(w, direction)
        for t in (0.0, 0.25, 1.0, 7.5):
            assert_allclose(slopes[1](t), slopes[0](t), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("strict", [False, True])
def test_both_reach_the_same_objective(strict):
    labels, offsets, random = lists(1, strict)
    features = random.normal(size=(len(labels), 4)) + 0.3 * labels[:, None]
    listed, counted = (maximise_margin(risk, 0.05, Planes(4), gap=1e-6) for risk in both(labels, offsets, features))
    assert_allclose(counted.objective, listed.objective, rtol=2e-6)


def test_one_level_has_no_pairs():
    risk = CountedPairHinge(np.ones((3, 2)), np.zeros(3), np.array([0, 1, 3]))
    value, gradient = risk.tangent(np.ones(2))
    assert (value, gradient.tolist()) == (0, [0, 0])


def test_few_pairs_are_listed_and_many_are_counted(monkeypatch):
    data = ranking(np.zeros((4, 1)), [0, 1, 2, 2])  # 5 pairs
    assert isinstance(pair_hinge(data), ListedPairHinge)
    monkeypatch.setattr(engine, "MOST_LISTED", 6)
    assert isinstance(pair_hinge(data), ListedPairHinge)
    monkeypatch.setattr(engine, "MOST_LISTED", 5)
    assert isinstance(pair_hinge(data), CountedPairHinge)


def test_counting_takes_the_room_of_some_numbers_a_document():
    """Pairs are 800 a document here."""
    queries, length = 10, 1600
    random = np.random.default_rng(0)
    levels = np.concatenate([random.permutation(length) for _ in range(queries)])
    scores = random.normal(size=queries * length)
    tracemalloc.start()
    violations(scores, levels, np.arange(queries + 1) * length)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * scores.nbytes


LONG_LISTS = """
import re
from pathlib import Path
import numpy as np
from replirank.data.arrays import RankingData
from replirank.engines.pair_hinge import CountedPairHinge
from replirank.methods.base import Task
from replirank.methods.ranksvm import RankSVM

queries, length, random = 100, 1800, np.random.default_rng(0)
features = random.normal(size=(queries, length, 5)).astype(np.float32)
utility = features @ np.arange(1, 6) + 4 * random.normal(size=(queries, length))
data = RankingData(
    features.reshape(-1, 5),
    utility.argsort(axis=1).argsort(axis=1).ravel().astype(np.float32),
    np.arange(queries + 1) * length,
    np.arange(queries),
)
shared = RankSVM.share(data)
assert isinstance(shared[0], CountedPairHinge)
task = Task(train=data, vali=data, seed=0, validate=None, report=print, shared=shared)
weights = RankSVM(C=1e-4, gap=1e-3).fit(task).model.weights
print(*(weights / weights[0]))
# Not getrusage: its maximum counts what the process was before exec, a copy of the tests' own.
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def test_long_lists_in_a_strict_order_train_below_1_gib():
    """162 million pairs, of which a list would take several GiB."""
    done = subprocess.run([sys.executable, "-c", LONG_LISTS], capture_output=True, text=True, check=True)
    _, weights, mib = done.stdout.splitlines()
    assert float(mib) < 1024
    assert_allclose([float(weight) for weight in weights.split()], np.arange(1, 6), atol=0.1)
