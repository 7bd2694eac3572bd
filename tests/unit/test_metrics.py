"""The metrics: by hand, against sklearn, rax and scipy, and against a plain loop over the queries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from math import log2, nan

import jax
import numpy as np
import pandas as pd
import pytest
import rax
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score, ndcg_score

from replirank.errors import ReplirankError
from replirank.metrics.conventions import CONVENTIONS, Convention, convention
from replirank.metrics.formulas import DEPTH, Lists, Ranking
from replirank.metrics.per_query import Judge, evaluate, fold_mean
from replirank.metrics.registry import METRICS, column_of, display_name, parse

EXACT = {"rtol": 1e-13, "atol": 0}
LETOR = ("letor3", "letor4")
LOG = ("burges", "standard")
every_convention = pytest.mark.parametrize("name", CONVENTIONS)


def one(labels, scores=None, **how) -> pd.Series:
    """The metrics of one query; without scores its documents stand in ranked order."""
    labels = np.array(labels, dtype=np.float32)
    scores = -np.arange(len(labels)) if scores is None else scores
    return evaluate(np.array(scores, dtype=np.float64), labels, np.array([0, len(labels)]), **how).iloc[0]


def several(*queries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(scores, labels) of each query -> what `evaluate` takes."""
    scores, labels = (np.concatenate([np.asarray(query[k], dtype=np.float64) for query in queries]) for k in (0, 1))
    return scores, labels.astype(np.float32), np.cumsum([0, *(len(query[0]) for query in queries)])


def by_hand(metrics: pd.Series, expected: dict[str, float]) -> None:
    assert_allclose(metrics[list(expected)].to_numpy(), list(expected.values()), **EXACT)


# By hand: five documents, labels in ranked order 1 0 2 0 1, so gains 1 0 3 0 1 and at best 3 1 1 0 0

FIVE = [1, 0, 2, 0, 1]


@pytest.mark.parametrize("name", LETOR)
def test_letor_ndcg_by_hand(name):
    ndcg = {
        1: 1 / 3,
        2: (1 + 0) / (3 + 1),
        3: (1 + 0 + 3 / log2(3)) / (3 + 1 + 1 / log2(3)),
        4: (1 + 0 + 3 / log2(3) + 0) / (3 + 1 + 1 / log2(3)),
        5: (1 + 0 + 3 / log2(3) + 0 + 1 / log2(5)) / (3 + 1 + 1 / log2(3)),
        6: 0,  # the list is shorter
        15: 0,
    }
    metrics = one(FIVE)
    by_hand(metrics, {f"{name}.ndcg@{k}": value for k, value in ndcg.items()})
    by_hand(metrics, {f"{name}.mean_ndcg": sum(ndcg[k] for k in range(1, 6)) / 5})


@pytest.mark.parametrize("name", LOG)
def test_ndcg_with_the_logarithm_of_rank_plus_one_by_hand(name):
    best = {1: 3, 2: 3 + 1 / log2(3), 3: 3 + 1 / log2(3) + 1 / log2(4)}
    ndcg = {
        1: 1 / best[1],
        2: 1 / best[2],
        3: (1 + 3 / log2(4)) / best[3],
        4: (1 + 3 / log2(4)) / best[3],
        5: (1 + 3 / log2(4) + 1 / log2(6)) / best[3],
        6: (1 + 3 / log2(4) + 1 / log2(6)) / best[3],  # what there is
        15: (1 + 3 / log2(4) + 1 / log2(6)) / best[3],
    }
    metrics = one(FIVE)
    by_hand(metrics, {f"{name}.ndcg@{k}": value for k, value in ndcg.items()})
    by_hand(metrics, {f"{name}.mean_ndcg": sum(ndcg[k] for k in range(1, 6)) / 5})


def test_half_levels_have_their_own_gain():
    by_hand(one([0.5, 3]), {"standard.ndcg@2": (2**0.5 - 1 + 7 / log2(3)) / (7 + (2**0.5 - 1) / log2(3))})


