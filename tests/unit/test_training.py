"""Training: the grid, the choice by validation, the scores and what is written down about them."""

import json
import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank import methods
from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.errors import ReplirankError
from replirank.evaluation import scores
from replirank.methods.base import Fit, Method, Task
from replirank.methods.bm25 import BM25
from replirank.methods.rankboost import RankBoost
from replirank.methods.ranknet_linear import RankNetLinear
from replirank.methods.ranksvm import RankSVM
from replirank.models import base as models
from replirank.models.linear import Linear
from replirank.seeds import derive
from replirank.training import Trained, grid_points, save, train

# Six queries of three documents with labels 2, 1, 0. Column 0 ranks them right in train and wrong elsewhere, column 1
# is right in vali, column 2 in test, column 3 in vali again, and column 4 in vali but for one swap.
RIGHT, WRONG, SWAPPED = (2.0, 1.0, 0.0), (0.0, 1.0, 2.0), (1.0, 2.0, 0.0)
TRAIN, VALI, TEST = ((0, 1), (2, 3), (4, 5))
COLUMNS = {
    "train": (RIGHT, WRONG, WRONG),
    "vali": (WRONG, RIGHT, WRONG),
    "test": (WRONG, WRONG, RIGHT),
    "vali again": (WRONG, RIGHT, SWAPPED),
    "nearly vali": (RIGHT, SWAPPED, RIGHT),
}


def dataset(folds=1):
    columns = [np.repeat(np.array(parts), 2, axis=0).ravel() for parts in COLUMNS.values()]
    data = RankingData(
        features=np.stack(columns, axis=1).astype(np.float32),
        labels=np.tile([2.0, 1, 0], 6).astype(np.float32),
        offsets=np.arange(0, 19, 3),
        query_ids=np.arange(101, 107),
        columns={"bm25": 0},
    )
    return Dataset(data, (Fold(*map(np.array, (TRAIN, VALI, TEST))),) * folds)


@dataclass(frozen=True)
class OneColumn(Method):
    """Learns nothing: its one hyper-parameter names the column to rank by."""

    column: str = "train"

    title = "One column"
    grid = {"column": tuple(COLUMNS)}

    def fit(self, task: Task) -> Fit:
        return Fit(Linear(np.eye(len(COLUMNS))[list(COLUMNS).index(self.column)]))


def run(
    method=OneColumn, grid=None, *, data=None, seed=1, names=("toy", "one_column"), report=lambda text: None, **rest
):
    rest = {"convention": "standard", "select_by": "ndcg@2", **rest}
    return train(dataset() if data is None else data, method, grid=grid, seed=seed, names=names, report=report, **rest)


def choices(trained):
    """What was tried and chosen, without the time it took."""
    how = ("seconds", "at_once")
    return [{key: value for key, value in fold.items() if key not in how} for fold in trained.choices]


# The grid


@dataclass(frozen=True)
class TwoParameters(Method):
    a: int = 0
    b: str = "x"
    c: float = 9.0

    title = "Two of three"
    grid = {"a": (1, 2), "b": ("x", "y", "z")}

    def fit(self, task: Task) -> Fit:
        raise AssertionError("no fit was asked for")


def test_grid_is_every_combination_the_last_changing_fastest():
    assert grid_points(TwoParameters, None) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 1, "b": "z"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
        {"a": 2, "b": "z"},
    ]


def test_config_replaces_the_values_of_a_parameter_and_leaves_the_others():
    assert grid_points(TwoParameters, {"b": ["q"]}) == [{"a": 1, "b": "q"}, {"a": 2, "b": "q"}]
    assert grid_points(TwoParameters, {"b": ["q"], "a": [7]}) == [{"a": 7, "b": "q"}]
    assert grid_points(TwoParameters, {"a": [7], "b": ["q"], "c": [0.5, 0.6]}) == [
        {"a": 7, "b": "q", "c": 0.5},
        {"a": 7, "b": "q", "c": 0.6},
    ]
    assert TwoParameters.grid == {"a": (1, 2), "b": ("x", "y", "z")}


def test_a_method_without_a_grid_has_one_point():
    assert grid_points(BM25, None) == [{}]
    assert grid_points(BM25, {}) == [{}]


