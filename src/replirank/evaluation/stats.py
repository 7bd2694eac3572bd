"""Comparing rankers on per-query metric values: paired tests, intervals of a mean, correction for many tests.

Every test takes two 1-d arrays, one value per query in the same order, and is two-sided unless asked. A query that a
metric convention leaves out is NaN; a pair with a NaN on either side is dropped, and `n` says how many pairs were left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy import stats as scipy_stats

from replirank.errors import ReplirankError

# Metric values are rounded, so that 0.3 - 0.2 and 0.4 - 0.3 are not equal. Numbers that differ by less than this share
# of their size count as equal. That is more than the rounding error of a sum over 100,000 queries
# (100,000 * 2**-53), and far less than any difference between metric values that means something.
ROUNDING = 2.0**-36

# How many sign assignments (about 40 bytes each) and resampled values (16 bytes each) are held in memory at once. They
# are constants because the random numbers, and with them the results, must not depend on the machine.
FLIPS_AT_ONCE = 2**17
RESAMPLED_AT_ONCE = 2**20

# Row k has the eight signs that the bits of byte k stand for, lowest bit first.
SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


class PairedTest(NamedTuple):
    """What a paired test found, in `n` pairs."""

    statistic: float
    p: float
    n: int


def paired_t(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Student's paired t-test.

    scipy gives NaN, or a number made of rounding errors, where the differences do not vary. Here the answer is the
    limit: no difference anywhere gives p = 1, the same non-zero difference everywhere gives p = 0. A single pair has no
    variance to estimate and proves nothing: p = 1.

    >>> paired_t([3, 5, 7], [2, 3, 4])  # differences 1, 2, 3: t = 2 / (1 / sqrt(3))
    PairedTest(statistic=3.46..., p=0.074..., n=3)
    >>> paired_t([0.3, 0.4, 0.5], [0.2, 0.3, 0.4])
    PairedTest(statistic=inf, p=0.0, n=3)
    """
    d = _differences(a, b)
    n, largest = d.size, np.abs(d).max()
    if n == 1 or largest == 0:
        return PairedTest(0.0, 1.0, n)
    if np.ptp(d) <= ROUNDING * largest:
        return PairedTest(float(np.copysign(np.inf, d[0])), 0.0, n)
    # t does not depend on the unit of the differences. Scaled to at most 1, their squares cannot underflow.
    found = scipy_stats.ttest_rel(d / largest, np.zeros(n))
    return PairedTest(float(found.statistic), float(found.pvalue), n)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Wilcoxon's signed rank test; the statistic is the smaller of the two rank sums.

    Zero differences are dropped before ranking, as Wilcoxon did; `n` still counts them, so that all tests of one table
    have the same n. Exact up to 50 non-zero differences without ties, else the normal approximation with tie
    correction.

    >>> wilcoxon([5, 6, 7, 9], [5, 5, 5, 5])  # all three go one way, as 2 of the 2**3 sign assignments do
    PairedTest(statistic=0.0, p=0.25, n=4)
    """
    d = _differences(a, b)
    # scipy sees ties only between equal numbers. So differences are first rounded to whole multiples of a step that is
    # too small to matter. It is a power of two, so that common fractions do not lie half-way between two multiples.
    steps = np.rint(d / (np.abs(d).max() or 1.0) / ROUNDING)
    steps = steps[steps != 0]
    if steps.size == 0:
        return PairedTest(0.0, 1.0, d.size)
    exact = steps.size <= 50 and np.unique(np.abs(steps)).size == steps.size
    found = scipy_stats.wilcoxon(steps, method="exact" if exact else "asymptotic")
    return PairedTest(float(found.statistic), float(found.pvalue), d.size)


def randomization(
    a: ArrayLike, b: ArrayLike, *, seed: int, flips: int = 100_000, one_sided: bool = False
) -> PairedTest:
    """Fisher's paired randomization test (Smucker, Allan and Carterette, 2007); the statistic is the mean difference.

    If the two rankers were equally good, each query's difference could as well have had the other sign. p is the share
    of sign assignments with a mean at least as far from 0 as the observed one. All 2**n assignments count if these
    are no more than `flips` (zero differences need no sign); else `flips` random ones together with the observed one,
    (1 + count) / (1 + flips), which is never 0. One-sided, p is the share with a mean at least as high as the observed
    one: whether a is better. That is what Indri's `ireval` computes.

    Not scipy.stats.permutation_test: this is faster, treats sums that differ by rounding as equal, and adds in one
    fixed order, so that p does not depend on the number of cores.

    >>> randomization([5, 6, 7, 9], [5, 5, 5, 5], seed=0)  # differences 0, 1, 2, 4: as far are +++ and ---
    PairedTest(statistic=1.75, p=0.25, n=4)
    >>> randomization([5, 6, 7, 9], [5, 5, 5, 5], seed=0, one_sided=True)  # as high is +++ alone
    PairedTest(statistic=1.75, p=0.125, n=4)
    """
    if flips < 1:
        raise ReplirankError(f"{flips} sign flips asked for", remedy="ask for at least 1; 100,000 is usual")
    d = _differences(a, b)
    # All signs are tried, so the observed ones do not matter. Without them swapping a and b gives the same two-sided p.
    sizes = np.abs(d[d != 0])
    # A sum that equals the observed one, but was added in another order, may come out slightly lower. It must count, or
    # p is too small wherever differences tie. Rounding errors are in proportion to the sum of the sizes.
    at_least = (d.sum() if one_sided else abs(d.sum())) - ROUNDING * sizes.sum()
    exact = 2**sizes.size <= flips
    assignments = 2**sizes.size if exact else flips

    eights = np.pad(sizes, (0, -sizes.size % 8)).reshape(-1, 8)
    rng = np.random.default_rng(seed)
    count = 0
    for start in range(0, assignments, FLIPS_AT_ONCE):
        numbers = np.arange(start, min(start + FLIPS_AT_ONCE, assignments))
        sums = np.zeros(numbers.size)
        # One byte holds the signs of eight queries; their 256 possible sums are computed once and looked up. That is
        # faster than multiplying by a matrix of signs, and BLAS would not always add in the same order.
        for place, eight in enumerate(eights):
            signs = numbers >> 8 * place & 255 if exact else rng.integers(256, size=numbers.size, dtype=np.uint8)
            sums += (SIGNS @ eight)[signs]
        count += np.count_nonzero((sums if one_sided else np.abs(sums)) >= at_least)
    p = count / assignments if exact else (1 + count) / (1 + assignments)
    return PairedTest(float(d.mean()), float(p), d.size)


def bootstrap_interval(
    values: ArrayLike, *, seed: int, level: float = 0.95, resamples: int = 10_000
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over queries.

    >>> bootstrap_interval([0, 1], seed=0)  # a resample's mean is 0, 1/2 or 1, with chances 1/4, 1/2, 1/4
    (0.0, 1.0)
    """
    if resamples < 2:
        raise ReplirankError(f"{resamples} resamples asked for", remedy="ask for at least 2; 10,000 is usual")
    _check_level(level)
    (values,) = _present(values)
    if values.size == 1:  # which scipy refuses
        return float(values[0]), float(values[0])
    found = scipy_stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, RESAMPLED_AT_ONCE // values.size),
        vectorized=True,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = found.confidence_interval
    return float(low), float(high)


