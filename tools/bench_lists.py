"""`make bench-lists`: diffrank2011's four methods on SIMULATED lists of MQ2008-list's full size, all five folds.

Two processes, as `snakemake --cores 2` has them; time and peak memory of each method, and the time of all. The grids
are config.yaml's for mq2008_list. What was measured is kept in docs/bench/lists.json.
"""

import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import yaml
from bench_record import record

from replirank import methods
from replirank.data import arrays
from replirank.data.simulate import strict_list
from replirank.training import train

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
QUERIES, DOCUMENTS, LENGTHS = 784, 902_220, (204, 1831)


def run(method: str, path: Path) -> tuple[str, float, float, float]:
    """Title, seconds, GiB at the peak (data, training and scores), and validation Kendall tau."""
    started = time.perf_counter()
    trained = train(
        arrays.load(path),
        methods.find(method),
        grid={
            **CONFIG["methods"][method].get("grid", {}),
            **CONFIG["datasets"]["mq2008_list"]["grids"].get(method, {}),
        },
        convention="letor4",
        select_by="kendall_tau",
        seed=CONFIG["seed"],
        names=("mq2008_list", method),
        report=lambda text: None,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    validation = sum(fold["validation"] for fold in trained.choices) / len(trained.choices)
    return methods.find(method).title, time.perf_counter() - started, peak, validation


def main() -> None:
    lists = strict_list(QUERIES, (LENGTHS[0], DOCUMENTS / QUERIES, LENGTHS[1]), seed=1)
    of_lists = {"data": "simulated", "queries": lists.data.queries, "documents": lists.data.documents}
    rows = []
    print(f"\nSIMULATED lists: {lists.data.queries} queries, {lists.data.documents:,} documents, 46 features, 5 folds")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        arrays.save(path, lists)
        del lists
        started = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, spawn, max_tasks_per_child=1) as pool:  # a process each: its peak is the method's
            found = pool.map(partial(run, path=path), ("featurerank", "diffrank", "svm_map", "listmle"))
            for title, seconds, peak, validation in found:
                rows.append({"what": title, **of_lists, "seconds": seconds, "GiB": peak})
                print(
                    f"{title:<32}{seconds:8.0f} s {peak:8.2f} GiB   validation Kendall tau {validation:.4f}", flush=True
                )
    seconds = time.perf_counter() - started
    print(f"{'all four, two at a time':<32}{seconds:8.0f} s")
    record("lists", [*rows, {"what": "all four, two at a time", **of_lists, "seconds": seconds}])


if __name__ == "__main__":
    main()
