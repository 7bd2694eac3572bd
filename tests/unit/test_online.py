"""PRank and averages of it: each update, what is learned, what is kept, and that the engine's shapes change nothing."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ranking
from numpy.testing import assert_allclose, assert_array_equal

from replirank.engines import online
from replirank.engines.online import ExampleShapes, Perceptrons, draw, example_shapes, make_examples, update
from replirank.errors import ReplirankError
from replirank.methods.base import Task
from replirank.methods.oap_bpm import OAPBPM
from replirank.methods.prank import PRank
from replirank.methods.prank_quadratic import PRankQuadratic
from replirank.models.quadratic import expand

EVERY = pytest.mark.parametrize("method", [PRank, PRankQuadratic, OAPBPM])


def problem(seed=0, lengths=(9, 12, 10, 6, 11, 5), levels=3):
    """Labels that the features explain in part. Features are multiples of 1/8: sums of them are exact in float32."""
    random = np.random.default_rng(seed)
    x = random.integers(-16, 17, size=(sum(lengths), 3)) / 8
    cuts = np.linspace(-1, 1, levels - 1) if levels > 2 else [0.0] * (levels - 1)
    labels = np.digitize(x[:, 0] - x[:, -1] / 2 + random.normal(size=len(x)) / 2, cuts)
    return ranking(x, labels, lengths)


def separable(seed=0, count=60):
    """Three levels of x . (1, -1, .5) with a margin between them."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (10 * count, 3)).astype(np.float32)
    scores = x @ np.array([1, -1, 0.5])
    x, scores = ((each[np.abs(np.abs(scores) - 0.5) > 0.1])[:count] for each in (x, scores))
    return ranking(x, np.digitize(scores, [-0.5, 0.5]), [10] * (count // 10))


def task(data, validate=lambda scores: 0.0, seed=1, report=lambda text: None, shapes=None):
    shared = make_examples(data, shapes)
    return Task(train=data, vali=data, seed=seed, validate=validate, report=report, shared=shared)


# Without JAX: one perceptron after another, one threshold after another


def prank(x, rank, w, b):
    """Crammer and Singer 2001, Fig. 2, as they wrote it."""
    score = sum(wi * xi for wi, xi in zip(w, x, strict=True))
    moves = [0.0] * len(b)
    for r in range(len(b)):
        y = 1.0 if rank > r else -1.0
        if (score - b[r]) * y <= 0:
            moves[r] = y
    return [wi + sum(moves) * xi for wi, xi in zip(w, x, strict=True)], [br - m for br, m in zip(b, moves, strict=True)]


def predicted(x, w, b):
    """The first level whose threshold is above the score; the last has none."""
    score = sum(wi * xi for wi, xi in zip(w, x, strict=True))
    return next((r for r, br in enumerate(b) if score - br < 0), len(b))


def oap_bpm(rows, ranks, levels, orders, seen):
    """The averaged weights and the loss of each epoch: seen[epoch][visit][perceptron]."""
    count = len(seen[0][0])
    ws = [[0.0] * len(rows[0]) for _ in range(count)]
    bs = [[0.0] * (levels - 1) for _ in range(count)]
    averages, losses = [], []
    for order, coins in zip(orders, seen, strict=True):
        off = 0
        for row, coin in zip(order, coins, strict=True):
            off += abs(predicted(rows[row], np.mean(ws, axis=0), np.mean(bs, axis=0)) - ranks[row])
            for j in range(count):
                if coin[j]:
                    ws[j], bs[j] = prank(rows[row], ranks[row], ws[j], bs[j])
        averages.append(np.mean(ws, axis=0))
        losses.append(off / len(order))
    return averages, losses


def by_double_loop(data, *, seed, epochs, perceptrons, tau, expanded=lambda row: row):
    """What fitting must come to. The examples are taken in the engine's order, which a test below looks at."""
    examples = make_examples(data)
    ranks = (examples.targets > 0).sum(axis=1)
    drawn = [draw(seed, epoch, data.documents, perceptrons) for epoch in range(1, epochs + 1)]
    rows = [expanded(row) for row in examples.features.tolist()]
    return oap_bpm(
        rows, ranks, examples.targets.shape[1] + 1, [d.order for d in drawn], [d.chances < tau for d in drawn]
    )


def states(rows, targets, seen):
    """The engine's perceptrons after each update."""

    def step(perceptrons, now):
        perceptrons = update(perceptrons, *now)
        return perceptrons, perceptrons

    start = Perceptrons(*(jnp.zeros((size.shape[1], seen.shape[1]), rows.dtype) for size in (rows, targets)))
    return jax.jit(lambda *all: jax.lax.scan(step, start, all)[1])(rows, targets, seen)


# Each update


def test_updates_by_hand():
    """Three levels, two thresholds. Comments say w . x - b for each of these."""
    rows = [(1, 0), (1, 1), (0, -1), (1, -2), (3, -1)]
    targets = [(1, 1), (-1, -1), (1, -1), (1, 1), (1, 1)]
    after = [
        ((2, 0), (-1, -1)),  # 0 and 0 for the highest: both are wrong, since nothing is above its threshold yet
        ((2 - 2, 0 - 2), (0, 0)),  # 2 + 1 and 2 + 1 for the lowest: both wrong
        ((0, -2 + 1), (0, 1)),  # 2 and 2 for the middle: the second wrong
        ((0, -1), (0, 1)),  # 2 and 1 for the highest: nothing is wrong
        ((0 + 3, -1 - 1), (0, 0)),  # 1 and 0 for the highest: on the threshold is wrong
    ]
    found = states(jnp.array(rows, float), jnp.array(targets, float), jnp.ones((5, 1), bool))
    assert_array_equal(found.weights[..., 0], [w for w, _ in after])
    assert_array_equal(found.thresholds[..., 0], [b for _, b in after])


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_each_update_is_that_of_a_double_loop(levels):
    with jax.enable_x64(True):
        random = np.random.default_rng(levels)
        rows, ranks = random.normal(size=(200, 4)), random.integers(0, levels, 200)
        targets = np.where(ranks[:, None] > np.arange(levels - 1), 1.0, -1.0)
        seen = random.random((200, 3)) < [0.3, 0.7, 1.0]
        found = states(*map(jnp.asarray, (rows, targets, seen)))
        assert found.weights.dtype == np.float64
    for j in range(3):
        w, b = [0.0] * 4, [0.0] * (levels - 1)
        for visit in range(200):
            if seen[visit, j]:
                w, b = prank(rows[visit], ranks[visit], w, b)
            assert_allclose(found.weights[visit, :, j], w, atol=1e-6, rtol=0)
            assert_array_equal(found.thresholds[visit, :, j], b)


def test_thresholds_stay_in_order():
    """Crammer and Singer 2001, Lemma 1. They start as equals and part as the levels are told apart."""
    random = np.random.default_rng(0)
    ranks = random.integers(0, 6, 500)
    targets = np.where(ranks[:, None] > np.arange(5), 1.0, -1.0)
    found = states(jnp.asarray(random.normal(size=(500, 3))), jnp.asarray(targets), jnp.ones((500, 1), bool))
    steps = np.diff(np.asarray(found.thresholds[..., 0]), axis=1)
    assert (steps >= 0).all()
    assert_array_equal(steps.min(axis=0), np.zeros(4))
    assert (steps.max(axis=0) > 0).all()


def test_a_threshold_that_is_not_there_does_not_move():
    found = states(jnp.ones((3, 2)), jnp.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]), jnp.ones((3, 1), bool))
    assert_array_equal(found.thresholds[:, 1, 0], [0, 0, 0])
    assert_array_equal(found.weights[0, :, 0], [1, 1])  # one step of x, not two