@pytest.mark.parametrize("ask", [grid_points, lambda method, grid: run(method, grid)])
def test_an_unknown_parameter_is_refused_before_any_fit(ask):
    with pytest.raises(ReplirankError, match="Two of three has no hyper-parameter 'lerning_rate'") as caught:
        ask(TwoParameters, {"lerning_rate": [0.1]})
    assert caught.value.remedy == "it has a, b, c"


def test_a_parameter_of_a_method_that_has_none_is_refused():
    with pytest.raises(ReplirankError, match="BM25 has no hyper-parameter 'k1'") as caught:
        grid_points(BM25, {"k1": [1.2]})
    assert "leave its grid empty" in caught.value.remedy


# The choice


def test_chooses_by_validation_and_not_by_train_or_test():
    trained = run()
    assert choices(trained) == [
        {
            "fold": 1,
            "chosen": {"column": "vali"},
            "validation": 1.0,
            "tried": [
                {"column": column, "validation": pytest.approx(value)}
                for column, value in zip(COLUMNS, [WRONG_NDCG, 1.0, WRONG_NDCG, 1.0, SWAPPED_NDCG], strict=True)
            ],
        }
    ]
    assert_array_equal(trained.models["fold1"].weights, [0, 1, 0, 0, 0])


# NDCG@2 of labels 0, 1 and of 1, 2, where 2, 1 is best.
BEST = 3 + 1 / np.log2(3)
WRONG_NDCG = (1 / np.log2(3)) / BEST
SWAPPED_NDCG = (1 + 3 / np.log2(3)) / BEST


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["vali", "vali again"], "vali"),
        (["vali again", "vali"], "vali again"),
        (["nearly vali", "train"], "nearly vali"),
        (["train", "nearly vali"], "nearly vali"),
        (["train", "test"], "train"),
        (["test", "train"], "test"),
    ],
)
def test_of_equals_the_first_is_taken(columns, chosen):
    assert run(grid={"column": columns}).choices[0]["chosen"] == {"column": chosen}


def test_each_fold_chooses_for_itself():
    data = dataset()
    turned = Fold(train=np.array(VALI), vali=np.array(TEST), test=np.array(TRAIN))
    trained = run(data=replace(data, folds=(*data.folds, turned)))
    assert [choice["chosen"]["column"] for choice in trained.choices] == ["vali", "test"]
    assert [choice["fold"] for choice in trained.choices] == [1, 2]
    assert_array_equal(trained.models["fold2"].weights, [0, 0, 1, 0, 0])


def test_test_queries_have_no_say():
    """Whatever is in them: here nothing is a number."""
    data = dataset()
    features = data.data.features.copy()
    features[12:] = np.nan
    spoilt = replace(data, data=replace(data.data, features=features))
    honest, blind = run(data=data, splits=("vali",)), run(data=spoilt, splits=("vali",))
    assert choices(honest) == choices(blind)
    assert_array_equal(honest.scored[0].scores, blind.scored[0].scores)


def test_the_metric_and_its_convention_choose():
    """By letor3's NDCG@5 every list of three is too short and scores 0: the first is as good as any."""
    assert run(convention="letor3", select_by="ndcg@5").choices[0]["chosen"] == {"column": "train"}
    assert run(convention="burges", select_by="ndcg@5").choices[0]["chosen"] == {"column": "vali"}


# Of labels 2, 1, 0 in the order 0 1 2, in the right order, and in the order 1 2 0, which has one pair of three wrong.
# ERR: a document of label l satisfies with probability (2^l - 1) / 2^4, the data set's best label being 4.
ERR = {
    WRONG: 1 / 16 / 2 + (15 / 16) * (3 / 16) / 3,
    RIGHT: 3 / 16 + (13 / 16) * (1 / 16) / 2,
    SWAPPED: 1 / 16 + (15 / 16) * (3 / 16) / 2,
}


@pytest.mark.parametrize(
    ("select_by", "wrong", "right", "swapped"),
    [
        ("kendall_tau", 3 / 3, 0 / 3, 1 / 3),
        ("pairwise_correct", 0 / 3, 3 / 3, 2 / 3),
        ("err", ERR[WRONG], ERR[RIGHT], ERR[SWAPPED]),
        ("p@1", 0, 1, 1),
        ("map", (1 / 2 + 2 / 3) / 2, 1, 1),
    ],
)
def test_any_metric_chooses_and_is_recorded_as_it_is(select_by, wrong, right, swapped):
    """Of a distance the smallest is chosen: `task.validate` negates it, and nobody reads a negated one."""
    data = dataset()
    labels = data.data.labels.copy()
    labels[0] = 4  # in a training query
    trained = run(data=replace(data, data=replace(data.data, labels=labels)), select_by=select_by)
    [fold] = trained.choices
    tried = [wrong, right, wrong, right, swapped]
    assert [point["validation"] for point in fold["tried"]] == pytest.approx(tried, rel=1e-12)
    assert fold["chosen"] == {"column": "vali"}
    assert fold["validation"] == pytest.approx(right, rel=1e-12)


