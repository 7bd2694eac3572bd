"""BM25 alone, of the best field, and with PageRank: what is not learned but chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError
from replirank.methods.base import Task
from replirank.methods.bm25 import BM25
from replirank.methods.bm25_pagerank import BM25PageRank
from replirank.methods.bm25_pagerank_fixed import BM25PageRankFixed
from replirank.methods.bm25_tuned import BM25Tuned

COLUMNS = {"bm25": 0, "bm25_title": 1, "bm25_url": 2, "pagerank": 3}


def data(features: list[list[float]], labels: list[float]) -> RankingData:
    rows = np.array(features, dtype=np.float32)
    offsets, ids = np.array([0, len(rows)]), np.array([1])
    return RankingData(rows, np.array(labels, dtype=np.float32), offsets, ids, columns=COLUMNS)


# The title orders the documents as their labels do, nothing else does.
TRAIN = data([[1, 2, 0, 0], [3, 1, 1, 50], [2, 0, 2, 100]], [2, 1, 0])
VALI = data([[0, 9, 1, 7], [1, 8, 0, 0], [5, 7, 5, 9]], [2, 1, 0])


def pairs_in_order(scores: np.ndarray, vali: RankingData) -> float:
    better = vali.labels[:, None] > vali.labels
    return float(np.sum(better & (scores[:, None] > scores)))


def task(train: RankingData = TRAIN, vali: RankingData = VALI) -> Task:
    return Task(train, vali, seed=0, validate=lambda scores: pairs_in_order(scores, vali), report=lambda text: None)


def test_bm25_is_the_column_of_the_whole_document():
    assert BM25().fit(task()).model.score(VALI).tolist() == [0, 1, 5]


def test_the_tuned_field_is_the_one_that_validates_best():
    assert BM25Tuned().fit(task()).model.score(VALI).tolist() == [9, 8, 7]


def test_the_whole_document_wins_where_fields_validate_alike():
    alike = replace(VALI, features=np.repeat(VALI.features[:, :1], 4, axis=1))
    model = BM25Tuned().fit(task(vali=alike)).model
    assert model.weights.tolist() == [1, 0, 0, 0]


def test_where_only_the_whole_document_is_known_it_is_taken():
    only = {"bm25": 0}
    model = BM25Tuned().fit(task(replace(TRAIN, columns=only), replace(VALI, columns=only))).model
    assert model.weights.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0])
def test_bm25_and_pagerank_are_scaled_by_their_ranges_and_added(weight):
    model = BM25PageRank(weight=weight).fit(task()).model
    # BM25 runs from 1 to 3 in training, PageRank from 0 to 100.
    expected = (1 - weight) * VALI.features[:, 0] / (3 - 1) + weight * VALI.features[:, 3] / (100 - 0)
    assert model.score(VALI) == pytest.approx(expected)


def test_the_grid_has_the_papers_weight_and_both_ends():
    assert {0.0, 0.2, 1.0} <= set(BM25PageRank.grid["weight"])
    assert BM25PageRankFixed.grid == {}
    fixed = BM25PageRankFixed().fit(task()).model
    assert fixed.weights.tolist() == BM25PageRank(weight=0.2).fit(task()).model.weights.tolist()


def test_a_constant_column_counts_for_nothing():
    constant = replace(TRAIN, features=np.ones_like(TRAIN.features))
    assert BM25PageRank().fit(task(constant)).model.weights.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("method", "known"), [(BM25, {}), (BM25Tuned, {}), (BM25PageRank, {"bm25": 0})])
def test_data_without_the_column_is_refused_with_a_remedy(method, known):
    with pytest.raises(ReplirankError, match=r"no column known to hold (bm25|pagerank)") as caught:
        method().fit(task(replace(TRAIN, columns=known)))
    assert "specs.py" in caught.value.remedy