@every_convention
def test_precision_by_hand(name):
    expected = {1: 1 / 1, 2: 1 / 2, 3: 2 / 3, 4: 2 / 4, 5: 3 / 5}
    by_hand(one(FIVE), {f"{name}.p@{k}": value for k, value in expected.items()})


@pytest.mark.parametrize(("name", "at"), [("letor3", 0), ("letor4", 3), ("burges", 3), ("standard", 3)])
def test_precision_beyond_the_end_of_a_list(name, at):
    by_hand(one(FIVE), {f"{name}.p@{k}": at / k for k in (6, 10, 15)})


@every_convention
def test_map_by_hand(name):
    by_hand(one(FIVE), {f"{name}.map": (1 / 1 + 2 / 3 + 3 / 5) / 3})


@pytest.mark.parametrize(
    ("name", "value"), [("letor3", 0.0), ("letor4", 0.0), ("burges", 0.0), ("standard", nan)], ids=list(CONVENTIONS)
)
def test_a_query_without_relevant_documents(name, value):
    metrics = evaluate(*several(([3, 2, 1], [0, 0, 0]), ([1, 2], [1, 0])), conventions=[name])
    graded = metrics.filter(like=f"{name}.")
    assert graded.shape == (2, 2 * DEPTH + 2)
    assert_array_equal(graded.iloc[0], np.full(graded.shape[1], value))
    assert graded.iloc[1].notna().all()


def test_err_by_hand():
    # Stopping probabilities (2^label - 1) / 2^2: 1/4, 0, 3/4, 0, 1/4.
    expected = 1 / 4 + (3 / 4) * (3 / 4) / 3 + (3 / 4) * (1 / 4) * (1 / 4) / 5
    by_hand(one(FIVE), {"err": expected})


def test_err_with_the_best_level_of_the_data_set():
    expected = 1 / 16 + (15 / 16) * (3 / 16) / 3 + (15 / 16) * (13 / 16) * (1 / 16) / 5
    by_hand(one(FIVE, best_label=4), {"err": expected})
    assert one([0, 0, 0])["err"] == 0


def test_a_label_above_the_best_level_is_refused():
    with pytest.raises(ReplirankError, match="label 2"):
        one(FIVE, best_label=1)


def test_err_takes_the_best_level_of_all_queries():
    metrics = evaluate(*several(([1, 0], [1, 0]), ([1, 0], [0, 2])))
    assert_allclose(metrics["err"], [1 / 4, (3 / 4) / 2], **EXACT)


def test_pairs_by_hand():
    # 1 0 2 0 1: of the ten pairs eight have different labels; 1<2, 0<2, 0<1 twice stand in the wrong order.
    by_hand(one(FIVE), {"pairwise_correct": 4 / 8, "kendall_tau": 4 / 8})


def test_equal_scores_are_half_right():
    by_hand(one([1, 0, 2], [5, 5, 5]), {"pairwise_correct": 1.5 / 3, "kendall_tau": 1.5 / 3})
    by_hand(one([1, 0, 2], [5, 5, 9]), {"pairwise_correct": 2.5 / 3, "kendall_tau": 0.5 / 3})
    by_hand(one([1, 0, 2], [7, 5, 5]), {"pairwise_correct": 1.5 / 3, "kendall_tau": 1.5 / 3})


def test_without_pairs_there_is_no_pair_metric():
    metrics = evaluate(*several(([1, 2, 3], [1, 1, 1]), ([4], [2]), ([1, 2], [0, 1])))
    assert_array_equal(metrics["pairwise_correct"], [nan, nan, 1])
    assert_array_equal(metrics["kendall_tau"], [nan, nan, 0])


@pytest.mark.parametrize("n", [2, 3, 10, 57, 300])
def test_kendall_tau_is_scipys_as_a_distance(n):
    rng = np.random.default_rng(n)
    scores, labels = rng.permutation(n) * 0.5, rng.permutation(n).astype(np.float32)
    distance = Judge(labels, np.array([0, n]), "kendall_tau")(scores)[0]
    assert_allclose(1 - 2 * distance, kendalltau(scores, labels).statistic, rtol=0, atol=1e-12)