# Whole epochs


@pytest.mark.parametrize("seed", range(5))
def test_prank_is_that_of_a_double_loop(seed):
    data = problem()
    fit = PRank(epochs=3).fit(task(data, steadily_better(), seed))
    averages, losses = by_double_loop(data, seed=seed, epochs=3, perceptrons=1, tau=1.0)
    assert_array_equal(fit.model.weights, averages[-1])
    assert_allclose(fit.history["loss"], losses, rtol=1e-12)


def test_prank_quadratic_is_that_of_a_double_loop_on_products():
    def products(row):
        return [*row, *(a * b for a, b in itertools.combinations_with_replacement(row, 2))]

    data = problem()
    fit = PRankQuadratic(epochs=3).fit(task(data, steadily_better()))
    averages, losses = by_double_loop(data, seed=1, epochs=3, perceptrons=1, tau=1.0, expanded=products)
    assert_array_equal(fit.model.weights, averages[-1][:3])
    assert_array_equal(fit.model.products[np.triu_indices(3)], averages[-1][3:])
    assert_array_equal(np.tril(fit.model.products, -1), np.zeros((3, 3)))
    assert_allclose(fit.history["loss"], losses, rtol=1e-12)


def test_before_anything_is_learned_the_highest_level_is_predicted():
    """Crammer and Singer 2001: the first level whose threshold is above the score, and 0 is not above 0."""
    first = draw(1, 1, 2, 1).order[0]  # of the two documents, that of level 0 being row 0
    data = ranking([[0.0], [0.0]], [0, 1])
    fit = PRank(epochs=1).fit(task(data))
    # The first document moves the threshold to its own side, which is the wrong one for the other.
    assert fit.history["loss"][0] == ((1 if first == 0 else 0) + 1) / 2


