"""Descent on the whole training set: where it ends, grid points that do not disturb each other, and its methods."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from replirank.data.arrays import RankingData
from replirank.engines import full_batch, quasi_newton
from replirank.engines.full_batch import PlainDescent, block_shapes, descend_together, fewer_lengths, make_blocks
from replirank.engines.quasi_newton import QuasiNewton, uncorrelated
from replirank.errors import ReplirankError
from replirank.losses.listwise import cosine, squared, top_one_divergence
from replirank.methods.base import Task
from replirank.methods.cosine_bayes import CosineBayes
from replirank.methods.cosine_linear import CosineLinear
from replirank.methods.cross_entropy_bayes import CrossEntropyBayes
from replirank.methods.cross_entropy_linear import CrossEntropyLinear
from replirank.methods.families.surrogates import (
    CONVERGED,
    EVEN,
    LOG_SHARES,
    PLAIN,
    SHARES,
    ExpectedGain,
    How,
    MeanSurrogate,
    linear,
    start_from,
)
from replirank.methods.plugin import Plugin
from replirank.methods.squared_bayes import SquaredBayes
from replirank.methods.squared_linear import SquaredLinear
from replirank.models.linear import Linear

GAINS = (0.0, 1.0, 3.0)
EPS = float(np.finfo(np.float32).eps)


def problem(seed=0, lengths=(8,) * 12, features=3):
    """Labels that the features explain in part, so that the losses have a minimum."""
    random = np.random.default_rng(seed)
    documents = sum(lengths)
    x = random.normal(size=(documents, features)).astype(np.float32)
    labels = np.digitize(x[:, 0] - x[:, -1] / 2 + random.normal(size=documents), [-0.7, 0.7])
    return RankingData(x, labels.astype(np.float32), np.cumsum([0, *lengths]), np.arange(len(lengths)))


def slow_problem():
    """Features of different size: plain descent is far from its end after some dozens of epochs."""
    data = problem()
    return replace(data, features=data.features * np.array([3, 1, 0.1], np.float32))


def task(data, method, validate=lambda scores: 0.0, plan=None):
    shared = method.share(data, plan or method.plan([data]))
    return Task(data, data, seed=1, validate=validate, report=lambda text: None, shared=shared)


def in_float64(blocks):
    return jax.tree.map(lambda each: each if each.dtype == bool else jnp.asarray(np.asarray(each, np.float64)), blocks)


# The blocks


def test_the_cheapest_lengths_are_padded():
    """9 to 10 costs 3 documents, 10 to 20 costs 10 (then 40, of four), 20 to 100 costs 80."""
    queries_of = {9: 3, 10: 1, 20: 1, 100: 5}
    assert fewer_lengths(queries_of, most=3) == [10, 20, 100]
    assert fewer_lengths(queries_of, most=2) == [20, 100]
    assert fewer_lengths({}) == []


def test_every_document_of_a_query_with_a_pair_is_there_once():
    lengths = (5, 9, 1, 30, 9, 4, 70, 12)
    data = problem(lengths=lengths)
    data.labels[:5] = 1  # no pair in the first query, nor in the one of one document
    blocks = make_blocks(data, block_shapes([data, problem(1, lengths=(3, 90))]))
    assert len(blocks.labels) <= full_batch.MOST_CLASSES
    there = np.concatenate([np.asarray(where).ravel() for where in blocks.where])
    kept = np.r_[5:14, 15 : data.documents]
    found = np.asarray(blocks.inputs).T[there]
    order = np.lexsort(found.T)
    expected = np.append(data.features[kept], np.ones((len(kept), 1), np.float32), axis=1)
    assert_array_equal(found[order], expected[np.lexsort(expected.T)])
    assert_array_equal(np.asarray(blocks.inputs).T[~there], 0)
    assert blocks.queries == len(lengths) - 2
    for labels, where in zip(blocks.labels, blocks.where, strict=True):
        for of_query, filled in zip(np.asarray(labels), np.asarray(where), strict=True):
            assert not filled.any() or np.ptp(of_query[filled]) > 0


# The surrogates


def by_hand(surrogate, scores, labels, alpha):
    """Eq. 10, 11 and 14 for one query, in NumPy."""
    if surrogate is cosine:
        return (1 - scores @ labels / np.linalg.norm(scores) / np.linalg.norm(labels)) / 2
    if surrogate is squared:
        return ((labels - scores) ** 2).sum()
    target, chance = (np.exp(each) / np.exp(each).sum() for each in (alpha * labels, scores))
    return (target * np.log(target / chance)).sum()


def chances(logits, epsilon):
    """Eq. 12 and section 6.2 for one document."""
    p = np.exp(logits) / np.exp(logits).sum()
    return (p > epsilon).astype(float) if p.max() > epsilon else p


@pytest.mark.parametrize("surrogate", [cosine, top_one_divergence, squared], ids=lambda each: each.__name__)
@pytest.mark.parametrize("function", [linear, ExpectedGain(GAINS)], ids=["linear", "bayes"])
def test_the_mean_surrogate_by_hand_and_its_slope_by_differences(surrogate, function):
    data, alphas, epsilons = problem(lengths=(5, 7)), [0.5, 2.0, 1.0], [1.0, 0.8, 0.6]
    outputs = 1 if function is linear else 3
    params = np.random.default_rng(1).normal(size=(outputs, 3, 4))
    with jax.enable_x64(True):
        blocks = in_float64(make_blocks(data, block_shapes([data])))
        hyper = {} if function is linear else {"epsilon": jnp.array(epsilons)}
        if surrogate is top_one_divergence:
            hyper["alpha"] = jnp.array(alphas)
        objective = jax.jit(lambda params: MeanSurrogate(surrogate, function)(params, hyper, blocks))
        values = np.asarray(objective(jnp.asarray(params)))
        slope = np.asarray(jax.grad(lambda params: objective(params).sum())(jnp.asarray(params)))
        for lane, (alpha, epsilon) in enumerate(zip(alphas, epsilons, strict=True)):
            logits = data.features.astype(np.float64) @ params[:, lane, :-1].T + params[:, lane, -1]
            scores = logits[:, 0] if outputs == 1 else np.array([chances(each, epsilon) @ GAINS for each in logits])
            costs = [by_hand(surrogate, scores[rows], data.labels[rows].astype(np.float64), alpha) for rows in data]
            assert_allclose(values[lane], np.mean(costs), rtol=1e-10)
        for place in np.ndindex(params.shape):
            ahead, back = params.copy(), params.copy()
            ahead[place] += 1e-5
            back[place] -= 1e-5
            difference = (np.asarray(objective(ahead)) - np.asarray(objective(back))) / 2e-5
            assert_allclose(difference[place[1]], slope[place], atol=1e-6)
            assert_array_equal(np.delete(difference, place[1]), 0)  # no lane feels another's parameters


def test_a_certain_document_has_no_gradient():
    """P = e/(e + 1) = .73 of the upper level: certain for an epsilon of .7, not for .8."""
    logits = jnp.array([[[0.0], [0.0]], [[1.0], [1.0]]])  # (levels, points, documents)
    hyper = {"epsilon": jnp.array([0.7, 0.8])}
    function = ExpectedGain((0.0, 1.0))
    assert_allclose(function(logits, hyper), [[1.0], [1 / (1 + np.exp(-1))]], rtol=1e-6)
    slope = jax.grad(lambda logits: function(logits, hyper).sum())(logits)
    p = 1 / (1 + np.exp(-1))
    assert_allclose(slope[..., 0], [[0, -p * (1 - p)], [0, p * (1 - p)]], rtol=1e-6)


# Where descent ends


def test_squared_linear_ends_at_least_squares():
    data = problem()
    fit = SquaredLinear().fit(task(data, SquaredLinear))
    inputs = np.append(data.features, np.ones((data.documents, 1)), axis=1).astype(np.float64)
    solution, residual, *_ = np.linalg.lstsq(inputs, data.labels.astype(np.float64), rcond=None)
    assert_allclose(fit.history["loss"].iloc[-1], residual[0] / data.queries, rtol=1e-6)
    assert_allclose(fit.model.weights, solution[:-1], atol=1e-5)


def test_plugin_ends_at_logistic_regression():
    data = problem(lengths=(8,) * 30)
    fit = Plugin().fit(task(data, Plugin))
    peer = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(data.features, data.labels)
    assert_allclose(fit.model.score(data), peer.predict_proba(data.features) @ GAINS, atol=0.002)
    observed = peer.predict_proba(data.features)[np.arange(data.documents), data.labels.astype(int)]
    assert_allclose(fit.history["loss"].iloc[-1], -np.log(observed).mean(), rtol=1e-5)


def nearly_dependent():
    """Two features that are nearly one, as LETOR's are: plain descent needs thousands of steps for their difference."""
    data = problem()
    noise = np.random.default_rng(5).normal(size=(data.documents, 1)).astype(np.float32)
    twin = data.features[:, :1] + 0.01 * noise
    return replace(data, features=np.append(data.features, twin, axis=1))