def test_top10_by_hand():
    order = list(range(20, 0, -1))
    assert one(order)["top10"] == 1
    assert one(order[::-1])["top10"] == 0
    assert one([*order[:7], *order[10:13], *order[7:10], *order[13:]])["top10"] == 7 / 10
    assert one([1, 3, 2])["top10"] == 1  # all three are among the first ten


def test_top10_counts_whatever_is_as_good_as_the_tenth():
    assert one([1] * 12 + [0] * 5)["top10"] == 1
    assert one([0] * 5 + [1] * 12)["top10"] == 5 / 10
    assert one([0] * 8 + [1, 1] + [0] * 8)["top10"] == 1  # the tenth best has label 0, as all others have


@pytest.mark.parametrize("scores", [[1.0, 1.0, 1.0, 1.0, 1.0], [0.0, -0.0, 0.0, -0.0, 0.0], [3, 2, 2, 2, 1]])
def test_ties_keep_file_order(scores):
    tied, ranked = one(FIVE, scores), one(FIVE)
    order_only = [column for column in ranked.index if column not in ("pairwise_correct", "kendall_tau")]
    assert_array_equal(tied[order_only], ranked[order_only])


@every_convention
def test_only_the_named_conventions_are_computed(name):
    columns = evaluate(*several(([1, 2], [0, 1])), conventions=[name]).columns
    assert {column.partition(".")[0] for column in columns} == {name, "err", "pairwise_correct", "kendall_tau", "top10"}


@every_convention
def test_a_convention_says_what_it_is(name):
    assert convention(name).name == name
    assert len(convention(name).description) > 40


@pytest.mark.parametrize("name", LETOR)
def test_letor_discounts_from_rank_three(name):
    assert_allclose(convention(name).discounts(5), [1, 1, 1 / log2(3), 1 / 2, 1 / log2(5)], **EXACT)


@pytest.mark.parametrize("name", LOG)
def test_the_others_discount_from_rank_two(name):
    assert_allclose(convention(name).discounts(4), [1, 1 / log2(3), 1 / 2, 1 / log2(5)], **EXACT)


# Against other libraries