@pytest.mark.parametrize("tau", [0.3, 0.7])
def test_oap_bpm_is_that_of_a_double_loop_with_the_same_coins(tau):
    data = problem()
    fit = OAPBPM(epochs=3, perceptrons=8, tau=tau).fit(task(data, steadily_better()))
    averages, losses = by_double_loop(data, seed=1, epochs=3, perceptrons=8, tau=tau)
    assert_allclose(fit.model.weights, averages[-1], rtol=1e-12)
    assert_allclose(fit.history["loss"], losses, rtol=1e-12)


def test_oap_bpm_with_one_perceptron_that_sees_all_is_prank():
    data = problem()
    one, other = PRank().fit(task(data)), OAPBPM(perceptrons=1, tau=1.0).fit(task(data))
    assert one.history.equals(other.history)
    assert_array_equal(one.model.weights, other.model.weights)


def steadily_better():
    """A validation that keeps the last epoch."""
    count = itertools.count()
    return lambda scores: float(next(count))


# What it learns


def test_prank_learns_separable_levels_within_the_bound_of_its_mistakes():
    """Crammer and Singer 2001, Theorem 2: at most (k - 1) (R^2 + 1) / margin^2 levels off, however long it runs."""
    data = separable()
    weights, thresholds = np.array([1, -1, 0.5]), np.array([-0.5, 0.5])
    x = data.features.astype(np.float64)
    margin = np.abs(x @ weights - thresholds[:, None]).min() / np.sqrt(weights @ weights + thresholds @ thresholds)
    fit = PRank(epochs=60).fit(task(data, steadily_better()))
    assert fit.history["loss"].iloc[-1] == 0
    assert 0 < fit.history["loss"].sum() * data.documents <= 2 * ((x**2).sum(axis=1).max() + 1) / margin**2
    scores = fit.model.score(data)
    for level in (0, 1):
        assert scores[data.labels <= level].max() < scores[data.labels > level].min()


def test_prank_quadratic_learns_what_no_linear_function_can():
    """Three rings."""
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    angle = random.uniform(0, 2 * np.pi, 60)
    x = (labels / 2 + 0.5)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    data = ranking(x, labels)
    fit = PRankQuadratic(epochs=60).fit(task(data, steadily_better()))
    assert fit.history["loss"].iloc[-1] == 0
    scores = fit.model.score(data)
    assert scores[labels == 0].max() < scores[labels == 1].min()
    assert scores[labels == 1].max() < scores[labels == 2].min()
    assert PRank(epochs=60).fit(task(data, steadily_better())).history["loss"].min() > 0.3


def test_an_average_is_less_off_than_one_on_noisy_labels():
    data = problem(lengths=(40,) * 10)
    one, many = (OAPBPM(perceptrons=count, tau=0.5).fit(task(data)).history["loss"].mean() for count in (1, 100))
    assert many < one


