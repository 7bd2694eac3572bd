"""`make bench-frank`: FRank at frank2007's own size, on simulated data: does it fit into memory, and how long?

The data is made in a process of its own, so that the memory stated is that of learning.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from replirank.data import arrays
from replirank.data.arrays import Dataset
from replirank.data.pairs import pair_counts
from replirank.data.simulate import web
from replirank.methods.base import Task
from replirank.methods.frank import FRank
from replirank.metrics.per_query import Judge

DOCUMENTS = 385_293  # the paper's, for 12,000 training queries


def simulate(path: Path, queries: int, features: int) -> None:
    # Two thirds are for training. With three documents in four unlabelled, pairs are about as many as in the paper.
    whole = web(queries * 3 // 2, DOCUMENTS / 12_000, features, seed=0, unlabelled=0.75)
    fold = whole.folds[0]
    some = np.concatenate([fold.train, fold.vali[:100]])
    places = np.arange(len(some))
    cut = len(fold.train)
    folds = (fold._replace(train=places[:cut], vali=places[cut:], test=places[cut:]),)
    arrays.save(path, Dataset(whole.data.take(some), folds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=12_000)
    parser.add_argument("--features", type=int, default=619)
    parser.add_argument("--rounds", type=int, default=271)
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


if __name__ == "__main__":
    main()