def test_plain_descent_does_not_get_there_and_quasi_newton_does():
    data = nearly_dependent()
    inputs = np.append(data.features, np.ones((data.documents, 1)), axis=1).astype(np.float64)
    _, (residual,), *_ = np.linalg.lstsq(inputs, data.labels.astype(np.float64), rcond=None)
    work, least = task(data, SquaredLinear), residual / data.queries
    ends = {
        optimizer: SquaredLinear.solve([SquaredLinear(epochs=200)], work, How(optimizer))[0].history
        for optimizer in (PLAIN, CONVERGED)
    }
    assert ends[PLAIN]["loss"].iloc[-1] > least * 1.001
    assert_allclose(ends[CONVERGED]["loss"].iloc[-1], least, rtol=1e-6)
    assert ends[CONVERGED]["epoch"].iloc[-1] < 30


def test_uncorrelated_coordinates():
    """Second moments are 1 and 0; a repeated feature has no coordinate of its own; scores stay what they were."""
    data = problem()
    data = replace(data, features=np.append(data.features, data.features[:, :1], axis=1))
    blocks = make_blocks(data, block_shapes([data]))
    coordinates = uncorrelated(blocks)
    inputs, rotated = (np.asarray(each.inputs, np.float64) for each in (blocks, coordinates.blocks))
    moments = rotated @ rotated.T / data.documents
    assert_allclose(moments, np.diag([0, 1, 1, 1, 1]), atol=1e-5)
    params = np.random.default_rng(0).normal(size=(2, 5))
    assert_allclose(coordinates.of(params) @ rotated, params @ inputs, atol=1e-5)
    assert_allclose(coordinates.back(coordinates.of(params)) @ inputs, params @ inputs, atol=1e-5)


