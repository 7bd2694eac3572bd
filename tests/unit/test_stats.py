"""Paired tests, intervals and Holm's correction, against scipy, exact enumeration and arithmetic."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from scipy import stats as scipy_stats
from threadpoolctl import threadpool_limits

from replirank.errors import ReplirankError
from replirank.evaluation import stats
from replirank.evaluation.stats import bootstrap_interval, holm, normal_interval, paired_t, randomization, wilcoxon

NAN, INF = math.nan, math.inf


def seeded_randomization(a, b):
    return randomization(a, b, seed=0)


every_test = pytest.mark.parametrize("test", [paired_t, wilcoxon, seeded_randomization])
every_interval = pytest.mark.parametrize("interval", [normal_interval, lambda v: bootstrap_interval(v, seed=0)])

# Values like precision at 10: many ties, many zero differences, none of which a binary fraction holds exactly.
tenths = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=9)


def metric_values(n, gain=0.0, seed=0):
    rng = np.random.default_rng(seed)
    b = rng.random(n)
    return b + rng.normal(gain, 0.1, n), b


def by_enumeration(d):
    """Exact p of whole-number differences, zero differences flipped like any other."""
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in itertools.product([1, -1], repeat=len(d))]
    return sum(abs(s) >= abs(sum(d)) for s in sums) / 2 ** len(d)


def by_convolution(d):
    """The same for more differences than can be enumerated: how many assignments reach each sum, one sign at a time."""
    ways = np.ones(1, dtype=np.int64)
    for x in np.abs(d):
        ways = np.convolve(
            ways, np.eye(1, 2 * x + 1, dtype=np.int64)[0] + np.eye(1, 2 * x + 1, 2 * x, dtype=np.int64)[0]
        )
    sums = np.arange(ways.size) - np.abs(d).sum()
    return ways[np.abs(sums) >= abs(d.sum())].sum() / 2 ** len(d)


# Student's t


@pytest.mark.parametrize(("n", "gain"), [(2, 0.1), (5, -0.2), (50, 0.03), (1692, 0.002)])
def test_t_is_the_mean_over_its_standard_error(n, gain):
    a, b = metric_values(n, gain, seed=n)
    d = a - b
    t = d.mean() / math.sqrt(((d - d.mean()) ** 2).sum() / (n - 1) / n)
    # Student's distribution by its relation to the incomplete beta function.
    p = special.betainc((n - 1) / 2, 0.5, (n - 1) / (n - 1 + t**2))
    assert_allclose(paired_t(a, b), [t, p, n], rtol=1e-9)


def test_t_by_hand():
    # Differences 1, 2, 6: mean 3, variance ((-2)² + (-1)² + 3²) / 2 = 7. With two degrees of freedom Student's
    # distribution has a closed form, p = 1 - t / sqrt(2 + t²).
    t = 3 / math.sqrt(7 / 3)
    assert_allclose(paired_t([1, 2, 6], [0, 0, 0]), [t, 1 - t / math.sqrt(2 + t**2), 3])


@pytest.mark.parametrize("unit", [1e-200, 1e-320, 1e200])
def test_t_has_no_unit(unit):
    assert_allclose(paired_t(np.array([1, 2, 6]) * unit, [0, 0, 0]), paired_t([1, 2, 6], [0, 0, 0]), rtol=1e-3)


def test_t_of_a_constant_difference():
    b = np.random.default_rng(0).random(100)
    assert np.ptp((b + 0.1) - b) > 0  # constant in the reals only
    assert paired_t(b + 0.1, b) == (INF, 0, 100)
    assert paired_t(b - 0.1, b) == (-INF, 0, 100)


# Wilcoxon


@pytest.mark.parametrize(("n", "method"), [(8, "exact"), (50, "exact"), (51, "asymptotic"), (1692, "asymptotic")])
def test_wilcoxon_is_scipys(n, method):
    a, b = metric_values(n, 0.02, seed=n)
    found = scipy_stats.wilcoxon(a, b, method=method)
    assert_allclose(wilcoxon(a, b), [found.statistic, found.pvalue, n])


def test_wilcoxon_drops_zeros_before_choosing_exact():
    a, b = metric_values(20, 0.05)
    more = np.linspace(0, 1, 40)
    padded = wilcoxon([*a, *more], [*b, *more])
    assert padded == (*wilcoxon(a, b)[:2], 60)
    assert padded.p == scipy_stats.wilcoxon(a, b, method="exact").pvalue


def test_wilcoxon_tie_correction_by_hand():
    # |d| = 1, 1, 1, 2, 3 have ranks 2, 2, 2, 4, 5; the only negative one is a 1. The three tied take
    # (3³ - 3) / 48 off the variance of the rank sum.
    mean, variance = 5 * 6 / 4, 5 * 6 * 11 / 24 - (3**3 - 3) / 48
    p = math.erfc((mean - 2) / math.sqrt(variance) / math.sqrt(2))
    assert_allclose(wilcoxon([1, 1, -1, 2, 3], np.zeros(5)), [2, p, 5])


@settings(max_examples=50, deadline=None)
@given(tenths)
def test_wilcoxon_sees_ties_through_rounding(pairs):
    a, b = np.array(pairs).T
    assert wilcoxon(a / 10, b / 10) == wilcoxon(a, b)


# The randomization test


@pytest.mark.parametrize("n", [2, 7, 8, 9, 12])
def test_randomization_is_scipys(n):
    a, b = metric_values(n, 0.03, seed=n)
    found = scipy_stats.permutation_test(
        (a, b), lambda a, b, axis: (a - b).mean(axis=axis), permutation_type="samples", n_resamples=INF, vectorized=True
    )
    assert_allclose(randomization(a, b, seed=0), [found.statistic, found.pvalue, n])


@settings(max_examples=100, deadline=None)
@given(tenths)
def test_randomization_is_exact_in_small_samples(pairs):
    a, b = np.array(pairs).T
    found = randomization(a / 10, b / 10, seed=0)
    assert found.p == by_enumeration((a - b).tolist())
    assert_allclose(found.statistic, (a - b).mean() / 10, atol=1e-15)
    assert found.n == len(pairs)


def test_randomization_counts_sums_that_differ_by_rounding():
    # 0.7 - 0.6 - 0.1 is 0 in the reals, so every assignment is at least as far out; in floats it is -8e-17.
    assert randomization([0.7, 0, 0], [0, 0.6, 0.1], seed=0).p == 1
    # Whole numbers 1 to 3 over 10, 200 of them: sums that equal the observed one are as common as any other.
    d = np.random.default_rng(0).integers(1, 4, 200) * np.random.default_rng(1).choice([-1, 1], 200)
    assert randomization(d, 0 * d, seed=0).p == randomization(d / 10, 0 * d, seed=0).p


def test_randomization_enumerates_in_pieces_and_beyond_two_bytes():
    d = np.random.default_rng(3).integers(-5, 8, 18)
    d[d == 0] = 1
    assert stats.FLIPS_AT_ONCE < 2**18
    assert randomization(d, 0 * d, seed=0, flips=2**18).p == by_convolution(d)


def test_zero_differences_cost_no_flips():
    a, b = metric_values(10, 0.05)
    same = np.linspace(0, 1, 1000)
    assert randomization([*a, *same], [*b, *same], seed=0, flips=2**10).p == randomization(a, b, seed=0).p


@pytest.mark.parametrize("n", [17, 40])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_sampled_is_exact_within_monte_carlo_error(n, shift):
    d = np.random.default_rng(n).integers(-4, 5, n) + shift
    exact, flips = by_convolution(d), 100_000
    assert abs(randomization(d, 0 * d, seed=0).p - exact) < 5 * math.sqrt(exact * (1 - exact) / flips) + 1 / flips


def test_sampled_is_exact_over_many_pieces(monkeypatch):
    monkeypatch.setattr(stats, "FLIPS_AT_ONCE", 1000)
    d = np.random.default_rng(0).integers(-4, 6, 40)
    exact, flips = by_convolution(d), 20_500
    assert abs(randomization(d, 0 * d, seed=0, flips=flips).p - exact) < 5 * math.sqrt(exact * (1 - exact) / flips)


def test_sampled_p_is_never_zero():
    assert randomization(np.ones(60), np.zeros(60), seed=0, flips=999) == (1, 1 / 1000, 60)


def test_seed_decides():
    a, b = metric_values(100, 0.01)
    assert randomization(a, b, seed=1) == randomization(a, b, seed=1)
    assert randomization(a, b, seed=1).p != randomization(a, b, seed=2).p
    assert bootstrap_interval(a, seed=1) == bootstrap_interval(a, seed=1)
    assert bootstrap_interval(a, seed=1) != bootstrap_interval(a, seed=2)


def test_threads_do_not_matter():
    a, b = metric_values(1692, 0.003)
    with threadpool_limits(1):
        alone = randomization(a, b, seed=0, flips=10_000)
    with threadpool_limits(4):
        assert randomization(a, b, seed=0, flips=10_000) == alone


def test_p_is_uniform_where_nothing_differs():
    # (1 + count) / (1 + 199) takes the values 1/200, 2/200 ... 1 with equal chances.
    rng, runs = np.random.default_rng(0), 2000
    p = np.array([randomization(rng.normal(size=30), np.zeros(30), seed=i, flips=199).p for i in range(runs)])
    for share in [0.05, 0.5, 0.95]:
        assert abs(np.mean(p <= share) - share) < 4 * math.sqrt(share * (1 - share) / runs)


def test_memory_is_bounded():
    a, b = metric_values(1692)
    tracemalloc.start()
    try:
        randomization(a, b, seed=0, flips=2 * stats.FLIPS_AT_ONCE)
        bootstrap_interval(a, seed=0, resamples=2000)
        assert tracemalloc.get_traced_memory()[1] < 32e6  # a matrix of signs would take 3.5 GB as floats
    finally:
        tracemalloc.stop()


# All three tests


@every_test
@pytest.mark.parametrize("n", [12, 60])
def test_swapping_turns_only_the_sign(test, n):
    a, b = metric_values(n, 0.03)
    forth, back = test(a, b), test(b, a)
    assert forth.p == back.p
    assert back.statistic == (forth.statistic if test is wilcoxon else -forth.statistic)


@every_test
@pytest.mark.parametrize("n", [1, 3, 200])
def test_no_difference_at_all(test, n):
    a = np.random.default_rng(0).random(n)
    assert test(a, a) == (0, 1, n)
    assert test(a + 0.1 + 0.2, a + 0.3) == (0, 1, n)  # equal but for the last bit
    assert test(np.zeros(n), np.zeros(n)) == (0, 1, n)


@every_test
def test_one_pair_proves_nothing(test):
    assert test([0.9], [0.1]).p == 1


@every_test
def test_a_query_without_a_value_leaves_with_its_pair(test):
    a, b = metric_values(30, 0.02)
    a[[3, 7]], b[[7, 20]] = NAN, NAN
    kept = np.delete(np.arange(30), [3, 7, 20])
    assert test(a, b) == test(a[kept], b[kept])
    assert test(a, b).n == 27


@every_test
def test_plain_python_numbers_come_out(test):
    found = test(*metric_values(30))
    assert [type(x) for x in found] == [float, float, int]  # so that they can be written as JSON


@every_test
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 2], [1], r"shapes \(2,\), \(1,\)\n  remedy: give each ranker one value per query, in the same order"),
        ([[1, 2]], [[1, 2]], r"shapes \(1, 2\), \(1, 2\)\n  remedy"),
        (1, 2, r"shapes \(\), \(\)\n  remedy"),
        ([0, 1, 2], [0, INF, -INF], r"infinite metric value at position 1 \(2 in all\)\n  remedy"),
        ([NAN], [INF], r"infinite metric value at position 0"),
        ([1, NAN], [NAN, 1], r"no query is left of 2.*\n  remedy"),
        ([], [], r"no query is left of 0.*\n  remedy"),
    ],
)
def test_bad_pairs_are_refused(test, a, b, message):
    with pytest.raises(ReplirankError, match=message):
        test(a, b)


# Intervals


def test_normal_interval_by_hand():
    # Mean 2.5, variance (2.25 + 0.25 + 0.25 + 2.25) / 3 = 5/3, four values.
    standard_error = math.sqrt(5 / 3 / 4)
    half = 1.959963984540054 * standard_error
    assert_allclose(normal_interval([1, 2, NAN, 3, 4]), [2.5 - half, 2.5 + half])
    one_sigma = math.erf(1 / math.sqrt(2))
    assert_allclose(normal_interval([1, 2, 3, 4], level=one_sigma), [2.5 - standard_error, 2.5 + standard_error])


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_meets_normal_theory(level):
    values = np.random.default_rng(0).random(5000)
    standard_error, resamples, tail = values.std() / math.sqrt(5000), 10_000, (1 - level) / 2
    # The standard deviation of a sample quantile is sqrt(q (1 - q) / resamples) / density.
    density = scipy_stats.norm.pdf(scipy_stats.norm.ppf(tail)) / standard_error
    noise = math.sqrt(tail * (1 - tail) / resamples) / density
    assert_allclose(
        bootstrap_interval(values, seed=0, level=level, resamples=resamples),
        normal_interval(values, level=level),
        rtol=0,
        atol=5 * noise,
    )


def test_bootstrap_covers_the_mean():
    rng, runs = np.random.default_rng(0), 500
    intervals = [bootstrap_interval(rng.random(100), seed=i, resamples=500) for i in range(runs)]
    covered = np.mean([low <= 0.5 <= high for low, high in intervals])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize(("n", "level"), [(2, 0.95), (106, 0.95), (1692, 0.9), (2**20 + 1, 0.95)])
def test_bootstrap_draws_the_resamples_of_a_plain_numpy_bootstrap(n, level):
    # Published intervals must stay the same whatever a new scipy does inside. The largest n resamples row by row.
    values, resamples = np.random.default_rng(n).normal(size=n), 2000 if n < 2000 else 4
    rng, rows, means = np.random.default_rng(5), max(1, 2**20 // n), []
    while len(means) < resamples:
        drawn = rng.integers(0, n, size=(min(rows, resamples - len(means)), n))
        means += [values[row].mean() for row in drawn]
    expected = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    found = bootstrap_interval(values, seed=5, level=level, resamples=resamples)
    assert_allclose(found, expected, rtol=1e-11, atol=1e-15)
    assert [f"{x:.10g}" for x in found] == [f"{x:.10g}" for x in expected]  # as the CSV tables have them


def test_bootstrap_of_one_value_is_that_value():
    assert bootstrap_interval([NAN, 0.3], seed=0) == (0.3, 0.3)


@pytest.mark.parametrize("rows", [1, 300])  # 300, 300, 300 and the last 100
def test_bootstrap_does_not_depend_on_its_pieces(monkeypatch, rows):
    values = np.random.default_rng(0).random(77)
    whole = bootstrap_interval(values, seed=0, resamples=1000)
    monkeypatch.setattr(stats, "RESAMPLED_AT_ONCE", 77 * rows)
    assert bootstrap_interval(values, seed=0, resamples=1000) == whole


@every_interval
def test_interval_leaves_out_nan_and_collapses_on_a_constant(interval):
    assert interval([1, NAN, 2, 5]) == interval([1, 2, 5])
    assert interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


@every_interval
@pytest.mark.parametrize(
    ("values", "message"), [([NAN], "no query is left of 1"), ([[1, 2]], "flat"), ([1, -INF], "infinite .* position 1")]
)
def test_bad_values_are_refused(interval, values, message):
    with pytest.raises(ReplirankError, match=message):
        interval(values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normal_interval([1]), "one value has no standard error\n  remedy"),
        (lambda: normal_interval([1, 2], level=95), "95 is no confidence level\n  remedy"),
        (lambda: bootstrap_interval([1, 2], seed=0, level=1), "1 is no confidence level\n  remedy"),
        (lambda: bootstrap_interval([1, 2], seed=0, resamples=1), "1 resamples asked for\n  remedy"),
        (lambda: randomization([1, 2], [2, 1], seed=0, flips=0), "0 sign flips asked for\n  remedy"),
        (lambda: holm([0.1, NAN]), "not p-values: .*\n  remedy"),
        (lambda: holm([0.1, 1.1]), "not p-values"),
        (lambda: holm([[0.1]]), "not p-values"),
    ],
)
def test_bad_settings_are_refused(call, message):
    with pytest.raises(ReplirankError, match=message):
        call()


# Holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


def test_holm_by_hand():
    # In order .01 .02 .022 .3 .6, times 5 4 3 2 1; 3 * .022 < 4 * .02 is raised to it, for the order must stay.
    assert_allclose(holm([0.6, 0.02, 0.022, 0.01, 0.3]), [1 * 0.6, 4 * 0.02, 4 * 0.02, 5 * 0.01, 2 * 0.3])
    assert_allclose(holm([0.9, 0.8]), [1, 1])
    assert_array_equal(holm([0.04]), [0.04])
    assert holm([]).shape == (0,)


@given(p_values)
def test_holm_lies_between_the_raw_and_bonferronis(p):
    # Never above Bonferroni's, so it rejects all that Bonferroni rejects.
    adjusted = holm(p)
    assert np.all(p <= adjusted)
    assert np.all(adjusted <= np.minimum(1, p.size * p))


@given(p_values, st.randoms(use_true_random=False))
def test_holm_keeps_the_order_and_follows_its_input(p, random):
    adjusted, shuffle = holm(p), np.array(random.sample(range(p.size), p.size))
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)
    assert_array_equal(holm(p[shuffle]), adjusted[shuffle])


@given(p_values, st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_holm_rejects_as_the_step_down_procedure_does(p, alpha):
    rejected = np.zeros(p.size, dtype=bool)
    for rank, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] * (p.size - rank) > alpha:
            break
        rejected[i] = True
    assert_array_equal(holm(p) <= alpha, rejected)
