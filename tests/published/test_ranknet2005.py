"""ranknet2005, section 5: what the paper found on its artificial data is found on ours, drawn as it says."""

from __future__ import annotations

import pandas as pd
import pytest

from replirank.papers.ranknet2005.draws import draw, trials

SEED = 20050807  # config.yaml's
DRAWS = (1, 2, 3)
TWO_LAYER = {2500: 96.94, 12_500: 97.67}  # Table 1, random network
LINEAR = {2500: 89.91, 12_500: 90.06}


@pytest.fixture(scope="module")
def frame():
    chosen = trials("net", {"table1": list(TWO_LAYER), "table2": [], "capacity": 1000})
    return pd.concat(draw("net", number, chosen, seed=SEED) for number in DRAWS)


@pytest.fixture(scope="module")
def correct(frame):
    """Test % correct, the mean over the draws."""
    return frame.query("table == 'table1' and split == 'test'").groupby(["net", "vectors"])["correct"].mean()


@pytest.mark.parametrize("vectors", TWO_LAYER)
def test_the_second_layer_gains_as_in_table_1(correct, vectors):
    assert TWO_LAYER[vectors] > LINEAR[vectors]
    assert correct["two_layer", vectors] > correct["linear", vectors]


def test_levels_are_those_of_table_1(correct):
    assert abs(correct["two_layer", 12_500] - TWO_LAYER[12_500]) <= 2.5
    for vectors, printed in LINEAR.items():
        assert abs(correct["linear", vectors] - printed) <= 2.5


def test_a_thousand_vectors_are_learned_without_error(frame):
    train = frame.query("table == 'capacity' and split == 'train'")
    assert train["wrong"].tolist() == [0] * len(DRAWS)


def test_pairs_are_as_many_as_the_paper_counts(frame):
    """1,000 vectors are 20 files of 50 * 49 / 2 = 1,225 pairs, of which one in six shares a bin."""
    expected = 20 * 1225 * (1 - 1 / 6)
    pairs = frame.query("table == 'capacity' and split == 'train'")["trained_pairs"]
    assert abs(20_382 - expected) < 0.01 * expected
    assert (abs(pairs - expected) < 0.01 * expected).all()
    table1 = frame.query("table == 'table1' and split == 'train'")
    assert (abs(table1["trained_pairs"] / (table1["vectors"] / 50 * 1225) - 5 / 6) < 0.01).all()