def test_top10_chooses():
    """Twelve documents, so that there is something to leave out: a column keeps 10, 9 or 8 of the best ten."""
    best = np.arange(12.0, 0, -1)
    features = np.stack([best[[10, 11, *range(2, 10), 0, 1]], best, best[[10, *range(1, 10), 0, 11]]], axis=1)
    features = np.concatenate([features, np.zeros((12, len(COLUMNS) - 3))], axis=1)
    data = RankingData(np.tile(features, (3, 1)), np.tile(best, 3), np.arange(0, 37, 12), np.arange(3))
    folds = (Fold(np.array([0]), np.array([1]), np.array([2])),)
    [fold] = run(grid={"column": list(COLUMNS)[:3]}, data=Dataset(data, folds), select_by="top10").choices
    assert [point["validation"] for point in fold["tried"]] == [0.8, 1.0, 0.9]
    assert fold["chosen"] == {"column": "vali"}


def test_what_a_method_is_told_is_higher_when_better():
    told = {}

    @dataclass(frozen=True)
    class Asking(OneColumn):
        title = "Asking"

        def fit(self, task: Task) -> Fit:
            told[select_by, self.column] = task.validate(super().fit(task).model.score(task.vali))
            history = pd.DataFrame({"epoch": [1], "loss": [0.5], "validation": [told[select_by, self.column]]})
            return super().fit(task)._replace(history=history)

    histories = {}
    for select_by in ("kendall_tau", "pairwise_correct"):
        histories[select_by] = run(Asking, {"column": ["train", "nearly vali"]}, select_by=select_by).history
    assert told == {
        ("kendall_tau", "train"): -3 / 3,
        ("kendall_tau", "nearly vali"): -1 / 3,
        ("pairwise_correct", "train"): 0,
        ("pairwise_correct", "nearly vali"): 1 - 1 / 3,
    }
    assert histories["kendall_tau"]["validation"].tolist() == [3 / 3, 1 / 3]
    assert histories["pairwise_correct"]["validation"].tolist() == [0, 1 - 1 / 3]
    for history in histories.values():
        assert list(history.columns) == ["fold", "point", "chosen", "epoch", "loss", "validation"]
        assert history["chosen"].tolist() == [False, True]