def test_the_first_quasi_newton_steps_by_arithmetic():
    """(1 - w - b)^2 + b^2 again, from 0: a tenth along (1, 1) / sqrt 2, then as far as one known curvature says."""
    data = RankingData(
        np.array([[1.0], [0.0]], np.float32), np.array([1, 0], np.float32), np.array([0, 2]), np.array([7])
    )
    blocks, objective = make_blocks(data, block_shapes([data])), MeanSurrogate(squared, linear)
    state = QuasiNewton().begin(objective, np.zeros((1, 1, 2), np.float32), {}, blocks, np.array([9]))
    one = QuasiNewton().run(state, {}, blocks, 1, objective=objective)
    move = 0.1 / 2**0.5
    assert_allclose(one.params, [[[move, move]]], rtol=1e-6)
    gradient = np.array([-2 * (1 - 2 * move), -2 * (1 - 2 * move) + 2 * move])
    assert_allclose(one.gradient[0, 0], gradient, rtol=1e-5)
    # BFGS with the one move s and turn y, from the scaled identity (s.y / y.y): Nocedal and Wright, Eq. 7.16 and 7.20.
    s, y = np.array([move, move]), gradient - [-2, -2]
    rho = 1 / (s @ y)
    left = np.eye(2) - rho * np.outer(s, y)
    inverse = left @ (s @ y / (y @ y) * np.eye(2)) @ left.T + rho * np.outer(s, s)
    assert_allclose(one.direction[0, 0], -inverse @ gradient, rtol=1e-4)


