"""bayesopt2010's open choices: the variants that are run, and the table that is made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT, evidence_of

from replirank import methods
from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.evaluation.per_dataset import metrics_of
from replirank.papers.bayesopt2010 import sensitivity, tables
from replirank.papers.bayesopt2010.sensitivity import BEST, LAST
from replirank.training import train

PAPER = yaml.safe_load((ROOT / "src/replirank/papers/bayesopt2010/paper.yaml").read_text())
GRID = {"epsilon": [0.7, 1.0]}
KEYS = ["function", "budget", "start", "lowest", "keep"]


@pytest.fixture(scope="module")
def dataset():
    """Thirty queries of six documents of three levels, which two of four features explain in part; two folds."""
    random = np.random.default_rng(0)
    x = random.normal(size=(180, 4)).astype(np.float32)
    labels = np.digitize(x[:, 0] + x[:, 1] / 2 + random.normal(size=180), [0.5, 1.5]).astype(np.float32)
    data = RankingData(x, labels, np.arange(0, 181, 6), np.arange(30))
    parts = np.split(np.arange(30), [15, 22])
    return Dataset(data, (Fold(*parts), Fold(parts[0], parts[2], parts[1])))


@pytest.fixture(scope="module")
def frames(dataset):
    return sensitivity.run(
        dataset,
        "squared",
        name="ohsumed",
        grid=GRID,
        convention="letor3",
        select_by="ndcg@5",
        report=lambda text: None,
    )


def test_every_variant_is_there_once_for_each_test_query(frames, dataset):
    metrics, descents = frames
    # Linear: three budgets and levels from 1; Bayes-optimal: three starts for each budget, and levels from 1.
    assert metrics[KEYS].drop_duplicates().groupby("function").size().to_dict() == {"Bayes-optimal": 20, "linear": 8}
    assert not metrics.duplicated([*KEYS, "fold", "query"]).any()
    queries = sum(len(fold.test) for fold in dataset.folds)
    assert (metrics.groupby(KEYS).size() == queries).all()
    assert len(descents) == 2 * (4 + 10)


def test_the_converged_variant_that_keeps_the_last_step_is_table_1s(frames, dataset):
    metrics, _ = frames
    for name, function, start in (("squared_linear", "linear", ""), ("squared_bayes", "Bayes-optimal", "shares")):
        trained = train(
            dataset,
            methods.find(name),
            grid=GRID if start else {},
            convention="letor3",
            select_by="ndcg@5",
            seed=1,
            names=("ohsumed", name),
            splits=("test",),
            report=lambda text: None,
        )
        expected = metrics_of(dataset, trained.scored, {}).set_index(["fold", "query"])["letor3.ndcg@5"]
        here = metrics[(metrics["function"] == function) & (metrics["start"] == start) & (metrics["lowest"] == 0)]
        here = here[(here["budget"] == "converged") & (here["keep"] == LAST)]
        found = here.set_index(["fold", "query"])["letor3.ndcg@5"]
        assert found.loc[expected.index].tolist() == expected.tolist()


def test_descents_count_grid_points_and_those_that_were_stopped(frames):
    _, descents = frames
    converged = descents[descents["budget"] == "converged"]
    assert (converged["unfinished"] == 0).all()
    assert set(descents.loc[descents["function"] == "linear", "points"]) == {1}  # epsilon is none of its own
    assert set(descents.loc[descents["function"] == "Bayes-optimal", "points"]) == {2}
    assert (descents.loc[descents["start"] == "shares", "inert"] == 0).all()


def evidence(frames, tmp_path, origin="real"):
    paths = [tmp_path / f"squared_{kind}.parquet" for kind in tables.KINDS]
    for path, frame in zip(paths, frames, strict=True):
        frame.to_parquet(path)
    titles = {"squared_linear": "Squared, linear", "squared_bayes": "Squared, Bayes-optimal"}
    return evidence_of("bayesopt2010", {"ohsumed": origin}, list(titles), paper=PAPER, titles=titles, needs=paths)


def made_up():
    """Ten queries in one fold: linear .5 everywhere, Bayes-optimal .6 at the last step and .4 at the best one."""
    rows = []
    for function, start, keep, value in (
        ("linear", "", LAST, 0.5),
        ("linear", "", BEST, 0.5),
        ("Bayes-optimal", "shares", LAST, 0.6),
        ("Bayes-optimal", "shares", BEST, 0.4),
    ):
        keys = {"loss": "squared", "function": function, "budget": "200", "start": start, "lowest": 0, "keep": keep}
        values = {f"letor3.{metric}": value for metric in tables.METRICS}
        rows += [{**keys, "fold": 1, "query": query, **values} for query in range(10)]
    counted = {"points": 5, "inert": 2, "unfinished": 1, "evaluations": 7}
    descents = [
        {"loss": "squared", "budget": "200", "start": start, "lowest": 0, **counted} for start in ("", "shares")
    ]
    return pd.DataFrame(rows), pd.DataFrame(descents)


def test_the_table_by_arithmetic(tmp_path):
    """All ten queries go one way: 1 of 2**10 assignments of signs is as high, 2 are as far."""
    entry = PAPER["tables"]["sensitivity_ohsumed"]
    frame = tables.sensitivity_table(entry, evidence(made_up(), tmp_path)).frame
    assert frame["loss"].tolist() == ["all", "all", "squared", "squared"]
    last, best = frame.iloc[0], frame.iloc[1]
    assert (last["step kept"], best["step kept"]) == (LAST, BEST)
    assert last["cases"] == 3
    assert (last["NDCG@10, linear"], last["NDCG@10, Bayes-optimal"]) == (0.5, pytest.approx(0.6))
    assert last["average change %"] == pytest.approx(20)
    assert best["average change %"] == pytest.approx(-20)
    names = ["better, one-sided", "worse, one-sided", "better, two-sided", "worse, two-sided"]
    assert last[names].tolist() == [3, 0, 3, 0]
    assert best[names].tolist() == [0, 3, 0, 3]
    assert last[["grid points x folds", "inert at the start", "not converged"]].tolist() == [5, 2, 1]


def test_the_table_of_what_was_run(frames, tmp_path):
    made = tables.sensitivity_table(PAPER["tables"]["sensitivity_ohsumed"], evidence(frames, tmp_path))
    assert len(made.frame) == 2 * 20
    assert set(made.frame["evaluations"]) == {"200", "400", "converged"}
    assert made.title.endswith("OHSUMED")


def test_simulated_data_says_so(tmp_path):
    made = tables.sensitivity_table(
        PAPER["tables"]["sensitivity_ohsumed"], evidence(made_up(), tmp_path, origin="simulated")
    )
    assert "SIMULATED" in made.title
    assert set(made.frame["data"]) == {"simulated"}


def test_the_table_of_descent_counts_points_that_did_not_move_or_did_not_converge(tmp_path):
    history = pd.DataFrame(
        [
            {"fold": 1, "point": 1, "epoch": epoch, "slope": slope, "loss": 1.0}
            for epoch, slope in ((0, 0.5), (5, 0.1), (1000, 0.1))
        ]
        + [{"fold": 1, "point": 2, "epoch": 0, "slope": 0.0, "loss": 1.0}]
        + [{"fold": 2, "point": 1, "epoch": epoch, "slope": 0.3, "loss": 1.0} for epoch in (0, 5, 10)]
        + [{"fold": 2, "point": 2, "epoch": epoch, "slope": 0.3, "loss": 1.0} for epoch in (0, 5, 20)]
    )
    given = replace(evidence(made_up(), tmp_path), history={("ohsumed", "squared_bayes"): history})
    (row,) = tables.descent_table(PAPER["tables"]["descent"], given).frame.to_dict("records")
    assert row["grid points x folds"] == 4
    assert row["inert at the start"] == 1
    assert row["evaluations, median"] == 15  # of 1000, 0, 10 and 20
    assert row["evaluations, most"] == 1000
    assert row["not converged"] == 1
    folds = [{"fold": fold, "tried": [{"epochs": 10}, {"epochs": 50}]} for fold in (1, 2)]
    (row,) = tables.descent_table(
        PAPER["tables"]["descent"], replace(given, choices={("ohsumed", "squared_bayes"): folds})
    ).frame.to_dict("records")
    assert row["not converged"] == 2  # 1000 and 10 of at most 10; 0 and 20 of at most 50