def random_queries(seed, *, levels=5, queries=40, longest=25):
    """Queries without tied scores, each with a relevant document and an irrelevant one."""
    rng = np.random.default_rng(seed)
    made = []
    for length in rng.integers(2, longest, queries):
        labels = rng.integers(0, levels, length)
        labels[rng.permutation(length)[:2]] = [0, levels - 1]
        made.append((rng.permutation(length) + rng.random(), labels))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_ndcg_is_sklearns(seed):
    queries = random_queries(seed)
    metrics = evaluate(*several(*queries))
    for k in (1, 2, 5, 10, 15):
        expected = [ndcg_score([2.0**labels - 1], [scores], k=k) for scores, labels in queries]
        assert_allclose(metrics[f"standard.ndcg@{k}"], expected, rtol=1e-12)
        assert_allclose(metrics[f"burges.ndcg@{k}"], expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_map_is_sklearns(seed):
    queries = random_queries(seed, levels=3)
    expected = [average_precision_score(labels > 0, scores) for scores, labels in queries]
    metrics = evaluate(*several(*queries))
    for name in CONVENTIONS:
        assert_allclose(metrics[f"{name}.map"], expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_ndcg_and_map_are_raxs(seed):
    queries = random_queries(seed)
    longest = max(len(labels) for _, labels in queries)
    scores, labels = np.zeros((2, len(queries), longest), dtype=np.float32)
    where = np.zeros((len(queries), longest), dtype=bool)
    for q, (s, y) in enumerate(queries):
        scores[q, : len(s)], labels[q, : len(s)], where[q, : len(s)] = s, y, True
    metrics = evaluate(*several(*queries))
    none = {"where": where, "reduce_fn": None}
    # Other tests may have made jax strict, which rax is not written for.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        for k in (1, 3, 10, 15):
            assert_allclose(
                metrics[f"standard.ndcg@{k}"], rax.ndcg_metric(scores, labels, topn=k, **none), rtol=2e-6, atol=1e-7
            )
        assert_allclose(
            metrics["standard.map"], rax.ap_metric(scores, (labels > 0).astype(np.float32), **none), rtol=2e-6
        )
        for k in (1, 3):
            at_k = rax.precision_metric(scores, (labels > 0).astype(np.float32), topn=k, **none)
            long = where.sum(axis=1) >= k
            assert_allclose(metrics[f"standard.p@{k}"][long], np.asarray(at_k)[long], rtol=2e-6)


# Against a plain loop, written from the definitions


def loop_graded(scores, labels, rules: Convention, *, mean_ndcg: bool = True) -> dict[str, float]:
    """Exact sums of fractions, so that any labels will do; only the discounts are floats."""
    n = len(labels)
    ranked = [labels[i] for i in sorted(range(n), key=lambda i: -scores[i])]  # Python's sort is stable
    gains = [2 ** Fraction(int(label)) - 1 if label == int(label) else Fraction(2**label - 1) for label in ranked]
    best = sorted(gains, reverse=True)
    letor = rules.discount == "letor"
    discounts = [
        Fraction(1 / (max(1, log2(j)) if letor and j > 1 else 1 if letor else log2(j + 1))) for j in range(1, n + 1)
    ]
    relevant = [label > 0 for label in ranked]

    def ndcg(k):
        ideal = sum(d * g for d, g in zip(discounts[:k], best[:k], strict=True))
        return float(sum(d * g for d, g in zip(discounts[:k], gains[:k], strict=True)) / ideal) if ideal else 0.0

    metrics = {}
    for k in range(1, DEPTH + 1):
        short = n < k
        metrics[f"ndcg@{k}"] = 0.0 if short and rules.short_ndcg == "zero" else ndcg(min(k, n))
        metrics[f"p@{k}"] = 0.0 if short and rules.short_precision == "zero" else sum(relevant[:k]) / k
    precisions = [sum(relevant[: j + 1]) / (j + 1) for j in range(n) if relevant[j]]
    metrics["map"] = math.fsum(precisions) / len(precisions) if precisions else 0.0
    if mean_ndcg:
        metrics["mean_ndcg"] = math.fsum(ndcg(k) for k in range(1, n + 1)) / n
    if rules.no_relevant == "left out" and not any(relevant):
        metrics = dict.fromkeys(metrics, nan)
    return metrics


def loop_pairs(scores, labels) -> float:
    wrong = pairs = 0
    for i, j in combinations(range(len(labels)), 2):
        if labels[i] != labels[j]:
            pairs += 1
            agreement = (scores[i] - scores[j]) * (labels[i] - labels[j])
            wrong += 1 if agreement < 0 else 0.5 if agreement == 0 else 0
    return wrong / pairs if pairs else nan


def loop_err(scores, labels, best_label) -> float:
    """Quotients of whole numbers, which Python rounds once however long they are."""
    here, total, whole = 1.0, 0.0, 2 ** int(best_label)
    for rank, i in enumerate(sorted(range(len(labels)), key=lambda i: -scores[i]), 1):
        gain = 2 ** int(labels[i]) - 1
        total += here * (gain / whole) / rank
        here *= (whole - gain) / whole
    return total


def loop_top10(scores, labels) -> float:
    n = min(10, len(labels))
    tenth = sorted(labels, reverse=True)[n - 1]
    ranked = sorted(range(len(labels)), key=lambda i: -scores[i])
    return min(n, sum(labels[i] >= tenth for i in ranked[:10])) / n


def agrees_with_the_loop(queries) -> None:
    found = evaluate(*several(*queries))
    best_label = max(max(labels) for _, labels in queries)
    for q, (scores, labels) in enumerate(queries):
        for name, rules in CONVENTIONS.items():
            expected = loop_graded(scores, labels, rules)
            columns = [f"{name}.{metric}" for metric in expected]
            assert_allclose(found.loc[q, columns].to_numpy(), list(expected.values()), rtol=1e-11, atol=1e-13)
        assert_allclose(found.loc[q, "err"], loop_err(scores, labels, best_label), rtol=1e-11, atol=1e-13)
        assert found.loc[q, "top10"] == loop_top10(scores, labels)
        assert_array_equal(found.loc[q, "kendall_tau"], loop_pairs(scores, labels))
        assert_array_equal(found.loc[q, "pairwise_correct"], 1 - loop_pairs(scores, labels))


@st.composite
def query(draw, highest=4, longest=20):
    """Few distinct scores, so that ties are common."""
    n = draw(st.integers(1, longest))
    scores = draw(st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.25, 1.0, 3.0]), min_size=n, max_size=n))
    return scores, draw(st.lists(st.integers(0, highest), min_size=n, max_size=n))


