"""`make bench`: speed, each figure beside its yardstick in the same run, since machines and days differ.

Uses the real data where it is found, else simulated data of the same size. The Makefile sets one thread. What was
measured is kept in docs/bench/speed.json.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import rax
import yaml
from bench_record import record
from sklearn.datasets import load_svmlight_file

from replirank import methods
from replirank.data import letor_text
from replirank.data.arrays import Dataset, RankingData
from replirank.data.find import find_source, homes
from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.engines import stochastic
from replirank.engines.batches import list_shapes, make_batches, pair_shapes
from replirank.engines.fidelity import CANDIDATES_AT_ONCE, FidelityBooster, common_groups
from replirank.engines.task import Task
from replirank.engines.weak_learners import WeakLearners, make_weak_learners
from replirank.evaluation import stats
from replirank.losses.lambdarank import lambdarank
from replirank.losses.listwise import listnet
from replirank.losses.pairwise import cross_entropy
from replirank.metrics.per_query import Judge, evaluate
from replirank.models import linear, two_layer
from replirank.papers.ranknet2005.draws import DRAWN_AS, draw, pair_trials, trials

ROOT = Path(__file__).parents[1]
ROWS: list[dict] = []  # what was measured so far


def best(work: Callable[[], object], times: int = 3) -> float:
    """The least of several times: what disturbs only adds."""
    return best_of_each([work], times)[0]


def best_of_each(works: Sequence[Callable[[], object]], times: int) -> list[float]:
    """Of several by turns, so that what disturbs disturbs them all."""
    seconds = np.zeros((times, len(works)))
    for turn in range(times):
        for number, work in enumerate(works):
            started = time.perf_counter()
            work()
            seconds[turn, number] = time.perf_counter() - started
    return seconds.min(axis=0).tolist()


def dataset(name: str) -> tuple[Dataset, str]:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    known = spec(name)
    prepared = prepare(
        known,
        source=find_source(known.names, homes(root=ROOT), known.bundles),
        size=config["datasets"][name]["simulate"],
        report=lambda text: None,
    )
    return prepared.dataset, f"{known.title} ({prepared.card['origin']})"


def row(what: str, ours: float, yardstick: str = "", theirs: float | None = None) -> None:
    beside = {} if theirs is None else {"yardstick": yardstick, "seconds of the yardstick": theirs}
    ROWS.append({"what": what, "seconds": ours, **beside})
    ratio = "" if theirs is None else f"{theirs:9.3f} s {yardstick}, {theirs / ours:.1f} times ours"
    print(f"{what:<64}{ours:9.3f} s   {ratio}", flush=True)


def epochs() -> None:
    """Epochs of gradient descent beside rax's losses on queries padded to the longest; an update by query in both."""
    ohsumed, title = dataset("ohsumed")
    trains = [ohsumed.split(fold, "train") for fold in range(len(ohsumed.folds))]
    pairs, lists = pair_shapes(trains), list_shapes(trains)
    pairwise = partial(rax.pairwise_logistic_loss, reduce_fn=jnp.sum)
    weighted = partial(pairwise, lambdaweight_fn=rax.dcg_lambdaweight)
    features = trains[0].features.shape[1]
    flat, deep = linear.start(features), two_layer.start(features, 10, seed=0)
    for count, name, shapes, loss, yardstick, model in (
        (1, "RankNet, linear", pairs, cross_entropy, pairwise, flat),
        (1, "RankNet, two-layer", pairs, cross_entropy, pairwise, deep),
        (1, "LambdaRank, two-layer", pairs, lambdarank, weighted, deep),
        (100, "ListNet", lists, listnet, rax.softmax_loss, flat),
    ):
        works = (
            partial(repeat, count, our_epoch(trains[0], shapes, loss, model)),
            partial(repeat, count, padded_epoch(trains[0], yardstick, model)),
        )
        for work in works:
            work()  # compile
        ours, theirs = best_of_each(works, times=7)
        row(f"{name}, {title} Fold1, {count} epoch{'s' * (count > 1)}", ours, "rax, padded", theirs)


def repeat(count: int, work: Callable[[], object]) -> None:
    for _ in range(count):
        jax.block_until_ready(work())


def our_epoch(train: RankingData, shapes, loss, model, objective=None, hyper=None) -> Callable[[], object]:
    """Of a loss of scores, or of an objective with its hyper-parameters."""
    batches = make_batches(train, shapes)
    order = np.zeros((shapes.queries, 3), dtype=np.int32)
    order[: len(batches.queries)] = np.random.default_rng(0).permutation(batches.queries)
    data = jax.device_put((batches.features, batches.labels, order))
    state = stochastic.OPTIMIZERS["adam"].init(model)
    objective = objective or stochastic.LossOfScores(loss)
    fixed = {"classes": shapes.classes, "objective": objective, "optimizer": "adam"}
    hyper, seeds = {name: np.float32(value) for name, value in (hyper or {}).items()}, np.zeros(2, dtype=np.uint32)
    return lambda: stochastic._epoch(model, state, *data, len(batches.queries), 1e-3, hyper, seeds, **fixed)


