"""frank2007's smaller training sets: which queries, and what is recorded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from replirank.data import simulate
from replirank.data.pairs import pair_counts
from replirank.methods.bm25 import BM25
from replirank.methods.regression import Regression
from replirank.metrics.per_query import Judge
from replirank.papers.frank2007.sizes import ALL, draw, sizes, subset

TWELFTHS = [1, 2, 4, 8]
DATASET = simulate.letor(60, 8, 5, {0: 0.6, 1: 0.25, 2: 0.15}, folds=5, seed=1)


def run(method, number: int, names=("set", "method")):
    settings = {"grid": None, "convention": "burges", "select_by": "ndcg@10", "seed": 3}
    return draw(DATASET, method, number, TWELFTHS, **settings, names=names, report=lambda text: None)


def test_so_many_twelfths_of_the_training_queries_and_the_rest_as_it_was():
    for twelfths in (*TWELFTHS, ALL):
        smaller = subset(DATASET, twelfths, seed=1)
        for before, after in zip(DATASET.folds, smaller.folds, strict=True):
            assert len(after.train) == round(len(before.train) * twelfths / 12)
            assert set(after.train) <= set(before.train)
            np.testing.assert_array_equal(after.vali, before.vali)
            np.testing.assert_array_equal(after.test, before.test)


def test_a_smaller_set_is_part_of_a_larger_one():
    for fold in range(len(DATASET.folds)):
        by_size = [set(subset(DATASET, twelfths, seed=1).folds[fold].train) for twelfths in (*TWELFTHS, ALL)]
        assert all(one < other for one, other in zip(by_size, by_size[1:], strict=False))


def test_another_draw_takes_other_queries_and_the_same_takes_the_same():
    first, again, other = (subset(DATASET, 4, seed=seed).folds[0].train for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


def test_a_tiny_set_keeps_a_query():
    few = replace(DATASET, folds=tuple(fold._replace(train=fold.train[:3]) for fold in DATASET.folds))
    assert [len(fold.train) for fold in subset(few, 1, seed=1).folds] == [1] * 5


def test_sizes_count_pairs_within_queries():
    train = DATASET.split(0, "train")
    expected = sum(int(np.sum(train.labels[rows][:, None] > train.labels[rows])) for rows in train)
    assert sizes(train) == {"queries": train.queries, "documents": train.documents, "pairs": expected}
    assert expected == pair_counts(train).sum()


def test_what_learns_nothing_scores_the_same_at_every_size():
    """And it is the metric of all test queries of the fold."""
    frame = run(BM25, 1)
    assert frame.groupby(["twelfths", "fold"]).size().eq(1).all()
    assert sorted(frame["twelfths"].unique()) == [*TWELFTHS, ALL]
    for fold in range(5):
        test = DATASET.split(fold, "test")
        scores = test.features[:, test.columns["bm25"]]
        expected = Judge(test.labels, test.offsets, "burges.ndcg@10")(scores).mean()
        found = frame.query("fold == @fold + 1 and twelfths < 12")["test"]
        assert found.tolist() == pytest.approx([expected] * len(TWELFTHS))


def test_the_full_size_is_counted_and_not_trained_again():
    full = run(Regression, 1).query("twelfths == 12")
    assert full["test"].isna().all()
    assert full["queries"].tolist() == [len(fold.train) for fold in DATASET.folds]


def test_all_methods_see_the_same_queries_of_a_draw():
    one, other = run(Regression, 2, ("set", "one")), run(Regression, 2, ("set", "other"))
    counted = ["twelfths", "fold", "queries", "documents", "pairs"]
    assert one[counted].equals(other[counted])
    assert one["test"].equals(other["test"])  # least squares has no seed
    assert run(Regression, 3, ("set", "one"))["documents"].tolist() != one["documents"].tolist()