@settings(max_examples=60, deadline=None)
@given(st.lists(query(), min_size=1, max_size=6))
def test_all_queries_at_once_are_a_loop_over_them(queries):
    agrees_with_the_loop(queries)


@settings(max_examples=30, deadline=None)
@given(st.lists(query(highest=40), min_size=2, max_size=5))
def test_a_query_of_high_labels_leaves_its_neighbours_alone(queries):
    agrees_with_the_loop(queries)


@pytest.mark.parametrize("longest", [60, 1100])
def test_strict_orders_of_many_documents(longest):
    """diffrank2011's lists: labels 0 .. n - 1, n up to 1,831."""
    rng = np.random.default_rng(longest)
    queries = [(rng.standard_normal(n).tolist(), rng.permutation(n).tolist()) for n in (longest, 2, 17)]
    found = evaluate(*several(*queries))
    assert found.notna().all(axis=None)
    for q, (scores, labels) in enumerate(queries):
        for name, rules in CONVENTIONS.items():
            expected = loop_graded(scores, labels, rules, mean_ndcg=len(labels) < 100)
            for metric, value in expected.items():
                assert_allclose(found.loc[q, f"{name}.{metric}"], value, rtol=1e-11, atol=1e-13, err_msg=metric)
        assert_allclose(found.loc[q, "err"], loop_err(scores, labels, longest - 1), rtol=1e-9, atol=1e-13)
        assert_array_equal(found.loc[q, "kendall_tau"], loop_pairs(scores, labels))


