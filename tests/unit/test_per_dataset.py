"""From scores files to the tidy frame."""

from __future__ import annotations

import numpy as np
import pytest

from replirank.data import simulate
from replirank.errors import ReplirankError
from replirank.evaluation import scores
from replirank.evaluation.per_dataset import metrics_of_files
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