def test_a_real_method_keeps_the_epoch_of_the_smallest_distance():
    """On noise, so that the distance rises and falls."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(96, 5)).astype(np.float32)
    data = RankingData(features, rng.integers(0, 3, 96).astype(np.float32), np.arange(0, 97, 8), np.arange(12))
    whole = Dataset(data, (Fold(*np.arange(12).reshape(3, 4)),))
    trained = run(RankNetLinear, {"learning_rate": [0.1], "epochs": [8]}, data=whole, select_by="kendall_tau")
    distances = trained.history["validation"]
    assert 0 < distances.min() < distances.iloc[-1] < distances.max() < 1
    assert trained.choices[0]["validation"] == distances.min()


def test_an_unknown_metric_is_refused():
    with pytest.raises(ReplirankError, match="unknown metric 'mrr'"):
        run(select_by="mrr")


# What comes back


@pytest.mark.parametrize("splits", [("vali", "test"), ("test",), ("train", "vali", "test")])
def test_scores_of_the_splits_that_were_asked_for(splits):
    data = dataset(folds=2)
    trained = run(data=data, splits=splits)
    assert [(scored.fold, scored.split) for scored in trained.scored] == [
        (fold, split) for fold in (0, 1) for split in splits
    ]
    for scored in trained.scored:
        assert_array_equal(scored.scores, data.split(scored.fold, scored.split).features[:, 1])


def test_unless_asked_otherwise_validation_and_test_are_scored():
    assert [scored.split for scored in run().scored] == ["vali", "test"]


def test_each_fold_says_how_long_it_took():
    times = [fold["seconds"] for fold in run(data=dataset(folds=2)).choices]
    assert len(times) == 2
    assert min(times) > 0


def test_without_a_history_there_are_no_rows():
    assert run().history.empty


@dataclass(frozen=True)
class Epochs(OneColumn):
    epochs: int = 2

    title = "One column, slowly"
    grid = {"column": ("train", "vali"), "epochs": (1, 2)}

    def fit(self, task: Task) -> Fit:
        rows = [{"epoch": epoch, "loss": task.seed % 100 + epoch / 10} for epoch in range(1, self.epochs + 1)]
        return super().fit(task)._replace(history=pd.DataFrame(rows))


def test_history_has_every_point_and_marks_the_chosen_one():
    history = run(Epochs, data=dataset(folds=2)).history
    assert list(history.columns) == ["fold", "point", "chosen", "epoch", "loss"]
    one_fold = [(1, False, 1), (2, False, 1), (2, False, 2), (3, True, 1), (4, False, 1), (4, False, 2)]
    expected = [(fold, *row) for fold in (1, 2) for row in one_fold]
    assert list(history[["fold", "point", "chosen", "epoch"]].itertuples(index=False, name=None)) == expected
    assert_array_equal(history.index, np.arange(12))
    seeds = [derive(1, "toy", "one_column", fold) for fold in (0, 1)]
    assert_allclose(history["loss"], [seeds[fold - 1] % 100 + epoch / 10 for fold, _, _, epoch in expected])


def test_history_of_a_real_method():
    trained = run(RankNetLinear, {"learning_rate": [0.1, 0.01], "epochs": [3]}, data=dataset(folds=2))
    columns = ["fold", "point", "chosen", "epoch", "loss", "validation", "learning_rate"]
    assert list(trained.history.columns) == columns
    assert len(trained.history) == 2 * 2 * 3
    for (fold, _), rows in trained.history[trained.history["chosen"]].groupby(["fold", "point"]):
        assert rows["validation"].max() == trained.choices[fold - 1]["validation"]


def test_progress_names_fold_point_and_choice():
    said = []
    run(RankSVM, {"C": [0.1, 10.0]}, data=dataset(folds=2), report=said.append)
    assert said[0] == "fold 1/2, grid point 1/2: C 0.1"
    assert re.match(r"fold 1/2, grid point 1/2: C 0.1: objective [\d.]+ in \d+ rounds$", said[1])
    assert said[2] == "fold 1/2, grid point 2/2: C 10.0"
    assert re.match(r"fold 1/2: chose C 0.1, validation 0\.\d{4}$", said[4])
    assert len(said) == 10


# Sharing


def test_what_is_shared_is_made_once_for_each_fold_from_its_training_queries():
    planned, made, met = [], [], []

    @dataclass(frozen=True)
    class Sharing(OneColumn):
        title = "Sharing"

        @classmethod
        def plan(cls, trains):
            planned.append([train.query_ids.tolist() for train in trains])
            return "the plan"

        @classmethod
        def share(cls, train, plan=None):
            assert plan == "the plan"
            made.append(train.query_ids.tolist())
            return len(made)

        def fit(self, task):
            met.append(task.shared)
            assert task.train.query_ids.tolist() == made[-1]
            assert task.vali.query_ids.tolist() == [103, 104]
            return super().fit(task)

    data = dataset()
    shorter = data.folds[0]._replace(train=np.array([1]))
    run(Sharing, data=replace(data, folds=(*data.folds, shorter)))
    assert planned == [[[101, 102], [102]]]
    assert made == [[101, 102], [102]]
    assert Counter(met) == {1: len(COLUMNS), 2: len(COLUMNS)}


# Failures


@dataclass(frozen=True)
class Fragile(OneColumn):
    title = "Fragile"

    def fit(self, task: Task) -> Fit:
        if self.column == "test":
            raise ReplirankError("it broke", remedy="glue")
        if self.column == "vali again":
            return Fit(Linear(np.full(len(COLUMNS), np.inf)))
        return super().fit(task)


def test_an_error_names_fold_point_and_remedy():
    with pytest.raises(ReplirankError) as caught:
        run(Fragile, {"column": ["train", "test"]}, data=dataset(folds=3))
    assert str(caught.value) == "fold 1/3, grid point 2/2, column test: it broke\n  remedy: glue"
    assert isinstance(caught.value.__cause__, ReplirankError)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_scores_that_are_not_finite_are_an_error():
    with pytest.raises(ReplirankError, match="fold 1/1, grid point 1/1, column vali again: scores are not finite"):
        run(Fragile, {"column": ["vali again"]})


def test_an_error_of_a_real_method_says_where():
    with pytest.raises(ReplirankError, match="fold 1/1, grid point 1/1, rounds 2, thresholds 0: 0 thresholds"):
        run(RankBoost, {"rounds": [2], "thresholds": [0]})


# Seeds


@dataclass(frozen=True)
class Noise(Method):
    """Ranks by chance, so that its scores tell its seed."""

    draw: int = 0

    title = "Noise"
    grid = {"draw": (0, 1, 2)}

    def fit(self, task: Task) -> Fit:
        return Fit(Linear(np.random.default_rng(task.seed).normal(size=len(COLUMNS))))


def weights(trained):
    return {name: tuple(model.weights) for name, model in trained.models.items()}


def test_seeds_differ_by_fold_name_and_seed():
    data = dataset(folds=3)
    drawn = [
        *weights(run(Noise, data=data)).values(),
        *weights(run(Noise, data=data, seed=2)).values(),
        *weights(run(Noise, data=data, names=("toy", "other"))).values(),
        *weights(run(Noise, data=data, names=("other", "one_column"))).values(),
    ]
    assert len(set(drawn)) == 12


def test_grid_points_of_a_fold_start_alike():
    alone = weights(run(Noise, {"draw": [2]}, data=dataset(folds=2)))
    assert weights(run(Noise, {"draw": [1, 2, 0]}, data=dataset(folds=2))) == alone


def test_seeds_do_not_depend_on_the_work_done_before():
    """Neither on the folds and grid points before, nor on anybody's global state."""
    data = dataset(folds=3)
    all_folds = weights(run(Noise, data=data))
    np.random.seed(99)  # noqa: NPY002
    again = weights(run(Noise, data=data))
    assert again == all_folds
    first_only = weights(run(Noise, data=dataset(folds=1)))
    assert first_only == {"fold1": all_folds["fold1"]}