def test_the_first_steps_by_arithmetic():
    """One query of labels 1 and 0, whose only feature is 1 and 0: (1 - w - b)^2 + b^2."""
    data = RankingData(
        np.array([[1.0], [0.0]], np.float32), np.array([1, 0], np.float32), np.array([0, 2]), np.array([7])
    )
    blocks = make_blocks(data, block_shapes([data]))
    objective, plain = MeanSurrogate(squared, linear), PlainDescent()
    state = plain.begin(objective, np.zeros((1, 1, 2), np.float32), {}, blocks, np.array([9]))
    assert_allclose(state.loss, [1])
    assert_allclose(state.gradient, [[[-2, -2]]])
    length = (((1 + 1) + (0 + 1)) / 2) ** 0.5  # the root mean square of the two documents' inputs (1, 1) and (0, 1)
    assert_allclose(state.step, [1 / (8**0.5 * length)], rtol=1e-6)

    def loss_after(step):
        """Weight and offset are both 2 step, so the scores are twice that and once that."""
        return (1 - 4 * step) ** 2 + (2 * step) ** 2

    # The slope promises 8 step, of which three tenths must come true: the first step gives less and is taken back.
    whole, half = state.step[0], state.step[0] / 2
    assert loss_after(whole) > 1 - 0.3 * 8 * whole
    one = plain.run(state, {}, blocks, 1, objective=objective)
    assert_array_equal(one.params, state.params)
    assert_array_equal(one.loss, state.loss)
    assert_allclose(one.step, [half])
    assert loss_after(half) < 1 - 0.3 * 8 * half
    two = plain.run(one, {}, blocks, 1, objective=objective)
    assert_allclose(two.params, [[[2 * half, 2 * half]]], rtol=1e-6)
    assert_allclose(two.loss, [loss_after(half)], rtol=1e-5)
    assert_allclose(two.step, [half * 1.25])


@pytest.mark.parametrize(
    ("surrogate", "alphas"),
    [(cosine, None), (squared, None), (top_one_divergence, [0.1, 1, 10])],
    ids=["cos", "sq", "ce"],
)
@pytest.mark.parametrize("optimizer", [PlainDescent(), QuasiNewton()], ids=["plain", "quasi-newton"])
def test_the_loss_never_grows(surrogate, alphas, optimizer):
    """Not even where documents become certain and the loss jumps."""
    data = problem()
    hyper = {"epsilon": np.array([0.6, 0.8, 1.0], np.float32)}
    if alphas:
        hyper["alpha"] = np.array(alphas, np.float32)
    objective, blocks = MeanSurrogate(surrogate, ExpectedGain(GAINS)), make_blocks(data, block_shapes([data]))
    start = np.random.default_rng(0).normal(size=(3, 3, 4)).astype(np.float32)
    state = optimizer.begin(objective, start, hyper, blocks, np.full(3, 100))
    losses = [state.loss]
    for _ in range(60):
        state = optimizer.run(state, hyper, blocks, 1, objective=objective)
        losses.append(state.loss)
    assert (np.diff(losses, axis=0) <= 0).all()
    assert (losses[-1] < losses[0]).all()


def test_a_feature_that_is_no_number_is_an_error():
    data = problem()
    data.features[3, 1] = np.inf
    with pytest.raises(ReplirankError, match="a feature is not a finite number"):
        SquaredLinear().fit(task(data, SquaredLinear))


def test_a_loss_that_is_no_number_is_an_error():
    data = problem()
    data.labels[3] = 1e30
    with pytest.raises(ReplirankError, match="the training loss is not finite"):
        SquaredLinear().fit(task(data, SquaredLinear))