def energies() -> None:
    """energyndcg2011: an epoch of EnergyNDCG by width and by length of lists, beside BoltzRank's."""
    ohsumed, title = dataset("ohsumed")
    train = ohsumed.split(0, "train")
    print()
    widths = (1, 5, 20, 40)  # up to 20 all are computed as 20 is
    works = [energy_epoch(train, "energyndcg", width=width) for width in widths]
    works += [energy_epoch(train, "energymap", width=20), energy_epoch(train, "boltzrank_pseudo")]
    *by_width, of_map, pseudo, boltzrank = best_of_each([*works, energy_epoch(train, "boltzrank")], times=7)
    for width, seconds in zip(widths, by_width, strict=True):
        times = f"{seconds / by_width[0]:.2f} x that of W = 1"
        row(f"EnergyNDCG, {title} Fold1, an epoch, W = {width} ({times})", seconds)
    row("EnergyMAP, W = 20", of_map)
    row("BoltzRank's energy, pseudo-likelihood, W = n", pseudo)
    row("EnergyNDCG, W = 5, beside BoltzRank", by_width[1], "BoltzRank with 20 drawn orders", boltzrank)
    longer = [longer_lists(train, factor) for factor in (1, 2, 4)]
    by_length = best_of_each([energy_epoch(data, "energyndcg", width=20) for data in longer], times=7)
    for factor, seconds in zip((1, 2, 4), by_length, strict=True):
        row(f"EnergyNDCG, W = 20, lists {factor} x as long ({seconds / by_length[0]:.2f} x)", seconds)
    print()


def energy_epoch(train: RankingData, method: str, width: int | None = None) -> Callable[[], object]:
    """Compiled before it is given back."""
    found = methods.find(method).make(**({} if width is None else {"width": width}))
    model = two_layer.start(train.features.shape[1], found.units, seed=0)
    hyper = {name: getattr(found, name) for name in found.traced}
    epoch = our_epoch(train, found.plan([train]), None, model, found.objective(), hyper)
    repeat(1, epoch)
    return partial(repeat, 1, epoch)


def longer_lists(train: RankingData, factor: int) -> RankingData:
    """Each query with so many times as many documents of each label: those it has, again and again."""
    rows = np.concatenate([np.tile(np.arange(rows.start, rows.stop), factor) for rows in train])
    return replace(train, features=train.features[rows], labels=train.labels[rows], offsets=factor * train.offsets)


def padded_epoch(train: RankingData, loss, model) -> Callable[[], object]:
    where = np.arange(train.lengths.max()) < train.lengths[:, None]
    features = np.zeros((*where.shape, train.features.shape[1]), dtype=np.float32)
    labels = np.zeros(where.shape, dtype=np.float32)
    features[where], labels[where] = train.features, train.labels
    adam = optax.scale_by_adam()

    @jax.jit
    def epoch(params, state, features, labels, where, order):
        def step(i, carry):
            params, state, total = carry
            x, y, real = features[order[i]], labels[order[i]], where[order[i]]
            value, slopes = jax.value_and_grad(lambda params: loss(params.score_query(x), y, where=real))(params)
            updates, state = adam.update(slopes, state, params)
            return jax.tree.map(lambda p, u: p - 1e-3 * u, params, updates), state, total + value

        return jax.lax.fori_loop(0, len(order), step, (params, state, jnp.zeros(())))

    order = np.random.default_rng(0).permutation(train.queries)
    data = jax.device_put((features, labels, where, order))
    state = adam.init(model)
    return lambda: epoch(model, state, *data)