def test_the_same_run_gives_the_same_bytes():
    grid = {"learning_rate": [0.1], "epochs": [3]}
    first, again = (run(RankNetLinear, grid, data=dataset(folds=2)) for _ in range(2))
    for one, other in zip(first.scored, again.scored, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
    assert first.history.equals(again.history)
    assert choices(first) == choices(again)


@pytest.mark.parametrize(("select_by", "column"), [("map", r"standard\.map"), ("kendall_tau", "kendall_tau")])
def test_validation_without_a_single_value_is_refused_not_guessed(select_by, column):
    """`standard` leaves out queries without relevant documents, and without different labels there are no pairs."""
    whole = dataset()
    labels = whole.data.labels.copy()
    labels[6:12] = 0  # the documents of the validation queries
    barren = replace(whole, data=replace(whole.data, labels=labels))
    with pytest.raises(ReplirankError, match=f"no validation query has a {column}, so"):
        train(
            barren,
            OneColumn,
            grid=None,
            convention="standard",
            select_by=select_by,
            seed=1,
            names=("data", "method"),
            report=lambda text: None,
        )


# All grid points at once


@dataclass(frozen=True)
class Together(OneColumn):
    """As OneColumn, but all columns in one go."""

    title = "Together"

    def fit(self, task: Task) -> Fit:
        raise AssertionError("fit_together was to do it")

    @classmethod
    def fit_together(cls, points, task):
        task.report(f"{len(points)} at once")
        return [OneColumn(point.column).fit(task) for point in points]


def test_a_method_may_fit_all_points_of_a_fold_at_once():
    said = []
    together = run(Together, data=dataset(folds=2), report=said.append)
    apart = run(OneColumn, data=dataset(folds=2))
    assert choices(together) == choices(apart)
    assert {fold["at_once"] for fold in together.choices} == {True}
    assert {fold["at_once"] for fold in apart.choices} == {False}
    for one, other in zip(together.scored, apart.scored, strict=True):
        assert_array_equal(one.scores, other.scores)
    assert [line for line in said if "at once" in line] == ["fold 1/2: 5 at once", "fold 2/2: 5 at once"]


@dataclass(frozen=True)
class OneGoesWrong(Together):
    @classmethod
    def fit_together(cls, points, task):
        fits = super().fit_together(points, task)
        fits[[point.column for point in points].index("test")] = Fit(Linear(np.full(len(COLUMNS), np.nan)))
        return fits


def test_of_points_fitted_at_once_the_one_that_went_wrong_is_named():
    with pytest.raises(ReplirankError, match="fold 1/1, column test: scores are not finite"):
        run(OneGoesWrong)


# What a rule leaves behind


@dataclass(frozen=True)
class NotHere(OneColumn):
    """Says that it cannot be used, and would fail if it were."""

    @classmethod
    def unsupported(cls, data):
        return f"there are {data.documents} documents"

    @classmethod
    def plan(cls, trains):
        raise AssertionError("it was trained")


def saved(folder, method, **rest):
    files = {name: folder / f"{name}{suffix}" for name, suffix in OUTPUTS.items()}
    trained = run(method, **rest)
    save(files, dataset(folds=2), method.title, trained)
    return files, trained


OUTPUTS = {"scores": ".parquet", "models": ".npz", "choices": ".json", "history": ".csv"}


def test_what_was_trained_is_saved(tmp_path):
    files, trained = saved(tmp_path, Epochs, data=dataset(folds=2))
    read = scores.read(files["scores"], dataset(folds=2))
    for fold, split, values in trained.scored:
        (same,) = [one.scores for one in read if (one.fold, one.split) == (fold, split)]
        assert_array_equal(same, values)
    assert list(models.load(files["models"])) == ["fold1", "fold2"]
    assert json.loads(files["choices"].read_text()) == {"title": "One column, slowly", "folds": trained.choices}
    pd.testing.assert_frame_equal(pd.read_csv(files["history"]), trained.history)


def test_another_program_may_keep_its_models(tmp_path):
    files = {name: tmp_path / name for name in OUTPUTS if name != "models"}
    save(files, dataset(), OneColumn.title, run())
    assert {path.name for path in tmp_path.iterdir()} == {"scores", "choices", "history"}


def test_a_method_that_does_not_support_the_data_says_why_and_is_not_trained(tmp_path):
    said = []
    files, trained = saved(tmp_path, NotHere, data=dataset(folds=2), report=said.append)
    reason = "there are 18 documents"
    assert said == [f"not supported: {reason}"]
    assert trained == Trained([], {}, [], [], unsupported=reason)
    assert scores.read(files["scores"], dataset(folds=2)) == []
    assert models.load(files["models"]) == {}
    assert json.loads(files["choices"].read_text()) == {"title": "One column", "folds": [], "unsupported": reason}
    assert pd.read_csv(files["history"]).empty


def test_a_wrong_parameter_is_refused_even_where_the_data_is_not_supported():
    with pytest.raises(ReplirankError, match="no hyper-parameter 'c'"):
        run(NotHere, {"c": [1]})


STRICT_ORDER = ranking(np.zeros((150, 2)), np.arange(150))
METHODS_BY_NEED = {
    "bm25": ["bm25", "bm25_tuned"],
    "bm25 or pagerank": ["bm25_pagerank", "bm25_pagerank_fixed"],
}


@pytest.mark.parametrize("name", ["cosine_bayes", "cross_entropy_bayes", "squared_bayes", "plugin"])
def test_bayes_optimal_functions_do_not_support_strict_orders(name):
    reason = methods.find(name).unsupported(STRICT_ORDER)
    assert reason == "150 relevance levels up to 149 are too many for a multiclass logistic model"
    assert methods.find(name).unsupported(dataset().data) is None


@pytest.mark.parametrize(("need", "name"), [(need, name) for need, names in METHODS_BY_NEED.items() for name in names])
def test_methods_that_need_a_column_do_not_support_data_without_it(need, name):
    reason = methods.find(name).unsupported(STRICT_ORDER)
    assert reason == f"this data set has no column known to hold {need}"
    known = replace(STRICT_ORDER, columns={"bm25": 0, "pagerank": 1})
    assert methods.find(name).unsupported(known) is None


@pytest.mark.parametrize("name", ["ranksvm", "regression", "listnet", "cosine_linear", "rankboost"])
def test_other_methods_support_strict_orders_without_known_columns(name):
    assert methods.find(name).unsupported(STRICT_ORDER) is None
