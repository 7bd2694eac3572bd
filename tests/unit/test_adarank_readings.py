"""tools/adarank_readings.py: its readings by hand and against our methods, and the weights that it says were found."""

from __future__ import annotations

import importlib.util
from math import log2

import numpy as np
import pytest
from helpers import ROOT, ranking
from numpy.testing import assert_allclose

from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.methods.base import Task
from replirank.methods.families.adarank import QueryBooster

found = importlib.util.spec_from_file_location("adarank_readings", ROOT / "tools/adarank_readings.py")
tool = importlib.util.module_from_spec(found)
found.loader.exec_module(tool)

MEASURES = pytest.mark.parametrize("measure", ["burges.map", "burges.ndcg@5"])


def problem(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 60)
    return ranking(0.4 * labels[:, None] + random.normal(size=(60, 12)), labels, [10] * 6)


def chosen(data, **reading):
    """The feature of each of twelve rounds."""
    learned = [np.zeros(data.features.shape[1]), *tool.boost(data, tool.Reading(**reading), 12)]
    return [int(np.flatnonzero(b - a)[0]) for a, b in zip(learned[:-1], learned[1:], strict=True)]


@MEASURES
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("choice", "repeats"), [("again", True), ("once", False)])
def test_two_of_the_readings_are_our_methods(choice, repeats, seed, measure):
    data = problem(seed)
    task = Task(train=data, vali=data, seed=0, validate=lambda scores: 0.0, report=lambda text: None)
    booster = QueryBooster(task, measure, repeats=repeats)
    for learned in tool.boost(data, tool.Reading(measure, choice), 10):
        booster.choose()
        assert_allclose(learned, booster.learned, rtol=0, atol=1e-9)


@MEASURES
def test_what_may_be_chosen(measure):
    """Three queries of two documents: the first feature ranks two of them well, the second the other one."""
    first, second = [1, 0, 1, 0, 0, 1], [0, 1, 0, 1, 1, 0]
    data = ranking(np.stack([first, second], axis=1), [1, 0, 1, 0, 1, 0], [2, 2, 2])
    assert chosen(data, measure=measure) == [0] * 12
    assert chosen(data, measure=measure, choice="once") == [0, 1]
    assert chosen(data, measure=measure, choice="not the last") == [0, 1] * 6
    assert chosen(data, measure=measure, choice="five in a row") == [0, 0, 0, 0, 0, 1] * 2


def test_ties_and_directions_by_hand():
    """A feature that is the same everywhere leaves the order of the documents: relevant first here."""
    data = ranking([[0, 1], [0, 2]], [1, 0], [2])
    e = {"": 1.0, "ties: worst case": 1 / log2(3), "ties: last first": 1 / log2(3), "both directions": 1.0}
    for change, value in e.items():
        learned = next(tool.boost(data, tool.Reading("burges.ndcg@5", change=change), 1))
        assert_allclose(learned[0], np.arctanh(min(value, 1 - 1e-12)), rtol=1e-9)
    reversed_only = next(
        tool.boost(ranking([[1], [2]], [1, 0], [2]), tool.Reading("burges.map", change="both directions"), 1)
    )
    assert reversed_only[0] < 0


@pytest.mark.parametrize(("name", "largest"), [("ohsumed", 0.00006), ("mq2008", 0.0003)])
def test_weights_were_found_that_give_letors_values(real_data, name, largest):
    """42 values of a fold, training and validation. On OHSUMED they agree to the last digit."""
    dataset = prepare(spec(name), source=real_data(name), report=lambda text: None).dataset
    for (row, fold), named in tool.FOUND[name].items():
        weights = np.zeros(dataset.data.features.shape[1])
        weights[np.array(list(named)) - 1] = list(named.values())
        for part in tool.splits_of(dataset, name, row)[fold - 1].values():
            assert np.abs(part.gaps(weights)).max() < largest
