"""The pseudo-likelihood of energyndcg2011, against energies of whole assignments, arithmetic and finite differences."""

import itertools
from math import exp, log, log2

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines.batches import make_batches, pair_shapes
from replirank.engines.stochastic import Query
from replirank.losses.energy import (
    map_swaps,
    minus_log_likelihood,
    ndcg_swaps,
    optimal_order,
    rank_difference,
    rank_logits,
    rank_logits_of_reading,
)
from replirank.methods.boltzrank import BoltzRank
from replirank.methods.energyndcg import EnergyNDCG
from replirank.methods.families.energy import PseudoLikelihood, share_in_feature_order
from replirank.models.linear import Linear

LABELS = np.array([2.0, 1.0, 1.0, 0.0, 0.0])
SCORES = np.array([0.3, 1.1, -0.4, 0.8, -1.2])
ALPHA = 0.7


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.enable_x64(True):
        yield


def arguments(labels, where=None, **rest):
    where = np.ones(len(labels), dtype=bool) if where is None else where
    return {"where": jnp.asarray(where), "ranks": len(labels), "alpha": ALPHA, **rest}


def logits_of(scores, labels, **rest):
    return np.asarray(rank_logits(jnp.asarray(scores), jnp.asarray(labels), **arguments(labels, **rest)))


def cost_of(scores, labels, **rest):
    return minus_log_likelihood(
        jnp.asarray(scores), jnp.asarray(labels), **arguments(labels, documents=len(labels), **rest)
    )


# Metrics of an assignment, in which two documents may have one rank


def dcg(ranks, labels):
    return np.sum(2**labels / np.log2(1 + ranks))


def average_precision(ranks, labels):
    relevant = labels > 0
    shares = [np.sum(relevant & (ranks <= rank)) / rank for rank in ranks[relevant]]
    return sum(shares) / max(relevant.sum(), 1)


METRICS = {"ndcg": (ndcg_swaps, dcg), "map": (map_swaps, average_precision)}


def energy(ranks, scores, labels, width, metric):
    """Section II.B: the sum over pairs of neighbours of |what a swap changes| times (score below - score above)."""
    total = 0.0
    for u, v in itertools.permutations(range(len(ranks)), 2):
        if ranks[u] > ranks[v] and abs(u - v) <= width:
            swapped = ranks.copy()
            swapped[[u, v]] = ranks[[v, u]]
            change = abs(metric(swapped, labels) - metric(ranks, labels))
            total += ALPHA * change * (scores[u] - scores[v])
    return total


def probabilities(scores, labels, width, metric, document):
    """From the energy of every assignment in which only this document's rank varies."""
    energies = []
    for rank in range(1, len(labels) + 1):
        ranks = np.arange(1.0, len(labels) + 1)
        ranks[document] = rank
        energies.append(energy(ranks, scores, labels, width, metric))
    weights = np.exp(-np.array(energies))
    return weights / weights.sum()


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("labels", [LABELS, [2, 2, 1, 1, 0], [3, 0, 0, 0, 0], [4, 3, 2, 1, 0]])
def test_probabilities_of_ranks_are_those_of_the_energies_of_assignments(width, labels):
    labels = np.asarray(labels, dtype=float)
    found = jax.nn.softmax(logits_of(SCORES, labels, metric=ndcg_swaps, width=width), axis=1)
    assert_allclose(np.sum(found, axis=1), 1)
    for document in range(5):
        assert_allclose(found[document], probabilities(SCORES, labels, width, dcg, document), rtol=1e-12)