@pytest.mark.parametrize("method", [CosineLinear, SquaredLinear])
def test_without_any_pair_nothing_is_learnt(method):
    data = problem()
    data = replace(data, labels=np.ones_like(data.labels))
    fit = method(epochs=10).fit(task(data, method))
    assert_array_equal(fit.model.weights, 0)
    assert fit.history["epoch"].tolist() == [0]  # and no further
    assert fit.history["slope"].tolist() == [0]


# What is kept


def test_the_end_and_the_best_validated_step_are_both_told():
    values = iter([0.0, 0.1, 0.3, 0.3, 0.2])
    seen = []

    def score(params):
        seen.append(params[:, 0].copy())
        return params[-1]

    data = slow_problem()
    (solution,) = descend_together(
        PlainDescent(),
        MeanSurrogate(cosine, linear),
        np.zeros((1, 1, 4), np.float32),
        {},
        make_blocks(data, block_shapes([data])),
        score=score,
        task=task(data, CosineLinear, lambda scores: next(values)),
        epochs=np.array([18]),
    )
    assert solution.history["epoch"].tolist() == [0, 5, 10, 15, 18]
    assert solution.history["validation"].tolist() == [0.0, 0.1, 0.3, 0.3, 0.2]
    assert_array_equal(solution.params, seen[4])
    assert_array_equal(solution.best, seen[2])  # the first of equals
    assert not np.allclose(solution.best, solution.params)


def test_the_methods_keep_where_descent_ends():
    data = problem()
    falling = iter(np.linspace(1, 0, 100))
    work = task(data, CosineLinear, lambda scores: next(falling))
    fit = CosineLinear().fit(work)
    (solution,) = CosineLinear.solve([CosineLinear()], task(data, CosineLinear), How())
    assert_array_equal(fit.model.weights, solution.params[0, :-1])


# The warm start, and epsilon