@pytest.mark.parametrize("labels", [[0, 5, 2, 5, 0, 2], [-1, 1, 0.5, 1, -1, 0.5]])
def test_levels_are_counted_whatever_their_labels(labels):
    x = np.random.default_rng(0).integers(-8, 9, (6, 2)) / 8
    plain, gaps = (PRank().fit(task(ranking(x, each))) for each in ([0, 2, 1, 2, 0, 1], labels))
    assert_array_equal(gaps.model.weights, plain.model.weights)
    assert gaps.history.equals(plain.history)


@EVERY
def test_nothing_is_learned_from_one_level(method):
    data = problem(levels=1)
    fit = method(epochs=2).fit(task(data))
    assert_array_equal(fit.model.score(data), np.zeros(data.documents))
    assert list(fit.history["loss"]) == [0, 0]


# What it keeps


@pytest.mark.parametrize(("values", "kept"), [([0.1, 0.3, 0.2], 1), ([0.1, 0.2, 0.2], 1), ([0.3, 0.1, 0.3], 0)])
def test_keeps_the_best_validating_epoch_the_first_of_equals(values, kept):
    seen, script = [], iter(values)

    def validate(scores):
        seen.append(scores)
        return next(script)

    data = problem()
    fit = PRank(epochs=3).fit(task(data, validate))
    assert len({scores.tobytes() for scores in seen}) == 3  # no two epochs alike
    assert_array_equal(fit.model.score(data), seen[kept])
    assert list(fit.history["validation"]) == values


def test_epochs_are_counted_from_one_and_reported():
    said = []
    fit = PRank(epochs=3).fit(task(problem(), lambda scores: 0.25, report=said.append))
    assert list(fit.history.columns) == ["epoch", "loss", "validation"]
    assert list(fit.history["epoch"]) == [1, 2, 3]
    losses = fit.history["loss"]
    assert said == [f"epoch {i + 1}/3, loss {losses[i]:.5g}, validation 0.2500" for i in range(3)]


def test_weights_that_are_no_numbers_stop_with_a_remedy():
    data = problem()
    data = replace(data, features=data.features * np.float32(1e30))
    with pytest.raises(ReplirankError, match="not finite in epoch 1\n") as caught:
        PRankQuadratic(epochs=2).fit(task(data))
    assert "scale" in caught.value.remedy


# Chance


@EVERY
def test_same_seed_same_history(method):
    data = problem()
    first, again, other = (method(epochs=4).fit(task(data, seed=seed)) for seed in (5, 5, 6))
    assert first.history.equals(again.history)
    assert first.model.score(data).tobytes() == again.model.score(data).tobytes()
    assert not first.history["loss"].equals(other.history["loss"])