def artificial_tables(draws: int = 5, processes: int = 2) -> None:
    """ranknet2005's Tables 1 and 2 and its capacity check, as `snakemake --cores 2` makes them: a job for each draw."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    printed = yaml.safe_load((ROOT / "src/replirank/papers/ranknet2005/paper.yaml").read_text())["printed"]
    vectors = {name: printed[name]["vectors"] for name in ("table1", "table2", "capacity")}
    jobs = [
        (task, number, [*trials(task, vectors), *pair_trials(number, vectors)])
        for number in range(1, draws + 1)
        for task in DRAWN_AS
    ]
    started = time.perf_counter()
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(partial(draw, seed=config["seed"]), *zip(*jobs, strict=True)))
    row(f"ranknet2005, Tables 1 and 2, {draws} draws, {processes} processes", time.perf_counter() - started)


def boosting() -> None:
    """A fold of each booster, all of `fit`: bins, 300 rounds, training and validation curves; compiled before."""
    for name in ("ohsumed", "mq2008"):
        data, title = dataset(name)
        for method in ("rankboost", "adarank_map", "adarank_ndcg", "frank"):
            found = methods.find(method)
            work = partial(found.make(rounds=300).fit, fold_task(data, found))
            found.make(rounds=1).fit(fold_task(data, found))  # compile
            row(f"{found.title}, {title} Fold1, 300 rounds", best(work, times=1 if method == "frank" else 3))
    growth(*dataset("ohsumed"))


def fold_task(data: Dataset, method: type[methods.Method]) -> Task:
    train, vali = data.split(0, "train"), data.split(0, "vali")
    judge = Judge(vali.labels, vali.offsets, "letor3.map")
    return Task(
        train=train,
        vali=vali,
        seed=0,
        validate=lambda scores: float(np.mean(judge(scores))),
        report=lambda text: None,
        shared=method.share(train, method.plan([train])),
    )


def growth(data: Dataset, title: str, rounds: int = 20) -> None:
    """FRank's time by pairs and by features; and without its bounds."""
    train = data.split(0, "train")
    print()
    times = {}
    for what, larger in (("pairs", more_pairs), ("features", more_features)):
        for factor in (1, 2, 4):
            booster, learners = frank_booster(larger(train, factor))
            times[what, factor] = best(lambda booster=booster: [booster.choose() for _ in range(rounds)], times=1)
            grown = times[what, factor] / times[what, 1]
            row(f"FRank, {title}, {rounds} rounds, {factor} x the {what} ({grown:.2f} x)", times[what, factor])
    booster, learners = frank_booster(train)
    seconds, share = without_bounds(booster)
    row(f"FRank, a round with bounds, of {learners.thresholds.size:,} candidates", times["pairs", 1] / rounds,
        f"each by Eq. 2 ({share:.0%} done)", seconds)  # fmt: skip
    print()


def frank_booster(train: RankingData) -> tuple[FidelityBooster, WeakLearners]:
    learners = make_weak_learners(train, 255)
    booster = FidelityBooster(train, learners, common_groups([train]), limit=2.0)
    booster.choose()  # compile
    return booster, learners


def more_pairs(train: RankingData, factor: int) -> RankingData:
    return train.take(np.tile(np.arange(train.queries), factor))


def more_features(train: RankingData, factor: int) -> RankingData:
    """Those added have the values of the others, on documents at random."""
    random = np.random.default_rng(0)
    added = [random.permuted(train.features, axis=0) for _ in range(factor - 1)]
    return replace(train, features=np.concatenate([train.features, *added], axis=1))


def without_bounds(booster: FidelityBooster, sample: int = 200) -> tuple[float, float]:
    """The seconds that a round would take if every candidate's loss were computed, from some of them; and the share."""
    with jax.enable_x64(True):
        scores = booster.grouped_scores()
        alphas, _, _ = booster.bounds(scores)
        tried = np.random.default_rng(0).choice(alphas.size, sample, replace=False).reshape(-1, CANDIDATES_AT_ONCE)
        started = time.perf_counter()
        for candidates in tried:
            booster.changes(scores, alphas, candidates)
        return (time.perf_counter() - started) * alphas.size / sample, sample / alphas.size


def main() -> None:
    artificial_tables()
    if hasattr(os, "sched_setaffinity"):  # JAX starts as many threads as there are cores that it may use
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("\nfrom here on one core; the best of several runs each\n")
    boosting()
    epochs()
    energies()
    mq2007, title = dataset("mq2007")
    train, everything = mq2007.split(0, "train"), mq2007.data

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        letor_text.write(path, train)
        ours = best(lambda: letor_text.read(path))
        theirs = best(lambda: load_svmlight_file(str(path), query_id=True))
        row(f"read {title} Fold1 train, {path.stat().st_size / 1e6:.0f} MB", ours, "sklearn", theirs)

    scores = np.random.default_rng(0).normal(size=everything.documents)
    seconds = best(lambda: evaluate(scores, everything.labels, everything.offsets))
    row(f"all metrics of {title}, {everything.queries:,} queries, 4 conventions", seconds)

    a, b = np.random.default_rng(1).random((2, everything.queries))
    row(f"randomization test, 100,000 flips of {len(a):,} queries", best(lambda: stats.randomization(a, b, seed=0)))
    record("speed", ROWS)


if __name__ == "__main__":
    main()