def rare(relevant=10, documents=400):
    """Few relevant documents among many, as in TD2003, that one feature finds in part."""
    random = np.random.default_rng(3)
    labels = np.zeros(documents, np.float32)
    labels[:: documents // relevant] = 1
    x = random.normal(size=(documents, 3)).astype(np.float32) + labels[:, None] * np.array([1.5, 0.5, 0], np.float32)
    return RankingData(x, labels, np.arange(0, documents + 1, 40), np.arange(documents // 40))


BAYES = [CosineBayes, SquaredBayes, CrossEntropyBayes]


@pytest.mark.parametrize("start", [SHARES, EVEN, LOG_SHARES])
@pytest.mark.parametrize("data", [problem(), rare()], ids=["three levels", "two levels"])
def test_the_warm_start_ranks_as_the_linear_solution(start, data):
    shared = task(data, SquaredLinear).shared
    linear = np.array([[1.0, -0.5, 0.3, 0.2], [-2.0, 1.0, 0.1, 0.0]], np.float32)
    inputs = np.append(data.features, np.ones((data.documents, 1)), axis=1)
    params = start_from(linear, shared, start)
    gains = np.array(GAINS[: len(shared.levels)])
    for point, weights in enumerate(linear):
        logits = (inputs @ params[:, point].T.astype(np.float64)).T
        expected = (np.exp(logits) * gains[:, None]).sum(axis=0) / np.exp(logits).sum(axis=0)
        assert_array_equal(np.argsort(expected), np.argsort(inputs @ weights.astype(np.float64)))


def test_the_start_puts_each_levels_share_of_the_documents_above_its_boundary():
    """As many documents are likelier of the upper level as have it; the last of them is at even odds."""
    data = rare()
    params = start_from(np.array([[1.0, 0.5, 0.0, 0.0]], np.float32), task(data, SquaredLinear).shared, SHARES)
    inputs = np.append(data.features, np.ones((data.documents, 1)), axis=1)
    gap = np.sort(inputs @ (params[1, 0] - params[0, 0]).astype(np.float64))[::-1]
    relevant = int(data.labels.sum())
    assert_allclose(gap[relevant - 1], 0, atol=1e-5)
    assert (gap[: relevant - 1] > 0).all()
    assert (gap[relevant:] < 0).all()
    assert_allclose(gap.std(), 1, rtol=1e-5)


@pytest.mark.parametrize("method", BAYES)
@pytest.mark.parametrize("data", [problem(), rare()], ids=["three levels", "two levels"])
def test_every_epsilon_moves(method, data):
    """The gradient at the start is not 0, the loss falls, and the ranking function is no longer the linear one."""
    points, work = [method(epsilon=epsilon) for epsilon in method.grid["epsilon"]], task(data, method)
    how = How()
    (solved,) = method.linear.solve([method.linear_point(points[0])], work, how)
    start = start_from(solved.params, work.shared, how.start)[:, 0]
    for solution in method.solve(points, work, how):
        assert solution.history["slope"].iloc[0] > 0
        assert solution.history["loss"].iloc[-1] < solution.history["loss"].iloc[0]
        assert not np.allclose(solution.params, start, atol=1e-3)


def test_log_shares_leave_nothing_to_descend():
    """The start as it was: level 0 is certain before the first step, for all documents and every epsilon below 1."""
    data = rare()
    work = task(data, SquaredBayes)
    points = [SquaredBayes(epsilon=epsilon) for epsilon in (0.6, 0.7, 0.8, 0.9, 1.0)]
    slopes = [each.history["slope"].iloc[0] for each in SquaredBayes.solve(points, work, How(start=LOG_SHARES))]
    assert slopes[:4] == [0, 0, 0, 0]
    assert slopes[4] > 0


def test_the_number_of_the_lowest_level():
    """Numbering levels from 1 moves a linear function's offset, and makes the gains 1, 3 and 7."""
    data = problem()
    work = task(data, SquaredLinear)
    from_0, from_1 = (SquaredLinear.solve([SquaredLinear()], work, How(lowest=n))[0].params[0] for n in (0, 1))
    assert_allclose(from_1, from_0 + np.array([0, 0, 0, 1]), atol=1e-5)
    assert SquaredBayes.gains(work, How(lowest=1)) == (1.0, 3.0, 7.0)
    again = task(replace(data, labels=data.labels + 1), SquaredBayes)
    one, other = (
        SquaredBayes.solve([SquaredBayes(epsilon=1.0)], *each)[0].history["loss"].to_numpy()
        for each in ((task(data, SquaredBayes), How(lowest=1)), (again, How()))
    )
    assert_allclose(one[0], other[0], rtol=1e-5)


# Grid points


def run(data, alphas, epsilons, optimizer=None, **options):
    """Descent on the cross entropy of the Bayes-optimal function in float64, from a fixed start."""
    start = np.random.default_rng(0).normal(size=(3, 1, 4)).repeat(len(alphas), axis=1)
    with jax.enable_x64(True):
        return descend_together(
            optimizer or PlainDescent(),
            MeanSurrogate(top_one_divergence, ExpectedGain(GAINS)),
            start,
            {"alpha": np.array(alphas), "epsilon": np.array(epsilons)},
            in_float64(make_blocks(data, block_shapes([data]))),
            score=lambda params: params[-1] @ full_batch.with_offset(data),
            task=task(data, CrossEntropyBayes),
            **options,
        )


@pytest.mark.parametrize("optimizer", [PlainDescent(), QuasiNewton()], ids=["plain", "quasi-newton"])
def test_a_lane_is_what_it_would_be_alone(optimizer):
    """In float64: a line search multiplies the last bits, which depend on the width of a matrix product."""
    alphas, epsilons = [0.3, 1.0, 5.0, 1.0], [1.0, 1.0, 0.9, 0.6]
    together = run(slow_problem(), alphas, epsilons, optimizer, epochs=np.full(4, 40))
    for alpha, epsilon, lane in zip(alphas, epsilons, together, strict=True):
        (alone,) = run(slow_problem(), [alpha], [epsilon], optimizer, epochs=np.array([40]))
        assert_array_equal(lane.history["epoch"], alone.history["epoch"])
        assert_allclose(lane.history["loss"], alone.history["loss"], rtol=1e-9)
        assert_allclose(lane.params, alone.params, atol=1e-6)
    assert len({lane.history["loss"].iloc[-1] for lane in together}) == len(alphas)


@pytest.mark.parametrize("optimizer", [PlainDescent(), QuasiNewton()], ids=["plain", "quasi-newton"])
def test_dropping_finished_grid_points_changes_nothing(optimizer):
    data, alphas, epochs = slow_problem(), np.linspace(0.5, 3, 8), np.array([5, 25, 5, 5, 12, 5, 25, 5])
    kept, dropped = (run(data, alphas, np.ones(8), optimizer, epochs=epochs, drop=drop) for drop in (False, True))
    for one, other, limit in zip(kept, dropped, epochs, strict=True):
        assert one.history["epoch"].iloc[-1] == other.history["epoch"].iloc[-1] == limit
        assert_allclose(one.history["loss"], other.history["loss"], rtol=1e-9)
        assert_allclose(one.params, other.params, atol=1e-6)


def test_fits_are_in_the_order_of_their_points():
    """In float32, whose divergences are sums of differences of logarithms down to -10."""
    points = [CrossEntropyBayes(5, epsilon, alpha) for epsilon in (0.6, 1.0) for alpha in (1.0, 2.0, 5.0)]
    work = task(slow_problem(), CrossEntropyBayes)
    together = CrossEntropyBayes.fit_together(points, work)
    for point, fit in zip(points, together, strict=True):
        alone = point.fit(work)
        assert_allclose(fit.history["loss"], alone.history["loss"], rtol=1e-5, atol=10 * EPS)
    last = [fit.history["loss"].iloc[-1] for fit in together]
    assert np.diff(np.sort(last)).min() > 1e-4


@pytest.mark.parametrize(
    ("live", "size"),
    [([1, 1, 1, 1, 1, 1, 1, 0], 8), ([0, 1, 0, 1, 0, 1, 0, 1], 4), ([0] * 20 + [1] + [0] * 19, 5), ([1, 0, 0, 0], 4)],
)
def test_grid_points_are_halved_as_long_as_the_live_ones_fit(live, size):
    live = np.array(live, dtype=bool)
    places = full_batch._places(live, drop=True)
    assert len(places) == len(set(places)) == size
    assert set(np.flatnonzero(live)) <= set(places)


# Folds


def test_folds_share_one_compilation():
    folds = [problem(0), problem(1, lengths=(8,) * 9), problem(2, lengths=(8, 6, 1, 7))]
    plan = CrossEntropyLinear.plan(iter(folds))
    quasi_newton._epochs.clear_cache()
    compiled = []

    def listen(event, duration, **about):
        if event.endswith("backend_compile_duration") and "_epochs" in about.get("fun_name", ""):
            compiled.append(about["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for fold in folds:
            points = [CrossEntropyLinear(10, alpha) for alpha in (0.1, 1.0)]
            CrossEntropyLinear.fit_together(points, task(fold, CrossEntropyLinear, plan=plan))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == ["jit(_epochs)"]


@pytest.mark.parametrize("method", [CosineLinear, Plugin])
def test_shapes_shared_with_other_folds_change_nothing(method):
    fold, other = problem(0), problem(1, lengths=(9, 40, 100))
    plan = method.plan([other, fold])
    assert plan.classes != method.plan([fold]).classes
    alone = method(epochs=20).fit(task(fold, method))
    together = method(epochs=20).fit(task(fold, method, plan=plan))
    assert_allclose(together.history["loss"].iloc[-1], alone.history["loss"].iloc[-1], rtol=1e-5)
    assert_allclose(together.model.score(fold), alone.model.score(fold), atol=1e-4)


def test_the_offset_is_learnt_but_not_kept():
    """Labels far from 0: without an offset, squares would bend the weights to reach them."""
    data = problem()
    far = replace(data, labels=data.labels + 5)
    near, moved = (SquaredLinear().fit(task(each, SquaredLinear)) for each in (data, far))
    assert isinstance(near.model, Linear)
    assert_allclose(moved.model.weights, near.model.weights, atol=1e-5)
