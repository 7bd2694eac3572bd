"""RankSVM on real data: counting pairs leads where listing them leads."""

from __future__ import annotations

import pytest

from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.engines.margin import Planes, maximise_margin
from replirank.engines.pair_hinge import CountedPairHinge, ListedPairHinge


@pytest.fixture(scope="module")
def train(real_data):
    return prepare(spec("mq2007"), source=real_data("mq2007"), report=lambda text: None).dataset.split(0, "train")


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_both_reach_the_same_objective_on_mq2007(train, C):
    listed, counted = (
        maximise_margin(kind(train.features, train.labels, train.offsets), C, Planes(46), gap=1e-5)
        for kind in (ListedPairHinge, CountedPairHinge)
    )
    assert counted.objective == pytest.approx(listed.objective, rel=1e-4)
