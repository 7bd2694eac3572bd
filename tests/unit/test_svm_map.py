"""SVM-MAP: the most violated ranking against all rankings, its margin against a general solver, and arithmetic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers import ranking
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from replirank.engines import map_hinge
from replirank.engines.map_hinge import MapHinge, group_queries, shares_table
from replirank.engines.margin import Planes, maximise_margin
from replirank.methods.base import Task
from replirank.methods.svm_map import SVMMAP, relevant_documents


def cost_of(order, scores, relevant):
    """1 - AP(y) + w . (Psi(y) - Psi(right order)) of one ranking, from their definitions."""
    rel, non = np.flatnonzero(relevant), np.flatnonzero(~relevant)
    place = {document: number for number, document in enumerate(order)}
    precisions = [sum(relevant[order[: place[i] + 1]]) / (place[i] + 1) for i in rel]
    psi = sum((1 if place[i] < place[j] else -1) * (scores[i] - scores[j]) for i in rel for j in non)
    right = sum(scores[i] - scores[j] for i in rel for j in non)
    return 1 - np.mean(precisions) + (psi - right) / (len(rel) * len(non))


def by_brute_force(scores, relevant):
    return max(cost_of(np.array(order), scores, relevant) for order in itertools.permutations(range(len(scores))))


def risk_of(scores, relevant, lengths=None):
    """One feature, the score itself: at w = 1 the risk is the mean cost."""
    lengths = [len(scores)] if lengths is None else lengths
    return MapHinge(np.asarray(scores, float)[:, None], np.asarray(relevant), np.cumsum([0, *lengths]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.05, 0.5, 3.0]), st.booleans())
def test_the_most_violated_ranking_is_that_of_all_rankings_of_7_documents(seed, count, spread, rounded):
    random = np.random.default_rng(seed)
    scores = spread * random.normal(size=7)
    scores = np.round(scores) if rounded else scores  # equal scores, too
    relevant = np.zeros(7, dtype=bool)
    relevant[random.choice(7, count, replace=False)] = True
    value, _ = risk_of(scores, relevant).tangent(np.ones(1))
    assert value == pytest.approx(by_brute_force(scores, relevant), abs=1e-12)


def test_queries_of_unlike_sizes_cost_what_each_costs_alone(monkeypatch):
    """Padded and cut into groups as they are; a query with documents of one kind only costs nothing."""
    random = np.random.default_rng(1)
    lengths = [7, 2, 40, 1, 5, 90, 3, 12, 6, 61, 8, 8, 30, 17, 4]
    scores, relevant = random.normal(size=sum(lengths)), random.random(sum(lengths)) < 0.4
    relevant[9 : 9 + 40] = False
    ends = np.cumsum(lengths)
    alone = [
        risk_of(scores[b - n : b], relevant[b - n : b]).tangent(np.ones(1)) for n, b in zip(lengths, ends, strict=True)
    ]
    expected = [sum(value) / len(lengths) for value in zip(*((v, g[0]) for v, g in alone), strict=True)]
    for cells in (map_hinge.CELLS, 300, 1):
        monkeypatch.setattr(map_hinge, "CELLS", cells)
        value, gradient = risk_of(scores, relevant, lengths).tangent(np.ones(1))
        assert_allclose([value, gradient[0]], expected, rtol=1e-12)
    assert alone[2][0] == alone[3][0] == 0


def test_every_query_with_both_kinds_is_in_one_group():
    random = np.random.default_rng(3)
    lengths = random.integers(1, 30, 50)
    relevant = random.random(lengths.sum()) < 0.3
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    both = [0 < relevant[a:b].sum() < b - a for a, b in itertools.pairwise(offsets)]
    groups = list(group_queries(relevant, offsets))
    rows = np.concatenate([np.concatenate([g.relevant.ravel(), g.irrelevant.ravel()]) for g in groups])
    assert_array_equal(np.sort(rows[rows < len(relevant)]), np.flatnonzero(np.repeat(both, lengths)))
    assert len({(g.relevant.shape[1], g.irrelevant.shape[1]) for g in groups}) <= map_hinge.MOST_CLASSES


def test_the_cost_of_the_worst_ranking_at_w_0_is_1_less_its_average_precision():
    """All scores are 0: every irrelevant document stands above every relevant one."""
    relevant = np.array([True, False, True, False, False])
    value, _ = risk_of(np.zeros(5), relevant).tangent(np.zeros(1))
    assert value == pytest.approx(1 - (1 / 4 + 2 / 5) / 2)
    assert value == pytest.approx(1 - average_precision_score(relevant, [-1, 1, -2, 1, 1]))


def test_the_table_has_what_a_relevant_document_loses():
    table = shares_table(3, 4)
    for j, m in itertools.product(range(1, 4), range(5)):
        expected = sum(
            i / (i + j - 1) - i / (i + j) for i in range(1, m + 1)
        )  # precision with j - 1 above, less with j
        assert table[j - 1, m] == pytest.approx(expected)


def problem(seed, features=3):
    random = np.random.default_rng(seed)
    lengths = [6, 5, 7, 4]
    x = random.normal(size=(sum(lengths), features))
    relevant = x @ np.arange(1, features + 1) + 2 * random.normal(size=len(x)) > 0.5
    return MapHinge(x, relevant, np.cumsum([0, *lengths])), x, relevant, lengths


@pytest.mark.parametrize("seed", range(4))
def test_a_tangent_touches_the_risk_and_is_nowhere_above_it(seed):
    risk, x, relevant, lengths = problem(seed)
    random = np.random.default_rng(seed)
    w = random.normal(size=3)
    value, gradient = risk.tangent(w)
    ends = np.cumsum(lengths)
    costs = [
        by_brute_force(x[b - n : b] @ w, relevant[b - n : b]) if 0 < relevant[b - n : b].sum() < n else 0.0
        for n, b in zip(lengths, ends, strict=True)
    ]
    assert value == pytest.approx(np.mean(costs), abs=1e-12)
    for other in random.normal(size=(50, 3)) * 2:
        assert risk.tangent(other)[0] >= value + gradient @ (other - w) - 1e-12
    direction = random.normal(size=3)
    slope = (risk.tangent(w + 1e-7 * direction)[0] - risk.tangent(w - 1e-7 * direction)[0]) / 2e-7
    assert risk.slope(w, direction)(0.0) == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_closes_and_the_objective_is_no_worse_than_a_general_solvers(seed, C):
    """SLSQP on the problem with a slack for each query and a constraint for each of its rankings of the two kinds."""
    risk, x, relevant, lengths = problem(seed)
    margin = maximise_margin(risk, C, Planes(3), gap=1e-6)
    assert -1e-12 <= margin.objective - margin.lower_bound <= 1e-6 * margin.objective
    assert margin.objective == pytest.approx(margin.w @ margin.w / 2 + C * risk.tangent(margin.w)[0])

    constraints, starts = [], np.cumsum([0, *lengths])
    for number, (a, b) in enumerate(itertools.pairwise(starts)):
        rel, non = (a + np.flatnonzero(relevant[a:b] == kind) for kind in (True, False))
        if len(rel) == 0 or len(non) == 0:
            continue
        for chosen in itertools.permutations(range(b - a)):
            # Of rankings that are alike but for documents of a kind trading places, all are there: none is forgotten.
            order = a + np.array(chosen)
            place = np.argsort(order - a)
            psi = sum((place[i - a] < place[j - a]) * (x[i] - x[j]) for i in rel for j in non)
            right = sum(x[i] - x[j] for i in rel for j in non)
            gap = 2 * (psi - right) / (len(rel) * len(non))
            loss = cost_of(np.array(chosen), np.zeros(b - a), relevant[a:b])
            constraints.append((number, loss, gap))
    kept = {}
    for number, loss, gap in constraints:  # equal constraints once
        kept[number, round(loss, 12), *np.round(gap, 12)] = None
    rows = np.array(list(kept))
    A = np.zeros((len(rows), 3 + len(lengths)))
    A[:, :3] = -rows[:, 2:]
    A[np.arange(len(rows)), 3 + rows[:, 0].astype(int)] = 1
    start = np.concatenate([np.zeros(3), np.ones(len(lengths))])
    weight = np.concatenate([np.zeros(3), np.full(len(lengths), C / len(lengths))])
    general = minimize(
        lambda v: v[:3] @ v[:3] / 2 + weight @ v,
        start,
        jac=lambda v: np.concatenate([v[:3], np.zeros(len(lengths))]) + weight,
        constraints=[
            {"type": "ineq", "fun": lambda v: A @ v - rows[:, 1], "jac": lambda v: A},
            {"type": "ineq", "fun": lambda v: v[3:], "jac": lambda v: np.eye(3 + len(lengths))[3:]},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert general.success
    assert margin.objective <= general.fun * (1 + 1e-6) + 1e-9
    assert margin.lower_bound <= general.fun * (1 + 1e-6) + 1e-9


# What is relevant


def test_relevant_is_a_label_above_0():
    data = ranking(np.zeros((5, 1)), [2, 0, 1, 0, 0])
    assert_array_equal(relevant_documents(data, 0.05), [True, False, True, False, False])


def test_in_strict_orders_the_first_of_each_list_are_relevant():
    labels = [*range(40), *reversed(range(3))]
    data = ranking(np.zeros((43, 1)), labels, [40, 3])
    relevant = relevant_documents(data, 0.05)
    assert_array_equal(np.flatnonzero(relevant), [38, 39, 40])
    assert_array_equal(relevant_documents(data, 0.5)[:40], np.arange(40) >= 20)


def test_it_finds_the_feature_that_tells():
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 4))
    data = ranking(x, x[:, 2] > 0.5, [10] * 6)
    task = Task(data, data, 0, lambda scores: 0.0, lambda text: None, SVMMAP.share(data))
    w = SVMMAP(C=100.0).fit(task).model.weights
    assert np.argmax(np.abs(w)) == 2
    assert w[2] > 0
    assert risk_of(x @ w, data.labels > 0, [10] * 6).tangent(np.ones(1))[0] < 0.05