@pytest.mark.parametrize(
    ("documents", "levels"), [(1, 1), (2, 2), (40, 3), (300, 2), (300, 9), (257, 257), (400, 1000)]
)
def test_wrong_pairs_are_those_of_a_double_loop(documents, levels):
    rng = np.random.default_rng(levels)
    queries = [
        (np.round(rng.standard_normal(n), digits), rng.integers(0, levels, n) * 0.5)
        for digits in (0, 1, 12)
        for n in (documents, 1, max(1, documents // 3))
    ]
    scores, labels, offsets = several(*queries)
    found = Ranking(Lists(labels, offsets), scores).wrong_pairs
    assert_array_equal(found, [loop_pairs(scores.tolist(), labels.tolist()) for scores, labels in queries])


# What must hold for any scores


@settings(max_examples=50, deadline=None)
@given(st.lists(query(), min_size=1, max_size=5), st.floats(0.1, 4), st.integers(-5, 5))
def test_only_the_order_of_the_scores_counts(queries, slope, shift):
    scores, labels, offsets = several(*queries)
    before = evaluate(scores, labels, offsets)
    for bent in (slope * scores + shift, np.exp(scores), scores**3, np.arctan(scores) - 7):
        pd.testing.assert_frame_equal(evaluate(bent, labels, offsets), before, check_exact=True)


@settings(max_examples=50, deadline=None)
@given(st.lists(query(), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_count(queries, rng):
    order = rng.sample(range(len(queries)), len(queries))
    before = evaluate(*several(*queries)).iloc[order].reset_index(drop=True)
    after = evaluate(*several(*(queries[q] for q in order)))
    pd.testing.assert_frame_equal(after, before, check_exact=False, rtol=1e-12, atol=1e-14)


def test_float32_scores_and_integer_labels_are_as_good():
    scores, labels, offsets = several(*random_queries(3))
    same = evaluate(scores.astype(np.float32), labels.astype(np.int64), offsets)
    pd.testing.assert_frame_equal(same, evaluate(scores.astype(np.float32).astype(np.float64), labels, offsets))


@settings(max_examples=50, deadline=None)
@given(st.lists(query(), min_size=1, max_size=5))
def test_the_labels_themselves_are_perfect_scores(queries):
    perfect = evaluate(*several(*((labels, labels) for _, labels in queries)))
    for q, (_, labels) in enumerate(queries):
        n, relevant = len(labels), sum(label > 0 for label in labels)
        for name in CONVENTIONS:
            best = (1 if relevant else nan) if name == "standard" else (1 if relevant else 0)
            reached = range(1, min(n, DEPTH) + 1)
            for metric in ("map", "mean_ndcg", *(f"ndcg@{k}" for k in reached)):
                assert_allclose(perfect.loc[q, f"{name}.{metric}"], best, rtol=1e-12, err_msg=f"{name}.{metric}")
        assert_array_equal(perfect.loc[q, "kendall_tau"], 0 if len(set(labels)) > 1 else nan)
        assert perfect.loc[q, "top10"] == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(query(), min_size=1, max_size=5))
def test_all_metrics_are_between_0_and_1(queries):
    values = evaluate(*several(*queries)).to_numpy()
    assert np.all(np.isnan(values) | ((values >= 0) & (values <= 1 + 1e-12)))


# Errors


TWO = np.array([0, 1, 2])


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0], [2.0]], 1.0])
def test_another_number_of_scores_is_refused(scores):
    with pytest.raises(ReplirankError, match="one score for each document"):
        evaluate(np.array(scores), np.array([0.0, 1.0]), TWO)


def test_another_number_of_labels_is_refused():
    with pytest.raises(ReplirankError, match="labels"):
        evaluate(np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0]), TWO)


