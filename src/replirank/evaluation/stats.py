"""Comparing rankers on per-query metric values: paired tests, intervals of a mean, correction for many tests.

Every test takes two 1-d arrays, one value per query in the same order, and is two-sided. A query that a metric
convention leaves out is NaN; a pair with a NaN on either side is dropped, and `n` says how many pairs were left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy import stats as scipy_stats

from replirank.errors import ReplirankError

# Metric values are sums of rounded fractions: 0.3 - 0.2 and 0.4 - 0.3 are one number to a mathematician and two to a
# computer. What differs by less than this share of its size counts as equal: more than rounding can do to a sum over
# 100,000 queries (100,000 * 2**-53), and far less than any difference between metric values that means something.
ROUNDING = 2.0**-36

# How many sign assignments (about 40 bytes each) and resampled values (16 bytes each) are held at once. Constants,
# since the random stream, and with it the p-value, must not depend on the machine.
FLIPS_AT_ONCE = 2**17
RESAMPLED_AT_ONCE = 2**20

# Row k holds the signs that the bits of byte k stand for, lowest bit first.
SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


class PairedTest(NamedTuple):
    """What a paired test found, in `n` pairs."""

    statistic: float
    p: float
    n: int


def paired_t(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Student's paired t-test.

    Where no variance is left to divide by, the answer is the limit: no difference anywhere gives p = 1, the same
    non-zero difference everywhere gives p = 0. A single pair has no variance to estimate and proves nothing: p = 1.

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
    d = d / largest  # t has no unit; without one the squares cannot underflow
    t = d.mean() / (d.std(ddof=1) / np.sqrt(n))
    return PairedTest(float(t), float(2 * special.stdtr(n - 1, -abs(t))), n)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Wilcoxon's signed rank test; the statistic is the smaller of the two rank sums.

    Zero differences are dropped before ranking, as Wilcoxon did (`n` still counts them, so that tests side by side
    name the same queries). Exact up to 50 non-zero differences without ties, else the normal approximation with tie
    correction.

    >>> wilcoxon([5, 6, 7, 9], [5, 5, 5, 5])  # all three go one way, as 2 of the 2**3 sign assignments do
    PairedTest(statistic=0.0, p=0.25, n=4)
    """
    d = _differences(a, b)
    # Ranks see every last bit, so ties must be made exact first: whole numbers of the smallest step that counts. The
    # step is a power of two, which keeps fractions with small denominators away from the point where rounding turns.
    steps = np.rint(d / (np.abs(d).max() or 1.0) / ROUNDING)
    steps = steps[steps != 0]
    if steps.size == 0:
        return PairedTest(0.0, 1.0, d.size)
    exact = steps.size <= 50 and np.unique(np.abs(steps)).size == steps.size
    found = scipy_stats.wilcoxon(steps, method="exact" if exact else "asymptotic")
    return PairedTest(float(found.statistic), float(found.pvalue), d.size)


def randomization(a: ArrayLike, b: ArrayLike, *, seed: int, flips: int = 100_000) -> PairedTest:
    """Fisher's paired randomization test (Smucker, Allan and Carterette, 2007); the statistic is the mean difference.

    If the two rankers were one, each query's difference could as well have had the other sign. p is the share of sign
    assignments with a mean at least as far from 0: of all 2**n where these are no more than `flips` (zero differences
    need no sign), else of `flips` random ones together with the observed one, (1 + count) / (1 + flips), never 0.

    >>> randomization([5, 6, 7, 9], [5, 5, 5, 5], seed=0)  # differences 0, 1, 2, 4: as far are +++ and ---
    PairedTest(statistic=1.75, p=0.25, n=4)
    """
    if flips < 1:
        raise ReplirankError(f"{flips} sign flips asked for", remedy="ask for at least 1; 100,000 is usual")
    d = _differences(a, b)
    # Signs are symmetric, so sizes may stand for differences; swapping a and b then gives the same p to the last bit.
    sizes = np.abs(d[d != 0])
    # A sum that equals the observed one but was added in another order may come out a last bit lower; it must count,
    # or p is too small wherever metrics tie, in small samples by a lot. Rounding errors grow with the sum of the sizes.
    at_least = abs(d.sum()) - ROUNDING * sizes.sum()
    exact = 2**sizes.size <= flips
    assignments = 2**sizes.size if exact else flips

    eights = np.pad(sizes, (0, -sizes.size % 8)).reshape(-1, 8)
    rng = np.random.default_rng(seed)
    count = 0
    for start in range(0, assignments, FLIPS_AT_ONCE):
        numbers = np.arange(start, min(start + FLIPS_AT_ONCE, assignments))
        sums = np.zeros(numbers.size)
        # One byte signs eight queries at once: 256 partial sums, looked up. Faster than multiplying by a matrix of
        # signs, and added in one order whatever the number of cores, which BLAS does not promise.
        for place, eight in enumerate(eights):
            signs = numbers >> 8 * place & 255 if exact else rng.integers(256, size=numbers.size, dtype=np.uint8)
            sums += (SIGNS @ eight)[signs]
        count += np.count_nonzero(np.abs(sums) >= at_least)
    p = count / assignments if exact else (1 + count) / (1 + assignments)
    return PairedTest(float(d.mean()), float(p), d.size)


def bootstrap_interval(
    values: ArrayLike, *, seed: int, level: float = 0.95, resamples: int = 10_000
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over queries.

    >>> bootstrap_interval([0, 1], seed=0)  # a resample's mean is 0, 1/2 or 1, with chances 1/4, 1/2, 1/4
    (0.0, 1.0)
    """
    if resamples < 1:
        raise ReplirankError(f"{resamples} resamples asked for", remedy="ask for at least 1; 10,000 is usual")
    (values,), tail = _present(values), _tail(level)
    rows = max(1, RESAMPLED_AT_ONCE // values.size)
    rng = np.random.default_rng(seed)
    means = [
        values[rng.integers(values.size, size=(min(rows, resamples - start), values.size))].mean(axis=1)
        for start in range(0, resamples, rows)
    ]
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)


def normal_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """The mean, give or take z standard errors: RankNet's (2005) "standard error at 95%" in Table 4.

    >>> normal_interval([1, 2, 3])  # 2 -+ 1.96 * 1 / sqrt(3)
    (0.868..., 3.131...)
    """
    (values,), tail = _present(values), _tail(level)
    if values.size < 2:
        raise ReplirankError("one value has no standard error", remedy="give the metric of at least two queries")
    half = -special.ndtri(tail) * values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() - half), float(values.mean() + half)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's (1979) step-down adjustment, in the order given: those below α are rejected at family-wise level α.

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
    """a - b where both have a value; 0, not a last bit, where they are equal but for rounding."""
    a, b = _present(a, b)
    d = a - b
    return np.where(np.abs(d) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, d)


def _present(*rankers: ArrayLike) -> np.ndarray:
    """One row per ranker, of the queries where none is NaN; they must be finite, and there must be one."""
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


def _tail(level: float) -> float:
    """The chance left outside on each side."""
    if not 0 < level < 1:
        raise ReplirankError(f"{level} is no confidence level", remedy="give a share between 0 and 1, such as 0.95")
    return (1 - level) / 2
