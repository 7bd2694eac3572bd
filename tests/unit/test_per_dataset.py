"""From scores files to the tidy frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from replirank.data import simulate
from replirank.errors import ReplirankError
from replirank.evaluation import scores
from replirank.evaluation.per_dataset import join, metrics_of, metrics_of_files, numbers_again
from replirank.evaluation.scores import Scored
from replirank.metrics.per_query import evaluate

DATASET = simulate.letor(12, 6, 4, {0: 0.7, 1: 0.2, 2: 0.1}, seed=3)
KEYS = {"paper": "letor", "dataset": "toy", "origin": "simulated"}


@pytest.fixture
def files(tmp_path):
    """Scores of two methods, and of one that does not support the data."""
    made = {}
    for number, method in enumerate(("first", "second")):
        random = np.random.default_rng(number)
        made[method] = [
            Scored(fold, "test", random.normal(size=DATASET.judgements(fold, "test").documents)) for fold in range(5)
        ]
        scores.write(tmp_path / f"{method}.parquet", scores.frame(DATASET, made[method]))
    scores.write(tmp_path / "neither.parquet", scores.frame(DATASET, []), unsupported="it cannot")
    return made, [str(tmp_path / f"{method}.parquet") for method in ("first", "neither", "second")]


def test_rows_are_those_of_the_metrics_and_an_unsupported_method_has_none(files):
    made, paths = files
    said = []
    frame = metrics_of_files(DATASET, paths, KEYS, said.append)
    assert said == paths
    assert list(frame.columns[:7]) == ["paper", "dataset", "origin", "method", "fold", "split", "query"]
    assert frame["method"].unique().tolist() == ["first", "second"]
    assert len(frame) == 2 * DATASET.data.queries
    for method, scored in made.items():
        for fold, _, values in scored:
            test = DATASET.split(fold, "test")
            rows = frame[(frame["method"] == method) & (frame["fold"] == fold + 1)]
            assert rows["query"].tolist() == test.query_ids.tolist()
            best = DATASET.data.labels.max()
            expected = evaluate(values, test.labels, test.offsets, best_label=best)
            np.testing.assert_array_equal(rows[expected.columns], expected)


def test_a_data_set_that_no_method_supports_is_an_error(files):
    with pytest.raises(ReplirankError, match="no method of letor supports toy") as caught:
        metrics_of_files(DATASET, files[1][1:2], KEYS, lambda text: None)
    assert caught.value.path == "config.yaml"


def test_missing_test_scores_without_a_reason_are_an_error(files, tmp_path):
    scores.write(tmp_path / "neither.parquet", scores.frame(DATASET, []))
    with pytest.raises(ReplirankError, match="fold 1 has no test scores"):
        metrics_of_files(DATASET, files[1], KEYS, lambda text: None)


def metrics_with(ids, name: str) -> pd.DataFrame:
    dataset = replace(DATASET, data=replace(DATASET.data, query_ids=np.array(ids)))
    scored = [Scored(fold, "test", np.arange(dataset.judgements(fold, "test").documents)) for fold in range(5)]
    return metrics_of(dataset, scored, {**KEYS, "dataset": name, "method": "first"})


NUMBERS = [*range(1, 12), 2**53 + 1]  # the last is lost if it ever becomes a float
WORDS = [*(f"WT04-{k}" for k in range(1, 12)), "12"]
TESTED = np.concatenate([fold.test for fold in DATASET.folds])


@pytest.mark.parametrize(("ids", "kind"), [(NUMBERS, "i"), (WORDS, "U")])
def test_query_ids_are_kept_as_they_are(tmp_path, ids, kind):
    metrics_with(ids, "one").to_parquet(tmp_path / "metrics.parquet", index=False)
    queries = pd.read_parquet(tmp_path / "metrics.parquet")["query"]
    assert queries.tolist() == [ids[k] for k in TESTED]
    assert pd.api.types.is_integer_dtype(queries) == (kind == "i")


def test_joined_frames_of_numbers_keep_them():
    joined = join([metrics_with(NUMBERS, "one"), metrics_with(NUMBERS[::-1], "two")])
    assert joined["query"].dtype == np.int64
    assert joined["query"].tolist() == [ids[k] for ids in (NUMBERS, NUMBERS[::-1]) for k in TESTED]


def test_joined_frames_are_text_if_one_is(tmp_path):
    join([metrics_with(NUMBERS, "one"), metrics_with(WORDS, "two")]).to_parquet(tmp_path / "metrics.parquet")
    joined = pd.read_parquet(tmp_path / "metrics.parquet")
    assert joined["query"].tolist() == [str(ids[k]) for ids in (NUMBERS, WORDS) for k in TESTED]
    one, two = (numbers_again(joined[joined["dataset"] == name]) for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, metrics_with(NUMBERS, "one"), check_exact=True)
    assert two["query"].tolist() == [WORDS[k] for k in TESTED]
