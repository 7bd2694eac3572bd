"""BoltzRank's estimates, against the sums over all orders of five documents."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replirank.losses import boltzmann
from replirank.losses.boltzmann import draw, energies, expectation, expected_ndcg, log_partition, ndcg_of_ranks
from replirank.metrics.per_query import Judge

SCORES = np.array([0.4, 1.3, -0.6, 0.1, -1.0, 99.0])  # the last one is padding
LABELS = np.array([2.0, 1.0, 1.0, 0.0, 0.0, 9.0])
WHERE = np.arange(6) < 5
ORDERS = np.array([(*ranks, 0.0) for ranks in itertools.permutations(range(1, 6))])
ALPHAS = [0.5, 2.0, 8.0]


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.enable_x64(True):
        yield


def energies_by_pairs(alpha: float) -> np.ndarray:
    """Eq. 3, pair by pair, of every order."""
    found = []
    for ranks in ORDERS:
        pairs = [(u, v) for u, v in itertools.permutations(range(5), 2) if ranks[u] > ranks[v]]
        found.append(sum((ranks[u] - ranks[v]) * (SCORES[u] - SCORES[v]) for u, v in pairs))
    return 2 * alpha / (5 * 4) * np.array(found)


def exact(alpha: float) -> tuple[float, float]:
    """log Z and the expected NDCG, enumerated."""
    weights = np.exp(-energies_by_pairs(alpha))
    return np.log(weights.sum()), float(weights @ ndcg_of_all() / weights.sum())


def ndcg_of_all() -> np.ndarray:
    return np.asarray(ndcg_of_ranks(jnp.asarray(ORDERS), jnp.asarray(LABELS), where=jnp.asarray(WHERE)))


def estimates(alpha: float, draws: int, seed: int) -> tuple[float, float]:
    masked = {"where": jnp.asarray(WHERE), "alpha": alpha}
    drawn = draw(jnp.asarray(SCORES), **masked, draws=draws, key=jax.random.key(seed))
    energy = energies(jnp.asarray(SCORES), drawn.ranks, **masked)
    values = ndcg_of_ranks(drawn.ranks, jnp.asarray(LABELS), where=jnp.asarray(WHERE))
    return float(log_partition(energy, drawn.log_chances)), float(expectation(values, energy, drawn.log_chances))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_energy_is_the_sum_over_pairs(alpha):
    found = energies(jnp.asarray(SCORES), jnp.asarray(ORDERS), where=jnp.asarray(WHERE), alpha=alpha)
    assert_allclose(found, energies_by_pairs(alpha), atol=1e-12)


def test_ndcg_is_that_of_the_metrics():
    judge = Judge(LABELS[:5], np.array([0, 5]), "burges.ndcg@5")
    assert_allclose(ndcg_of_all(), [judge(-ranks[:5])[0] for ranks in ORDERS])


@pytest.mark.parametrize("alpha", ALPHAS)
def test_estimates_converge_to_the_sums_over_all_orders(alpha):
    """An error falls with the square root of the draws: to a tenth with a hundred times as many, a fifth is asked for.

    Of few draws, where weights are uneven, this need not hold yet.
    """
    log_z, expected = exact(alpha)
    few, many = (
        np.abs(np.array([estimates(alpha, draws, seed) for seed in range(20)]) - [log_z, expected]).mean(axis=0)
        for draws in (1000, 100_000)
    )
    assert np.all(many < few / 5)
    assert np.all(many < 0.005)


def test_chances_to_be_drawn_are_those_of_the_orders():
    """Of 200,000 draws each order has its share, and the chances of all 120 orders are 1 in all."""
    drawn = draw(jnp.asarray(SCORES), where=jnp.asarray(WHERE), alpha=1.5, draws=200_000, key=jax.random.key(0))
    orders, first, counts = np.unique(np.asarray(drawn.ranks), axis=0, return_index=True, return_counts=True)
    chances = np.exp(np.asarray(drawn.log_chances)[first])
    assert len(orders) == 120
    assert_allclose(chances.sum(), 1)
    assert np.all(np.abs(counts - 200_000 * chances) < 5 * np.sqrt(200_000 * chances) + 1)


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_sorting_and_comparing_agree(scale):
    random = np.random.default_rng(0)
    scores, where = jnp.asarray(scale * random.normal(size=40)), jnp.asarray(np.arange(40) < 37)
    found = []
    for bound in (10, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(boltzmann, "SORT_ABOVE", bound)
            found.append(draw(scores, where=where, alpha=1.0, draws=30, key=jax.random.key(2)))
    sorted_, compared = found
    assert_array_equal(sorted_.ranks, compared.ranks)
    assert_allclose(sorted_.log_chances, compared.log_chances, rtol=1e-9)


def test_for_two_documents_the_drawing_model_is_the_boltzmann_distribution_itself():
    """Both give the first document the first rank with the odds e^(2 alpha (f_1 - f_2)): all weights are equal."""
    two = {"where": jnp.asarray([True, True]), "alpha": 0.8}
    scores = jnp.asarray([0.9, 0.2])
    drawn = draw(scores, **two, draws=50, key=jax.random.key(0))
    weights = -energies(scores, drawn.ranks, **two) - drawn.log_chances
    assert_allclose(weights, weights[0])
    assert len(np.unique(np.asarray(drawn.log_chances))) == 2


def test_ranks_are_permutations_and_padding_has_none():
    drawn = draw(jnp.asarray(SCORES), where=jnp.asarray(WHERE), alpha=2.0, draws=50, key=jax.random.key(1))
    assert_array_equal(np.sort(np.asarray(drawn.ranks), axis=1), np.tile(np.arange(6.0), (50, 1)))
    assert_array_equal(drawn.ranks[:, 5], 0)


def test_the_gradient_converges_to_that_of_the_exact_expectation():
    masked = {"where": jnp.asarray(WHERE), "alpha": 2.0}

    def by_enumeration(scores):
        energy = energies(scores, jnp.asarray(ORDERS), **masked)
        return expectation(jnp.asarray(ndcg_of_all()), energy, jnp.zeros(120))

    def by_draws(scores):
        return expected_ndcg(scores, jnp.asarray(LABELS), **masked, draws=200_000, key=jax.random.key(0))

    exact_slope, slope = (jax.grad(each)(jnp.asarray(SCORES)) for each in (by_enumeration, by_draws))
    assert_allclose(slope, exact_slope, atol=0.002)
    assert np.max(np.abs(exact_slope)) > 0.02
    for place, step in enumerate(1e-5 * np.eye(6)[:5]):
        above, below = (by_enumeration(jnp.asarray(SCORES + sign * step)) for sign in (1, -1))
        assert_allclose(exact_slope[place], (above - below) / 2e-5, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_scores_far_apart_stay_finite(scale):
    def cost(scores):
        return expected_ndcg(
            scores, jnp.asarray(LABELS), where=jnp.asarray(WHERE), alpha=10.0, draws=20, key=jax.random.key(0)
        )

    value, slope = jax.value_and_grad(cost)(jnp.asarray(scale * SCORES))
    assert np.isfinite(value)
    assert np.all(np.isfinite(slope))
