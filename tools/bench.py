"""`make bench`: speed, each figure beside its yardstick in the same run, since machines and days differ.

Uses the real data where it is found, else simulated data of the same size. The Makefile sets one thread.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import yaml
from sklearn.datasets import load_svmlight_file

from replirank import stats
from replirank.data import letor_text
from replirank.data.arrays import Dataset
from replirank.data.find import find_source, homes
from replirank.data.prepare import prepare
from replirank.data.specs import spec
from replirank.metrics.per_query import evaluate

ROOT = Path(__file__).parents[1]


def best(work: Callable[[], object], times: int = 3) -> float:
    """The least of several times: what disturbs only adds."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def dataset(name: str) -> tuple[Dataset, str]:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    known = spec(name)
    prepared = prepare(
        known,
        source=find_source(known.names, homes(root=ROOT), known.bundles),
        downloads=ROOT / "data",
        size=config["datasets"][name]["simulate"],
        report=lambda text: None,
    )
    return prepared.dataset, f"{known.title} ({prepared.card['origin']})"


def row(what: str, ours: float, yardstick: str = "", theirs: float | None = None) -> None:
    ratio = "" if theirs is None else f"{theirs:9.3f} s {yardstick}, {theirs / ours:.1f} times ours"
    print(f"{what:<58}{ours:9.3f} s   {ratio}", flush=True)


def main() -> None:
    print("one core; the best of three runs each\n")
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


if __name__ == "__main__":
    main()