@pytest.mark.parametrize("bad", [nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(ReplirankError, match="the score of document 1 is not finite"):
        evaluate(np.array([0.5, bad]), np.array([0.0, 1.0]), TWO)


def test_an_unknown_convention_is_refused_with_the_known_ones():
    for refused in (
        lambda: convention("trec"),
        lambda: evaluate(np.array([1.0, 2.0]), np.array([0.0, 1.0]), TWO, conventions=["trec"]),
        lambda: Judge(np.array([0.0, 1.0]), TWO, "trec.map"),
    ):
        with pytest.raises(ReplirankError, match="letor3, letor4, burges, standard"):
            refused()


# Means


def test_folds_count_the_same_whatever_their_size():
    frame = pd.DataFrame(
        {
            "method": ["a"] * 5 + ["b"] * 5,
            "fold": [1, 1, 1, 2, 3] * 2,
            "x": [0.3, 0.6, 0.9, 0.1, 0.2, 1, 1, 1, 0, 0],
            "y": [1, nan, 0, nan, 0.5, 0, 0, 3, 4, 5],
        }
    )
    means = fold_mean(frame, ["x", "y"], ["method"])
    assert_allclose(means.loc["a", "x"], ((0.3 + 0.6 + 0.9) / 3 + 0.1 + 0.2) / 3, **EXACT)
    assert_allclose(means.loc["b", "x"], (1 + 0 + 0) / 3, **EXACT)
    assert_allclose(means.loc["b", "y"], (1 + 4 + 5) / 3, **EXACT)
    # Queries that a convention leaves out are in no mean, and neither is a fold of only such.
    assert_allclose(means.loc["a", "y"], (0.5 + 0.5) / 2, **EXACT)


def test_means_by_several_keys():
    frame = pd.DataFrame({"data": list("uuvv"), "method": list("abab"), "fold": 1, "x": [1.0, 2.0, 3.0, 4.0]})
    means = fold_mean(frame, ["x"], ["data", "method"])
    assert means["x"].to_dict() == {("u", "a"): 1, ("u", "b"): 2, ("v", "a"): 3, ("v", "b"): 4}


# The registry


KNOWN = "ndcg@k, p@k, map, mean_ndcg, err, pairwise_correct, kendall_tau, top10, for k in 1..15"
GRADED = [*(f"ndcg@{k}" for k in range(1, 16)), *(f"p@{k}" for k in range(1, 16)), "map", "mean_ndcg"]
WITHOUT_CONVENTION = ["err", "pairwise_correct", "kendall_tau", "top10"]
COLUMNS = [*(f"{name}.{metric}" for name in CONVENTIONS for metric in GRADED), *WITHOUT_CONVENTION]


def test_the_frame_has_the_metrics_of_the_registry_in_this_order():
    """People's scripts read results/metrics.parquet by these names."""
    assert list(evaluate(*several(([1, 2], [0, 1]))).columns) == COLUMNS
    registered = [name for metric in METRICS.values() for name in metric.cuts()]
    assert registered == [*GRADED, *WITHOUT_CONVENTION]
    assert {column_of(metric, name) for metric in registered for name in CONVENTIONS} == set(COLUMNS)


def test_a_name_is_a_metric_and_its_cut():
    assert parse("ndcg@10") == (METRICS["ndcg"], 10)
    assert parse("p@1") == (METRICS["p"], 1)
    assert parse("kendall_tau") == (METRICS["kendall_tau"], None)


def test_a_convention_stands_before_the_metrics_that_have_one():
    assert column_of("ndcg@10", "letor3") == "letor3.ndcg@10"
    assert column_of("map", "burges") == "burges.map"
    assert [column_of(metric, "letor3") for metric in WITHOUT_CONVENTION] == WITHOUT_CONVENTION


def test_how_metrics_are_shown():
    """Columns of the CSV tables have these names."""
    expected = {
        "ndcg@10": "NDCG@10",
        "p@5": "P@5",
        "map": "MAP",
        "mean_ndcg": "MeanNDCG",
        "err": "ERR",
        "pairwise_correct": "pairwise correct",
        "kendall_tau": "Kendall tau",
        "top10": "top-10 rate",
    }
    assert {name: display_name(name) for name in expected} == expected
    assert len(expected) == len(METRICS)


def test_the_right_order_is_better_than_the_wrong_one_by_every_metric():
    labels = np.arange(30, 0, -1)
    right, wrong = (evaluate(*several((scores, labels - 15))).iloc[0] for scores in (labels, -labels))
    for metric in METRICS.values():
        for name in metric.cuts():
            column = column_of(name, "letor3")
            assert metric.sign * right[column] > metric.sign * wrong[column], name
    assert [metric.name for metric in METRICS.values() if metric.better == "lower"] == ["kendall_tau"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ndcg",
            "ndcg@",
            "ndcg@0",
            "ndcg@16",
            "ndcg@010",
            "ndcg@ten",
            "ndcg@-1",
            "NDCG@10",
            "ndgc@10",
            "p@1.5",
            "p@k",
        ),
        *("p", "p@k", "map@3", "MAP", "mean_ndcg@5", "err@10", "kendall", "top5", "recall@3", "letor3.map", ""),
    ],
)
def test_an_unknown_metric_is_refused_with_the_known_ones(name):
    for ask in (parse, display_name, lambda name: column_of(name, "letor3"), lambda name: column_of(name, "standard")):
        with pytest.raises(ReplirankError) as caught:
            ask(name)
        assert caught.value.what == f"unknown metric {name!r}"
        assert caught.value.remedy == f"choose one of {KNOWN}"


