"""The contract of a method. Every method found in replirank.methods is held to it, without a line of test of its own.

A test is a plain function of the method's class (and of what the fixtures below make of it), so that it can be called
with any class; the last part does so with methods that break the contract.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from replirank import methods
from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.errors import ReplirankError
from replirank.methods.base import Fit, Method, Task
from replirank.metrics.per_query import Judge
from replirank.models import base as models
from replirank.models.base import Model
from replirank.models.linear import Linear
from replirank.training import Trained, grid_points, train

COLUMNS = {"bm25": 0, "pagerank": 1}  # a method may ask for these
FEATURES = 10
SHORT = {"epochs": 5, "rounds": 5}  # of what a method has of these, so much is enough where nothing need be solved


# A tiny problem


def tiny(seed: int, lengths: np.ndarray) -> RankingData:
    """Labels 0, 1 and 2. Column 0 orders each query but for a little noise; the others are noise."""
    random = np.random.default_rng(seed)
    documents = lengths.sum()
    labels = random.integers(0, 3, documents)
    features = 0.4 * random.random((documents, FEATURES))
    features[:, 0] = (labels + 0.1 * random.normal(size=documents)) / 2
    return RankingData(
        features=features.astype(np.float32),
        labels=labels.astype(np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        query_ids=np.arange(len(lengths)) + 1,
        columns=COLUMNS,
    )


DATA = tiny(seed=1, lengths=np.random.default_rng(0).integers(9, 13, 100))
FOLD = Fold(train=np.arange(0, 40), vali=np.arange(40, 60), test=np.arange(60, 100))
TRAIN, VALI, FRESH = (DATA.take(positions) for positions in FOLD)


def shuffled(data: RankingData, seed: int = 0) -> tuple[RankingData, np.ndarray]:
    """The documents of each query in another order, and that order."""
    random = np.random.default_rng(seed)
    order = np.concatenate([random.permutation(np.arange(rows.start, rows.stop)) for rows in data])
    assert not np.array_equal(order, np.arange(data.documents))
    return replace(data, features=data.features[order], labels=data.labels[order]), order


def pairs_within(data: RankingData) -> np.ndarray:
    """Every two documents of a query, as two columns of row numbers."""
    return np.array([pair for rows in data for pair in itertools.combinations(range(rows.start, rows.stop), 2)])


def pairwise_accuracy(data: RankingData, scores: np.ndarray) -> float:
    """The share of pairs with different labels in the right order, a tie being half right."""
    i, j = pairs_within(data).T
    label, score = np.sign(data.labels[i] - data.labels[j]), np.sign(scores[i] - scores[j])
    return float(np.mean((1 + label * score)[label != 0] / 2))


def agreement(data: RankingData, scores: np.ndarray, others: np.ndarray) -> float:
    """The share of pairs that both put in the same order."""
    i, j = pairs_within(data).T
    return float(np.mean(np.sign(scores[i] - scores[j]) == np.sign(others[i] - others[j])))


# Fitting as the training code does


def quick(method: type[Method]) -> Method:
    """The method at its defaults, but for how long it works."""
    has = {field.name for field in fields(method)}
    return method.make(**{name: value for name, value in SHORT.items() if name in has})


def task(method: type[Method], data: RankingData, vali: RankingData = VALI, seed: int = 1) -> Task:
    judge = Judge(vali.labels, vali.offsets, "burges.ndcg@10")

    def validate(scores: np.ndarray) -> float:
        return float(np.mean(judge(scores)))

    shared = method.share(data, method.plan([data]))
    return Task(train=data, vali=vali, seed=seed, validate=validate, report=lambda text: None, shared=shared)


def fit_quickly(method: type[Method], data: RankingData = TRAIN, **rest) -> Fit:
    return quick(method).fit(task(method, data, **rest))


def train_on(method: type[Method], data: RankingData, splits: tuple[str, ...], grid: dict | None = None) -> Trained:
    """The whole of training on one fold: every grid point, the choice on validation, the scores."""
    return train(
        Dataset(data, (FOLD,)),
        method,
        grid=grid,
        convention="burges",
        select_by="ndcg@10",
        seed=1,
        names=("tiny", method.__name__),
        splits=splits,
        report=lambda text: None,
    )


@pytest.fixture(scope="module")
def fitted(method: type[Method]) -> Fit:
    return fit_quickly(method)


# What it says about itself


def test_has_a_title(method):
    assert isinstance(method.title, str)
    assert method.title.strip() == method.title != ""


def test_is_a_frozen_dataclass_whose_fields_have_defaults(method):
    assert "__dataclass_params__" in vars(method), "decorate the class with @dataclass(frozen=True)"
    for field in fields(method):
        assert field.default is not MISSING or field.default_factory is not MISSING, field.name
        with pytest.raises(FrozenInstanceError):
            setattr(method(), field.name, None)
    assert method() == method.make()


def test_grid_names_are_fields_and_every_point_can_be_made(method):
    assert set(method.grid) <= {field.name for field in fields(method)}
    points = grid_points(method, None)
    assert len(points) == np.prod([len(values) for values in method.grid.values()])
    assert len({method.make(**point) for point in points}) == len(points) > 0


def test_unknown_hyperparameters_are_refused_naming_the_known(method):
    with pytest.raises(ReplirankError, match="no hyper-parameter 'no_such_thing'") as caught:
        method.make(no_such_thing=1)
    assert method.title in str(caught.value)
    for field in fields(method):
        assert field.name in caught.value.remedy


# What it learns


def test_solves_the_tiny_problem(method):
    """With its own grid, chosen on validation: 95% of the pairs of queries that it has not seen are in order."""
    (scored,) = train_on(method, DATA, splits=("test",)).scored
    assert pairwise_accuracy(FRESH, scored.scores) >= 0.95


def test_gives_a_fit(fitted):
    assert isinstance(fitted, Fit)
    assert isinstance(fitted.model, Model)
    assert fitted.history is None or (isinstance(fitted.history, pd.DataFrame) and len(fitted.history) > 0)


def test_what_is_trained_in_epochs_or_rounds_leaves_its_curves(method, fitted):
    """Loss and validation metric of each epoch, or of some: at the least the first and the last say where it went."""
    steps = {"epochs": "epoch", "rounds": "round"}
    has = [steps[field.name] for field in fields(method) if field.name in steps]
    if not has:
        assert fitted.history is None
        return
    assert fitted.history is not None
    assert {*has, "loss", "validation"} <= set(fitted.history.columns)
    assert fitted.history[has[0]].is_monotonic_increasing
    assert fitted.history[has[0]].max() <= SHORT[f"{has[0]}s"]
    assert np.isfinite(fitted.history[["loss", "validation"]].to_numpy()).all()


def test_grid_points_fitted_together_are_those_fitted_alone(method):
    """Up to the last bits of sums: one pair in a thousand may turn round for that. A method need not offer it."""
    has = {field.name for field in fields(method)}
    grid = {**method.grid, **{name: [value] for name, value in SHORT.items() if name in has}}
    points = [method.make(**point) for point in grid_points(method, grid)][-6:]
    work = task(method, TRAIN)
    together = method.fit_together(points, work)
    if getattr(method.fit_together, "__func__", None) is Method.fit_together.__func__:
        assert together is None
        return
    for point, other in zip(points, together, strict=True):
        assert agreement(FRESH, point.fit(work).model.score(FRESH), other.model.score(FRESH)) >= 0.999


def test_scores_are_finite_one_for_each_document(fitted):
    for data in (TRAIN, VALI, FRESH):
        scores = fitted.model.score(data)
        assert scores.shape == (data.documents,)
        assert np.isfinite(scores).all()


# What it depends on


def test_same_seed_same_scores(method, fitted):
    """To the last bit."""
    assert fit_quickly(method).model.score(FRESH).tobytes() == fitted.model.score(FRESH).tobytes()


def test_order_of_documents_in_training_does_not_matter(method, fitted):
    """Sums taken in another order differ in their last bits: one pair in a thousand may turn round for that."""
    data, _ = shuffled(TRAIN)
    others = fit_quickly(method, data).model.score(FRESH)
    assert agreement(FRESH, fitted.model.score(FRESH), others) >= 0.999


def test_scores_follow_their_documents(fitted):
    """To the last bit, whatever else is scored with them."""
    scores = fitted.model.score(FRESH)
    data, order = shuffled(FRESH)
    assert fitted.model.score(data).tobytes() == scores[order].tobytes()
    some = np.array([17, 3, 30])
    assert fitted.model.score(FRESH.take(some)).tobytes() == scores[FRESH.rows(some)].tobytes()


def test_labels_are_not_read_when_scoring(fitted):
    unlabelled = replace(FRESH, labels=np.full_like(FRESH.labels, np.nan))
    assert fitted.model.score(unlabelled).tobytes() == fitted.model.score(FRESH).tobytes()


def test_leaves_the_data_as_it_was(method):
    """So that the next grid point learns from the same."""
    work = task(method, replace(TRAIN, features=TRAIN.features.copy(), labels=TRAIN.labels.copy()))
    before = [(data.checksum(), dict(data.columns)) for data in (work.train, work.vali)]
    fit = quick(method).fit(work)
    fit.model.score(work.vali)
    assert [(data.checksum(), dict(data.columns)) for data in (work.train, work.vali)] == before


def test_does_not_see_the_test_queries(method):
    """A task has none; and whatever they are, training is the same."""
    assert {field.name for field in fields(Task)} == {"train", "vali", "seed", "validate", "report", "shared"}
    first_test_row = DATA.offsets[FOLD.test[0]]
    spoilt = replace(DATA, features=DATA.features.copy(), labels=DATA.labels.copy())
    spoilt.features[first_test_row:], spoilt.labels[first_test_row:] = np.nan, np.nan
    has = {field.name for field in fields(method)}
    grid = {name: values[-1:] for name, values in method.grid.items()}
    grid |= {name: [value] for name, value in SHORT.items() if name in has}
    seeing, blind = (train_on(method, data, ("train", "vali"), grid).scored for data in (DATA, spoilt))
    for one, other in zip(seeing, blind, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()


# What it survives


def survives(method: type[Method], data: RankingData) -> None:
    fit = fit_quickly(method, data)
    for scored in (data, VALI, FRESH):
        assert np.isfinite(fit.model.score(scored)).all()


def test_survives_constant_features(method):
    survives(method, replace(TRAIN, features=np.full_like(TRAIN.features, 0.7)))


def test_survives_all_zero_features(method):
    survives(method, replace(TRAIN, features=np.zeros_like(TRAIN.features)))


def test_survives_one_constant_and_one_repeated_feature(method):
    features = TRAIN.features.copy()
    features[:, 3], features[:, 4] = 1, features[:, 5]
    survives(method, replace(TRAIN, features=features))


def test_survives_queries_of_one_document_and_queries_without_relevant_ones(method):
    data = tiny(seed=6, lengths=np.array([1, 9, 1, 10, 12, 1]))
    data.labels[data.offsets[3] : data.offsets[4]] = 0
    survives(method, data)


@pytest.mark.parametrize("labels", ["none relevant", "all alike within a query"])
def test_survives_data_without_any_pair(method, labels):
    level = np.zeros(TRAIN.queries) if labels == "none relevant" else np.arange(TRAIN.queries) % 3
    survives(method, replace(TRAIN, labels=np.repeat(level, TRAIN.lengths).astype(np.float32)))


def test_survives_validation_queries_without_relevant_documents(method):
    fit = fit_quickly(method, vali=replace(VALI, labels=np.zeros_like(VALI.labels)))
    assert np.isfinite(fit.model.score(FRESH)).all()


# What it leaves behind


def test_saved_and_loaded_it_gives_the_same_scores(fitted, tmp_path):
    models.save(tmp_path / "models.npz", {"fold1": fitted.model})
    loaded = models.load(tmp_path / "models.npz")["fold1"]
    assert type(loaded) is type(fitted.model)
    assert loaded.score(FRESH).tobytes() == fitted.model.score(FRESH).tobytes()


# Of all methods together


def test_titles_and_classes_tell_methods_apart():
    found = [methods.find(each) for each in methods.ids()]
    assert len({method.title for method in found}) == len({method.__name__ for method in found}) == len(found) > 0


def test_an_unknown_method_is_refused_naming_the_known():
    with pytest.raises(ReplirankError, match="unknown method 'ranknit'") as caught:
        methods.find("ranknit")
    for each in methods.ids():
        assert each in caught.value.remedy


# The suite itself: methods that break the contract are found out


@dataclass(frozen=True)
class FirstColumn(Method):
    """Keeps to the contract; those below do not."""

    title = "First column"

    def fit(self, task: Task) -> Fit:
        return Fit(Linear(np.eye(FEATURES)[0]))


class NoTitle(FirstColumn):
    title = ""


class NotDecorated(FirstColumn):
    strength: float = 1.0


@dataclass(frozen=True)
class GridOfOther(FirstColumn):
    grid = {"strength": (1, 2)}


@dataclass(frozen=True)
class SameTwice(FirstColumn):
    strength: float = 1.0

    grid = {"strength": (1.0, 1.0)}


@dataclass(frozen=True)
class EvenWeights(FirstColumn):
    def fit(self, task):
        return Fit(Linear(np.ones(FEATURES)))


@dataclass(frozen=True)
class UpsideDown(FirstColumn):
    def fit(self, task):
        return Fit(Linear(-np.eye(FEATURES)[0]))


@dataclass(frozen=True)
class Unseeded(FirstColumn):
    def fit(self, task):
        return Fit(Linear(np.eye(FEATURES)[0] + 1e-9 * np.random.default_rng().normal(size=FEATURES)))


@dataclass(frozen=True)
class OtherTogether(FirstColumn):
    @classmethod
    def fit_together(cls, points, task):
        return [Fit(Linear(-np.eye(FEATURES)[0])) for _ in points]


@dataclass(frozen=True)
class NoCurves(FirstColumn):
    epochs: int = 100


@dataclass(frozen=True)
class FirstDocument(FirstColumn):
    """Likes what the first document of each query has."""

    def fit(self, task):
        return Fit(Linear(task.train.features[task.train.offsets[:-1]].mean(axis=0)))


@dataclass(frozen=True)
class ScalesInPlace(FirstColumn):
    def fit(self, task):
        task.train.features[:] /= task.train.features.max()
        return super().fit(task)


@dataclass(frozen=True)
class Standardises(FirstColumn):
    """Divides by a spread that may be nothing."""

    def fit(self, task):
        return Fit(Linear(np.eye(FEATURES)[0] / task.train.features.std(axis=0)))


@dataclass(frozen=True)
class NeedsPairs(FirstColumn):
    def fit(self, task):
        rows = [rows for rows in task.train if len(set(task.train.labels[rows])) > 1]
        return Fit(Linear(np.eye(FEATURES)[0] / len(rows)))


@dataclass(frozen=True)
class Ranks(Model):
    """Scores a document by its place among those scored with it, and does not say so (by_document)."""

    def score_query(self, features):
        return features[:, 0].argsort(kind="stable").argsort(kind="stable").astype(float)


@dataclass(frozen=True)
class ReadsLabels(Model):
    def score_query(self, features):
        return features[:, 0]

    def score(self, data):
        return data.labels.astype(float)


@dataclass(frozen=True)
class Forgetful(Model):
    """Part of what it learned is in no field, so that no file holds it."""

    weights: np.ndarray

    def score_query(self, features):
        return features @ self.weights

    def score(self, data):
        return super().score(data) * vars(self).get("factor", 1.0)


def test_a_method_that_keeps_the_contract_passes(tmp_path):
    fit = fit_quickly(FirstColumn)
    for test in (
        test_has_a_title,
        test_is_a_frozen_dataclass_whose_fields_have_defaults,
        test_grid_names_are_fields_and_every_point_can_be_made,
        test_unknown_hyperparameters_are_refused_naming_the_known,
        test_solves_the_tiny_problem,
        test_grid_points_fitted_together_are_those_fitted_alone,
        test_leaves_the_data_as_it_was,
        test_does_not_see_the_test_queries,
        test_survives_constant_features,
        test_survives_all_zero_features,
        test_survives_one_constant_and_one_repeated_feature,
        test_survives_queries_of_one_document_and_queries_without_relevant_ones,
        test_survives_validation_queries_without_relevant_documents,
    ):
        test(FirstColumn)
    for test in (
        test_what_is_trained_in_epochs_or_rounds_leaves_its_curves,
        test_same_seed_same_scores,
        test_order_of_documents_in_training_does_not_matter,
    ):
        test(FirstColumn, fit)
    test_scores_follow_their_documents(fit)
    test_saved_and_loaded_it_gives_the_same_scores(fit, tmp_path)


@pytest.mark.parametrize(
    ("test", "broken"),
    [
        (test_has_a_title, NoTitle),
        (test_is_a_frozen_dataclass_whose_fields_have_defaults, NotDecorated),
        (test_grid_names_are_fields_and_every_point_can_be_made, GridOfOther),
        (test_grid_names_are_fields_and_every_point_can_be_made, SameTwice),
        (test_solves_the_tiny_problem, EvenWeights),
        (test_solves_the_tiny_problem, UpsideDown),
        (test_grid_points_fitted_together_are_those_fitted_alone, OtherTogether),
        (test_leaves_the_data_as_it_was, ScalesInPlace),
        (test_does_not_see_the_test_queries, Unseeded),
    ],
)
def test_a_broken_method_is_found_out(test, broken):
    with pytest.raises(AssertionError):
        test(broken)


@pytest.mark.parametrize(
    ("test", "broken"),
    [
        (test_what_is_trained_in_epochs_or_rounds_leaves_its_curves, NoCurves),
        (test_same_seed_same_scores, Unseeded),
        (test_order_of_documents_in_training_does_not_matter, FirstDocument),
    ],
)
def test_a_broken_fit_is_found_out(test, broken):
    with pytest.raises(AssertionError):
        test(broken, fit_quickly(broken))


def test_a_method_that_divides_by_nothing_is_found_out():
    with pytest.raises((AssertionError, RuntimeWarning)):
        test_survives_all_zero_features(Standardises)


def test_a_method_that_needs_pairs_is_found_out():
    with pytest.raises((AssertionError, RuntimeWarning, ZeroDivisionError)):
        test_survives_data_without_any_pair(NeedsPairs, "none relevant")


def test_a_broken_model_is_found_out(tmp_path):
    with pytest.raises(AssertionError):
        test_scores_follow_their_documents(Fit(Ranks()))
    with pytest.raises(AssertionError):
        test_labels_are_not_read_when_scoring(Fit(ReadsLabels()))
    forgetful = Forgetful(np.ones(FEATURES))
    test_saved_and_loaded_it_gives_the_same_scores(Fit(forgetful), tmp_path)
    object.__setattr__(forgetful, "factor", 2.0)
    with pytest.raises(AssertionError):
        test_saved_and_loaded_it_gives_the_same_scores(Fit(forgetful), tmp_path)


def test_a_file_elsewhere_can_be_held_to_the_contract(tmp_path, request):
    """--method-file runs the suite over that file's method, and only that."""
    (tmp_path / "newcomer.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from replirank.methods.base import Fit, Method, Task\n"
        "from replirank.models.linear import Linear\n\n\n"
        "@dataclass(frozen=True)\n"
        "class Newcomer(Method):\n"
        "    title = 'Newcomer'\n\n"
        "    def fit(self, task: Task) -> Fit:\n"
        "        return Fit(Linear(np.ones(task.train.features.shape[1])))\n"
    )
    options = ["-q", "-rA", "-p", "no:cacheprovider", "--method-file", str(tmp_path / "newcomer.py"), "-k", "newcomer"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(Path(__file__).parent)],
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line.split("::")[1].split("[")[0] for line in run.stdout.splitlines() if line.startswith("FAILED")]
    passed = {line.split("::")[1].split("[")[0] for line in run.stdout.splitlines() if line.startswith("PASSED")}
    assert failed == ["test_solves_the_tiny_problem"], run.stdout + run.stderr
    assert {"test_has_a_title", "test_same_seed_same_scores", "test_survives_constant_features"} <= passed