def test_every_epoch_visits_each_document_once_in_an_order_of_its_own():
    orders = [draw(seed, epoch, 50, 1).order for seed in (1, 2) for epoch in (1, 2)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({order.tobytes() for order in orders}) == 4


@pytest.mark.parametrize("tau", [0.3, 0.5, 0.7])
def test_a_perceptron_sees_a_share_tau(tau):
    """Within five standard deviations of as many coins; and coins of different perceptrons are different."""
    seen = draw(1, 1, 10_000, 4).chances < tau
    assert np.abs(seen.mean(axis=0) - tau).max() < 5 * np.sqrt(tau * (1 - tau) / 10_000)
    assert np.abs(np.corrcoef(seen.T)[np.triu_indices(4, 1)]).max() < 5 / np.sqrt(10_000)
    assert (draw(1, 1, 10_000, 4).chances < 1).all()


def test_what_a_perceptron_sees_does_not_depend_on_how_many_there_are():
    few, many = draw(3, 2, 20, 4), draw(3, 2, 20, 9)
    assert_array_equal(few.order, many.order)
    assert_array_equal(few.chances, many.chances[:, :4])


@EVERY
def test_order_of_documents_in_a_query_does_not_matter(method):
    data = problem()
    order = np.concatenate([np.random.default_rng(0).permutation(np.arange(rows.start, rows.stop)) for rows in data])
    other = replace(data, features=data.features[order], labels=data.labels[order])
    one, other = (method(epochs=2).fit(task(each)) for each in (data, other))
    assert one.history.equals(other.history)
    assert one.model.score(data).tobytes() == other.model.score(data).tobytes()


# Together, and in common shapes


def test_grid_points_together_are_what_each_is_alone():
    """To the last bit, with other numbers of epochs and perceptrons, too."""
    data = problem(lengths=(40,) * 5)
    data = replace(data, features=data.features + np.float32(0.1))  # sums round now
    points = [OAPBPM(epochs, count, tau) for tau in (0.7, 0.3) for epochs, count in ((3, 10), (2, 10), (3, 3))]

    def validate(scores):
        return float(np.corrcoef(scores, data.labels)[0, 1])

    together = OAPBPM.fit_together(points, task(data, validate))
    for point, fit in zip(points, together, strict=True):
        alone = point.fit(task(data, validate))
        assert fit.history.equals(alone.history)
        assert fit.model.weights.tobytes() == alone.model.weights.tobytes()
    assert len({fit.history["loss"].to_numpy().tobytes() for fit in together}) == len(points)


def test_common_shapes_hold_all_training_sets():
    folds = [problem(0, lengths=(7, 8), levels=2), problem(1, lengths=(5, 5), levels=4)]
    assert example_shapes(iter(folds)) == ExampleShapes(documents=15, thresholds=3)
    for fold in folds:
        examples = make_examples(fold, example_shapes(folds))
        assert examples.features.shape == (15, 3)
        assert examples.targets.shape == (15, 3)
        assert examples.documents == fold.documents


def test_targets_say_which_thresholds_are_below():
    examples = make_examples(ranking([[4], [3], [2], [1]], [2, 0, 1, 0]), ExampleShapes(documents=6, thresholds=3))
    assert_array_equal(examples.features[:, 0], [1, 3, 2, 4, 0, 0])  # by label, then by features
    assert_array_equal(examples.targets[:4], [[-1, -1, 0], [-1, -1, 0], [1, -1, 0], [1, 1, 0]])
    assert_array_equal(examples.targets[4:], np.zeros((2, 3)))


@EVERY
def test_shapes_shared_with_other_folds_change_nothing(method):
    fold, other = problem(0), problem(1, lengths=(60, 40), levels=5)
    alone = method(epochs=3).fit(task(fold))
    together = method(epochs=3).fit(task(fold, shapes=example_shapes([other, fold])))
    assert together.history.equals(alone.history)
    assert_array_equal(together.model.score(fold), alone.model.score(fold))


@EVERY
def test_folds_share_one_compilation(method):
    """They differ in the number of documents and of levels."""
    folds = [problem(0), problem(1, lengths=(9, 5, 6), levels=2), problem(2, lengths=(12, 12, 1, 10), levels=4)]
    shapes = method.plan(iter(folds))
    points = [method.make(epochs=2, **({"tau": tau} if method is OAPBPM else {})) for tau in (0.3, 0.5)]
    online._epoch.clear_cache()
    compiled = []

    def listen(event, duration, **about):
        if event.endswith("backend_compile_duration") and "_epoch" in about.get("fun_name", ""):
            compiled.append(about["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for seed, fold in enumerate(folds):
            method.fit_together(points, replace(task(fold, seed=seed), shared=method.share(fold, shapes)))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == ["jit(_epoch)"]


def test_a_row_is_expanded_where_it_is_used():
    """No array of all documents' products: 200 documents of 20 features would be 46,000 numbers."""
    random = np.random.default_rng(0)
    examples = make_examples(ranking(random.random((200, 20)), random.integers(0, 2, 200)))
    perceptrons = Perceptrons(np.zeros((230, 1), np.float32), np.zeros((1, 1), np.float32))
    order, seen = np.arange(200, dtype=np.int32), np.ones((200, 1), bool)
    work = online._epoch.lower(
        perceptrons, examples.features, examples.targets, order, seen, 200, np.ones((1, 1), np.float32), expand=expand
    )
    assert work.compile().memory_analysis().temp_size_in_bytes < 4 * 46_000 / 4