def test_the_file_that_names_an_unknown_metric_is_named():
    with pytest.raises(ReplirankError, match=r"^config\.yaml: unknown metric 'mrr'"):
        parse("mrr", path="config.yaml")
    with pytest.raises(ReplirankError, match=r"^config\.yaml: unknown convention 'trec'"):
        convention("trec", path="config.yaml")


# One metric of the same queries again and again


def judged(seed):
    """Queries of all kinds: long, short, with one document, with tied scores, and one without relevant documents."""
    rng = np.random.default_rng(seed)
    tied = [(np.round(rng.standard_normal(n)), rng.integers(0, 3, n)) for n in (1, 2, 4, 30)]
    return several(*random_queries(seed, queries=20), *tied, ([1, 2, 3], [0, 0, 0]))


@pytest.mark.parametrize("seed", range(3))
def test_a_judge_gives_evaluates_column_to_the_last_bit(seed):
    scores, labels, offsets = judged(seed)
    for best_label in (None, 6.0):
        frame = evaluate(scores, labels, offsets, best_label=best_label)
        for column in frame:
            assert Judge(labels, offsets, column, best_label)(scores).tobytes() == frame[column].to_numpy().tobytes()
        left_out = {column for column in frame if column.startswith("standard.")}
        assert set(frame.columns[frame.isna().any()]) == {*left_out, "pairwise_correct", "kendall_tau"}


@pytest.mark.parametrize(
    "column",
    [f"{name}.{metric}" for name in CONVENTIONS for metric in ("map", "mean_ndcg", "ndcg@1", "ndcg@10", "p@5")]
    + WITHOUT_CONVENTION,
)
def test_a_judge_forgets_the_scores_before(column):
    scores, labels, offsets = judged(3)
    judge, rng = Judge(labels, offsets, column), np.random.default_rng(0)
    seen = set()
    for these in (scores, -scores, np.zeros(len(scores)), np.round(rng.standard_normal(len(scores))), labels, scores):
        given = these.copy()
        fresh = Judge(labels, offsets, column)(these)
        assert judge(these).tobytes() == fresh.tobytes()
        assert_array_equal(these, given)
        seen.add(fresh.tobytes())
    assert len(seen) == 5  # the last are the first again


def test_a_judge_does_once_what_depends_on_the_labels_alone(monkeypatch):
    scores, labels, offsets = judged(3)
    counted, dcg = [], Lists.dcg
    monkeypatch.setattr(Lists, "dcg", lambda *given: counted.append(given) or dcg(*given))
    judge = Judge(labels, offsets, "burges.ndcg@10")
    for these in (scores, -scores, scores):
        judge(these)
    assert len(counted) == 3 + 1  # that of each ranking, and the best one once
    pairs = Judge(labels, offsets, "kendall_tau")
    pairs(scores)
    once = pairs.lists.pairs
    pairs(-scores)
    assert pairs.lists.pairs is once


def test_a_judge_refuses_scores_that_do_not_fit():
    judge = Judge(np.array([0.0, 1.0]), TWO, "burges.map")
    with pytest.raises(ReplirankError, match="one score for each document"):
        judge(np.zeros(3))
    with pytest.raises(ReplirankError, match="the score of document 1 is not finite"):
        judge(np.array([0.0, nan]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("burges.ndcg@16", "unknown metric 'ndcg@16'"),
        ("burges.p@1.5", "unknown metric 'p@1.5'"),
        ("burges.", "unknown metric ''"),
        ("burges", "unknown metric 'burges'"),
        ("burges.err", "no column 'burges.err': err has no convention\n  remedy: take 'err'"),
        ("ndcg@10", "no column 'ndcg@10': ndcg needs a convention\n  remedy: take 'letor3.ndcg@10'"),
    ],
)
def test_a_judge_refuses_a_column_that_there_is_not(column, message):
    with pytest.raises(ReplirankError) as caught:
        Judge(np.array([0.0, 1.0]), TWO, column)
    assert str(caught.value).startswith(message)