def normal_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """The mean, give or take z standard errors: RankNet's (2005) "standard error at 95%" in Table 4.

    >>> normal_interval([1, 2, 3])  # 2 -+ 1.96 * 1 / sqrt(3)
    (0.868..., 3.131...)
    """
    _check_level(level)
    (values,) = _present(values)
    if values.size < 2:
        raise ReplirankError("one value has no standard error", remedy="give the metric of at least two queries")
    half = -special.ndtri((1 - level) / 2) * values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() - half), float(values.mean() + half)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's (1979) adjusted p-values, in the order given: those below α are rejected at family-wise level α.

    scipy does not have it; its false_discovery_control controls another error rate.

    >>> holm([0.01, 0.5, 0.02])  # 3 * 0.01, 1 * 0.5, 2 * 0.02
    array([0.03, 0.5 , 0.04])
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ReplirankError(
            f"not p-values: {p_values}", remedy="give a flat list of numbers from 0 to 1, without the tests that failed"
        )
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def _differences(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """a - b where both have a value; exactly 0 where they differ only by rounding."""
    a, b = _present(a, b)
    d = a - b
    return np.where(np.abs(d) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, d)


def _present(*rankers: ArrayLike) -> np.ndarray:
    """One row per ranker, one column per query where no ranker has NaN. There must be such a query, and no infinity."""
    rankers = [np.asarray(values, dtype=float) for values in rankers]
    shapes = [values.shape for values in rankers]
    if rankers[0].ndim != 1 or len(set(shapes)) > 1:
        raise ReplirankError(
            f"expected flat arrays of one length, got shapes {', '.join(map(str, shapes))}",
            remedy="give each ranker one value per query, in the same order, with NaN where a query is left out",
        )
    values = np.stack(rankers)
    infinite = np.flatnonzero(np.isinf(values).any(axis=0))
    if infinite.size:
        raise ReplirankError(
            f"infinite metric value at position {infinite[0]} ({infinite.size} in all)",
            remedy="find out how the metric became infinite; a query that it leaves out is NaN",
        )
    present = values[:, ~np.isnan(values).any(axis=0)]
    if present.size == 0:
        raise ReplirankError(
            f"no query is left of {values.shape[1]}: each has a NaN, or none was given",
            remedy="check that the metric is defined on these queries, and for all rankers on the same ones",
        )
    return present


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ReplirankError(f"{level} is no confidence level", remedy="give a share between 0 and 1, such as 0.95")
