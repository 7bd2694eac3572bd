"""`make bench-frank`: FRank at frank2007's own size, on simulated data: does it fit into memory, and how long?

The data is made in a process of its own, so that the memory stated is that of learning. What was measured is kept in
docs/bench/frank.json; of another size, in a file that names it.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_record import record

from replirank.data import arrays
from replirank.data.arrays import Dataset
from replirank.data.pairs import pair_counts
from replirank.data.simulate import web
from replirank.methods.base import Task
from replirank.methods.frank import FRank
from replirank.metrics.per_query import Judge

QUERIES, DOCUMENTS, FEATURES, ROUNDS = 12_000, 385_293, 619, 271  # the paper's, of its training set


def simulate(path: Path, queries: int, features: int) -> None:
    # Two thirds are for training. With three documents in four unlabelled, pairs are about as many as in the paper.
    whole = web(queries * 3 // 2, DOCUMENTS / QUERIES, features, seed=0, unlabelled=0.75)
    fold = whole.folds[0]
    some = np.concatenate([fold.train, fold.vali[:100]])
    places = np.arange(len(some))
    cut = len(fold.train)
    folds = (fold._replace(train=places[:cut], vali=places[cut:], test=places[cut:]),)
    arrays.save(path, Dataset(whole.data.take(some), folds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "web.npz"
        making = multiprocessing.get_context("spawn").Process(
            target=simulate, args=(path, asked.queries, asked.features)
        )
        making.start()
        making.join()
        if making.exitcode:
            raise SystemExit("the data could not be simulated: is there enough memory?")
        dataset = arrays.load(path)
    train, vali = dataset.split(0, "train"), dataset.split(0, "vali")
    del dataset
    pairs = int(pair_counts(train).sum())
    print(
        f"SIMULATED: {train.queries:,} queries, {train.documents:,} documents, {pairs:,} pairs, "
        f"{train.features.shape[1]} features",
        flush=True,
    )
    judge = Judge(vali.labels, vali.offsets, "burges.ndcg@10")
    started, worked = time.perf_counter(), time.process_time()

    def report(text: str) -> None:
        print(f"{time.perf_counter() - started:8.0f} s  {text}", flush=True)

    task = Task(
        train=train,
        vali=vali,
        seed=0,
        validate=lambda scores: float(np.mean(judge(scores))),
        report=report,
        shared=FRank.share(train),
    )
    fit = FRank(rounds=asked.rounds).fit(task)
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fell = int(np.sum(np.diff(fit.history["loss"]) < 0)) + 1
    print(
        f"{len(fit.history)} rounds in {seconds:,.0f} s ({worked:,.0f} s of work), {peak:.2f} GiB at the most; "
        f"the loss fell in {fell} of them"
    )
    shape = {"queries": train.queries, "documents": train.documents, "pairs": pairs, "features": asked.features}
    measured = {"rounds": len(fit.history), "seconds": seconds, "seconds of work": worked, "GiB": peak}
    size = (asked.queries, asked.features, asked.rounds)
    name = "frank" if size == (QUERIES, FEATURES, ROUNDS) else "frank_" + "_".join(map(str, size))
    record(name, [{"what": "FRank", "data": "simulated", **shape, **measured}])


if __name__ == "__main__":
    main()
