"""The experiment of ranknet2005, section 5, on tiny draws: what is counted, what is learned from, what is kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replirank.data.arrays import RankingData
from replirank.data.artificial import artificial
from replirank.engines.batches import make_batches
from replirank.errors import ReplirankError
from replirank.papers.ranknet2005 import draws as artificial_draws
from replirank.papers.ranknet2005.draws import (
    Learner,
    Trial,
    draw,
    first_vectors,
    pair_trials,
    run,
    trained_pairs,
    trials,
    wrong_pairs,
)

SPLITS = ["train", "vali", "test"]
TINY = [
    Trial("table1", 0, False, 40),
    Trial("table1", 5, False, 40),
    Trial("table1", 5, False, 160),
    Trial("table2", 5, True, 160),
    Trial("updates", 5, False, 160, "pair"),
]


@pytest.fixture(scope="module")
def dataset():
    return artificial("net", seed=3, queries=20, documents=10)  # 16, 2 and 2 queries


def tiny(dataset, epochs: int = 4, trials=TINY) -> pd.DataFrame:
    return pd.DataFrame(run(dataset, trials, seed=5, epochs=epochs, report=lambda text: None))


@pytest.fixture(scope="module")
def frame(dataset):
    return tiny(dataset)


def pairs_by_hand(data: RankingData) -> list[tuple[int, int]]:
    """(better, worse), for all documents of a query with different labels."""
    return [
        (i, j)
        for rows in data
        for i in range(rows.start, rows.stop)
        for j in range(rows.start, rows.stop)
        if data.labels[i] > data.labels[j]
    ]


def test_wrong_pairs_are_counted_one_by_one(dataset):
    data = dataset.split(0, "train")
    scores = np.random.default_rng(0).integers(0, 8, data.documents).astype(float)  # so that there are ties
    pairs = pairs_by_hand(data)
    assert wrong_pairs(scores, data) == (sum(scores[i] <= scores[j] for i, j in pairs), len(pairs))
    assert wrong_pairs(data.labels, data) == (0, len(pairs))
    assert wrong_pairs(np.zeros(data.documents), data) == (len(pairs), len(pairs))


def test_trained_pairs_are_the_papers_sum_over_levels(dataset):
    data = dataset.split(0, "train")
    without, with_ties = Trial("table2", 10, False, 160), Trial("table2", 10, True, 160)
    assert trained_pairs(data, without) == len(pairs_by_hand(data))
    assert trained_pairs(data, with_ties) == 16 * 10 * 9 // 2


def test_a_training_set_is_the_first_queries(dataset):
    train = dataset.split(0, "train")
    first = first_vectors(train, 40)
    assert first.query_ids.tolist() == train.query_ids[:4].tolist()
    assert (first.features == train.features[:40]).all()
    assert first_vectors(train, 160).documents == 160
    for vectors in (45, 170, 0):
        with pytest.raises(ReplirankError, match="multiple of 10"):
            first_vectors(train, vectors)


def test_a_row_for_each_trial_and_split(frame):
    assert frame["split"].tolist() == SPLITS * len(TINY)
    assert frame["vectors"].tolist() == np.repeat([trial.vectors for trial in TINY], 3).tolist()
    assert frame["net"].tolist() == np.repeat(["linear", *["two_layer"] * 4], 3).tolist()
    assert (frame["epochs"] == 4).all()
    assert frame["epoch"].between(1, 4).all()


def test_percent_correct_is_of_the_pairs_of_the_split(frame, dataset):
    np.testing.assert_allclose(frame["correct"], 100 * (frame["pairs"] - frame["wrong"]) / frame["pairs"])
    for split in ("vali", "test"):
        assert set(frame["pairs"][frame["split"] == split]) == {len(pairs_by_hand(dataset.split(0, split)))}
    train = frame[frame["split"] == "train"]
    counted = [len(pairs_by_hand(first_vectors(dataset.split(0, "train"), trial.vectors))) for trial in TINY]
    assert train["pairs"].tolist() == counted
    # With ties more is learned from; what is counted stays the same.
    assert train["trained_pairs"].tolist() == [*counted[:3], 16 * 45, counted[4]]


def test_the_same_seed_gives_the_same_rows(frame, dataset):
    pd.testing.assert_frame_equal(frame, tiny(dataset))


def test_nets_learn(frame):
    assert (frame["correct"][frame["split"] == "train"] > 70).all()


def test_ties_are_trained_on(dataset):
    train = dataset.split(0, "train")
    batches = make_batches(train)
    weights = []
    for ties in (False, True):
        learner = Learner(Trial("table2", 5, ties, 160), train, batches, 1, lambda text: None)
        weights.append(learner.validated(train, 4).model.hidden)
    # A tie pulls two scores together, and so the net's weights towards zero.
    assert np.linalg.norm(weights[1]) < np.linalg.norm(weights[0])


def test_the_epoch_of_least_validation_error_is_kept(dataset):
    """Shorter runs are the beginnings of longer ones: what is kept is as good as the best of them."""
    trial = [Trial("table1", 0, False, 40)]
    runs = [tiny(dataset, epochs, trial).set_index("split").loc["vali"] for epochs in range(1, 26)]
    wrong, epochs = [int(row["wrong"]) for row in runs], [int(row["epoch"]) for row in runs]
    assert wrong == np.minimum.accumulate(wrong).tolist()
    assert len(set(wrong)) > 2
    for run_epochs, epoch in enumerate(epochs, 1):  # it is the first epoch that was as good
        assert wrong.index(wrong[run_epochs - 1]) == epoch - 1


def test_the_capacity_check_keeps_the_net_of_least_training_error(dataset):
    """And ends with it, having more epochs to get there than the net that validation keeps."""
    trial = [Trial("capacity", 10, False, 10)]
    rows = tiny(dataset, 40, trial).set_index("split")
    assert rows.loc["train", "wrong"] == 0
    assert rows.loc["train", "epoch"] == rows.loc["train", "epochs"]
    assert 40 < rows.loc["train", "epochs"] < 40 * artificial_draws.CAPACITY_EPOCHS // artificial_draws.EPOCHS
    assert rows.loc["vali", "epochs"] == 40


def test_training_ends_when_no_training_pair_is_wrong(dataset):
    rows = tiny(dataset, 400, [Trial("table1", 5, False, 10)]).set_index("split")
    ended = rows.loc["train", "epochs"]
    assert ended < 400
    kept = rows.loc["train", "epoch"]  # that validation chose may have been an earlier one
    assert kept <= ended
    assert (rows.loc["train", "wrong"] == 0) == (kept == ended)


def test_another_start_is_tried_while_there_is_an_error(dataset, monkeypatch):
    """The tiny net is given the wrong answers twice, then the right ones."""
    train = first_vectors(dataset.split(0, "train"), 10)
    answers = iter([-train.labels, np.zeros(10), train.labels])

    class Model:
        def score(self, data):
            return self.scores

    def descend(learner, start, vali, epochs, purpose):
        model = Model()
        model.scores = next(answers)
        return artificial_draws.Kept(model, 1, epochs)

    monkeypatch.setattr(Learner, "_descend", descend)
    learner = Learner(Trial("capacity", 10, False, 10), train, None, 1, print)
    kept = learner.by_heart(9)
    assert (kept.model.scores == train.labels).all()
    assert kept.starts == 3
    assert next(answers, None) is None


def test_two_layer_nets_start_as_the_paper_says(dataset):
    first, again, other = (
        Learner(Trial("table1", 10, False, 160), dataset.split(0, "train"), None, seed, print).start()
        for seed in (1, 1, 2)
    )
    assert first.hidden.shape == (50, 10)
    assert not first.hidden.any()
    assert not first.offsets.any()
    assert (np.abs(first.output) <= 0.1).all()
    assert len(set(first.output.tolist())) == 10
    assert (first.output == again.output).all()
    assert (first.output != other.output).all()


def test_each_size_is_tried_with_the_nets_of_its_table():
    vectors = {"table1": [100, 500], "table2": [1000], "capacity": 50}
    table1 = [Trial("table1", units, False, size) for units in (0, 5) for size in (100, 500)]
    table2 = [Trial("table2", 10, ties, 1000) for ties in (False, True)]
    assert trials("net", vectors) == [*table1, Trial("capacity", 10, False, 50)]
    assert trials("poly", vectors) == trials("poly_variance", vectors) == [*table1, *table2]
    assert {trial.update for trial in [*table1, *table2]} == {"query"}
    with pytest.raises(ReplirankError, match="net, poly"):
        trials("spline", vectors)


def test_the_largest_training_set_is_trained_pair_by_pair_in_every_other_draw():
    vectors = {"table1": [100, 2500, 12_500], "table2": [1000], "capacity": 50}
    for number, sizes in ((1, [100, 2500]), (2, [100, 2500, 12_500]), (3, [100, 2500]), (4, [100, 2500, 12_500])):
        assert pair_trials(number, vectors) == [
            ("updates", units, False, size, "pair") for units in (0, 5) for size in sizes
        ]


def test_both_readings_of_the_polynomial_have_one_draw(monkeypatch):
    """The vectors are the same; their labels are not."""
    drawn = []
    monkeypatch.setattr(artificial_draws, "run", lambda dataset, *rest, **more: drawn.append(dataset) or [])
    for task in ("poly", "poly_variance", "net"):
        draw(task, 1, [], seed=1)
    written, hypothesis, other = (dataset.data for dataset in drawn)
    assert (written.features == hypothesis.features).all()
    assert 0.2 < np.mean(written.labels == hypothesis.labels) < 0.8
    assert (written.features != other.features).any()


def test_a_draw_is_a_new_task_with_new_data():
    trial = [Trial("table1", 0, False, 100)]
    first, again, other = (draw("poly", number, trial, seed=1, epochs=2) for number in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert first["wrong"].tolist() != other["wrong"].tolist()
    assert first["draw"].tolist() == [1, 1, 1]
    assert first["task"].tolist() == ["poly"] * 3
    assert first["pairs"].max() <= 100 * 50 * 49 / 2