def own_pairs(scores, labels, width, metric, document):
    """As `probabilities`, from the pairs of which the document is one, as Eq. 12 has it.

    With NDCG the others are constants; with average precision what their swaps change depends on all ranks.
    """
    energies = []
    for rank in range(1, len(labels) + 1):
        ranks = np.arange(1.0, len(labels) + 1)
        ranks[document] = rank
        total = 0.0
        for other in range(len(labels)):
            if other != document and abs(other - document) <= width:
                swapped = ranks.copy()
                swapped[[document, other]] = ranks[[other, document]]
                change = abs(metric(swapped, labels) - metric(ranks, labels))
                total += ALPHA * change * np.sign(rank - ranks[other]) * (scores[document] - scores[other])
        energies.append(total)
    weights = np.exp(-np.array(energies))
    return weights / weights.sum()


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("labels", [LABELS, [2, 2, 1, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
def test_any_metric_can_take_the_place_of_ndcg(width, name, labels):
    swaps, metric = METRICS[name]
    labels = np.asarray(labels, dtype=float)
    found = jax.nn.softmax(logits_of(SCORES, labels, metric=swaps, width=width), axis=1)
    for document in range(5):
        assert_allclose(found[document], own_pairs(SCORES, labels, width, metric, document), rtol=1e-11)


def test_with_rank_differences_and_all_as_neighbours_log_odds_are_boltzranks():
    """Section IV: of two ranks of a document, the difference of Eq. 3's energies, the other ranks being held."""

    def boltzrank(ranks):
        pairs = [(u, v) for u, v in itertools.permutations(range(5), 2) if ranks[u] > ranks[v]]
        return 2 * ALPHA / (5 * 4) * sum((ranks[u] - ranks[v]) * (SCORES[u] - SCORES[v]) for u, v in pairs)

    logits = logits_of(SCORES, LABELS, metric=rank_difference, width=float("inf"))
    for document in range(5):
        assignments = np.tile(np.arange(1.0, 6), (5, 1))
        assignments[:, document] = np.arange(1, 6)
        energies = [boltzrank(ranks) for ranks in assignments]
        assert_allclose(logits[document] - logits[document, 0], energies[0] - np.array(energies), atol=1e-12)


def test_two_documents_by_arithmetic():
    """S = alpha |2^2 - 2^0| (f_1 - f_2); each document has its own rank with odds e^(S (1 - 1 / log2(3)))."""
    strength = ALPHA * 3 * (0.5 - 0.2)
    expected = 2 * log(1 + exp(-strength * (1 - 1 / log2(3))))
    assert_allclose(cost_of([0.5, 0.2], [2.0, 0.0], metric=ndcg_swaps, width=1), expected)


@pytest.mark.parametrize("name", METRICS)
def test_a_pair_of_equal_labels_adds_nothing_whatever_its_ranks(name):
    """Exactly: with one level every rank has the same energy. And the score of an equal does not matter to another."""
    labels = np.full(5, 1.0)
    assert_array_equal(logits_of(SCORES, labels, metric=METRICS[name][0], width=5), 0)
    assert_allclose(cost_of(SCORES, labels, metric=METRICS[name][0], width=5), 5 * log(5))
    other = SCORES.copy()
    other[1] = 9.0
    before, after = (logits_of(scores, LABELS, metric=METRICS[name][0], width=5) for scores in (SCORES, other))
    assert_array_equal(before[2], after[2])
    assert not np.allclose(before[3], after[3])


@pytest.mark.parametrize("swaps", [ndcg_swaps, map_swaps, rank_difference])
@pytest.mark.parametrize("width", [1, 3])
def test_the_likelihood_is_the_product_of_the_probabilities(swaps, width):
    shares = jax.nn.softmax(logits_of(SCORES, LABELS, metric=swaps, width=width), axis=1)
    assert_allclose(cost_of(SCORES, LABELS, metric=swaps, width=width), -np.sum(np.log(np.diagonal(shares))))


@pytest.mark.parametrize("swaps", [ndcg_swaps, map_swaps, rank_difference])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_gradient_agrees_with_finite_differences(swaps, width):
    gradient = jax.grad(lambda scores: cost_of(scores, LABELS, metric=swaps, width=width))(jnp.asarray(SCORES))
    assert np.sum(np.abs(gradient) > 1e-3) >= 2  # there is something to agree on
    for place, step in enumerate(1e-6 * np.eye(5)):
        above, below = (cost_of(SCORES + sign * step, LABELS, metric=swaps, width=width) for sign in (1, -1))
        assert_allclose(gradient[place], (above - below) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("swaps", [ndcg_swaps, map_swaps, rank_difference])
def test_padding_changes_nothing(swaps):
    padded, where = np.append(SCORES, [7.0, -50.0]), np.arange(7) < 5
    labels = np.append(LABELS, [4.0, 1.0])
    rest = {"metric": swaps, "width": 2, "alpha": ALPHA, "documents": 5, "ranks": 7}

    def cost(scores):
        return minus_log_likelihood(scores, jnp.asarray(labels), where=jnp.asarray(where), **rest)

    value, gradient = jax.value_and_grad(cost)(jnp.asarray(padded))
    assert_allclose(value, cost_of(SCORES, LABELS, metric=swaps, width=2))
    assert_array_equal(gradient[5:], 0)


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_large_scores_stay_finite(scale):
    value, gradient = jax.value_and_grad(lambda s: cost_of(s, LABELS, metric=ndcg_swaps, width=5))(scale * SCORES)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


# The optimal order


def test_the_optimal_order_is_by_label_and_equals_come_in_every_order():
    labels, where = jnp.asarray([2.0, 1.0, 1.0, 1.0, 0.0, 9.0]), jnp.arange(6) < 5
    keys = jax.random.split(jax.random.key(0), 300)
    orders = {tuple(optimal_order(labels, where=where, first=5, key=key).tolist()) for key in keys}
    assert orders == {(0, *equal, 4) for equal in itertools.permutations([1, 2, 3])}
    first = optimal_order(labels, where=where, first=2, key=keys[0])
    assert first.tolist() == optimal_order(labels, where=where, first=5, key=keys[0])[:2].tolist()


# The objective


@pytest.mark.parametrize("width", [1, 4])
def test_the_objective_is_the_likelihood_of_a_whole_drawn_order(width):
    """Though it looks only at documents that have neighbours of another label."""
    random = np.random.default_rng(0)
    features = random.normal(size=(30, 3))
    labels = np.sort(np.concatenate([np.zeros(26), [1.0, 1.0, 2.0, 2.0]]))[::-1]
    where = np.arange(32) < 30
    query = Query(
        jnp.asarray(np.pad(features, ((0, 2), (0, 0)))), jnp.asarray(np.pad(labels, (0, 2))), jnp.asarray(where), 5
    )
    model, key = Linear(jnp.asarray([1.0, -0.5, 0.2])), jax.random.key(3)
    hyper = {"width": jnp.asarray(float(width)), "alpha": jnp.asarray(ALPHA)}
    found = PseudoLikelihood(ndcg_swaps, draws=1, widest=4)(model, query, hyper, key)
    order = optimal_order(query.labels, where=query.mask, first=30, key=jax.random.split(key, 1)[0])
    whole = cost_of(model.score_query(query.features[order]), labels, metric=ndcg_swaps, width=width)
    assert_allclose(found, whole, rtol=1e-10)


def test_one_compilation_serves_all_widths_and_alphas_of_the_grid():
    objectives = {EnergyNDCG(width=width, alpha=alpha).objective() for width in (1, 20) for alpha in (0.1, 1.0)}
    assert len(objectives) == 1


def test_wider_than_the_bound_is_not_cut():
    assert EnergyNDCG(width=45).objective().widest == 45


@pytest.mark.parametrize("method", [EnergyNDCG, BoltzRank])
def test_labels_of_strict_orders_are_refused_since_gains_would_be_infinite(method):
    assert method.unsupported(ranking(np.zeros((3, 1)), [4, 1, 0])) is None
    strict_order = ranking(np.zeros((200, 1)), np.arange(200))
    assert method.unsupported(strict_order) == "gains of 2^label are too large for labels up to 199"


def test_batches_do_not_depend_on_the_order_in_which_documents_came():
    random = np.random.default_rng(0)
    features, labels = random.integers(0, 2, (12, 3)), random.integers(0, 3, 12)  # some differ in their labels only
    order = random.permutation(12)
    one, other = ranking(features, labels), ranking(features[order], labels[order])
    shapes = pair_shapes([one])
    assert_array_equal(share_in_feature_order(one, shapes).features, share_in_feature_order(other, shapes).features)
    assert not np.array_equal(make_batches(one, shapes).features, make_batches(other, shapes).features)


# Other readings


def to_the_letter(**rest):
    where = jnp.ones(5, dtype=bool)
    return np.asarray(
        rank_logits_of_reading(jnp.asarray(SCORES), jnp.asarray(LABELS), where=where, alpha=ALPHA, **rest)
    )


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("moving", [True, False])
def test_the_readings_by_a_double_loop(width, signed, moving):
    """Minus the sums of Eq. 12, term by term; |change| is turned so that the higher place wants the higher score."""
    expected = np.zeros((5, 5))
    gains, discounts = 2**LABELS, 1 / np.log2(np.arange(2.0, 7.0))
    for i, k, j in itertools.product(range(5), repeat=3):
        if j == i or abs(j - (k if moving else i)) > width:
            continue
        change = (gains[i] - gains[j]) * (discounts[k] - discounts[j])
        if not signed:
            change = -abs(gains[i] - gains[j]) * (discounts[k] - discounts[j])
        expected[i, k] -= ALPHA * change * (SCORES[i] - SCORES[j])
    found = to_the_letter(width=width, signed=signed, moving=moving)
    assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-12)


def test_without_a_reading_of_its_own_it_is_ours():
    found, ours = (
        to_the_letter(width=2, signed=False, moving=False),
        logits_of(SCORES, LABELS, metric=ndcg_swaps, width=2),
    )
    assert_allclose(found, ours, rtol=1e-12)


def test_with_signs_two_documents_want_the_same_rank_whatever_their_scores():
    """(2^l_u - 2^l_v)(f_u - f_v) is the same for both: Eq. 5 to the letter cannot prefer one order to the other."""
    labels, both = jnp.asarray([2.0, 0.0]), jnp.ones(2, dtype=bool)
    for scores in ([0.9, 0.3], [0.3, 0.9]):
        first, second = rank_logits_of_reading(
            jnp.asarray(scores), labels, where=both, width=1.0, alpha=ALPHA, signed=True, moving=False
        )
        assert_array_equal(first, second)
        assert first[0] != first[1]
