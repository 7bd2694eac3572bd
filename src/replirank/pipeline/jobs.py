"""What every job of the workflow needs: a log, progress, errors in one message; and locks that do not rot."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from replirank.errors import ReplirankError

SECONDS_BETWEEN_LINES = 5.0  # least seconds between two lines of progress on the terminal; the log has all of them


@contextmanager
def job(name: str, log: str | PathLike, every: float = SECONDS_BETWEEN_LINES) -> Iterator[Callable[[str], None]]:
    """Run a block of work: yields `report(text)`, and turns bad input into one message on the terminal and in the log.

    Anything else that goes wrong is a fault of ours and keeps its traceback.
    """
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        said = time.monotonic()

        def report(text: str) -> None:
            nonlocal said
            print(text, file=file, flush=True)
            if time.monotonic() - said >= every:
                said = time.monotonic()
                print(f"[{name}] {text}", file=sys.stderr, flush=True)

        try:
            yield report
        except ReplirankError as error:
            print(error, file=file)
            print(f"\n[{name}] {error}\n", file=sys.stderr, flush=True)
            sys.exit(1)
        except BaseException:
            traceback.print_exc(file=file)
            raise


def set_environment(root: Path) -> None:
    """What the processes of all jobs inherit."""
    # They see the package whether or not it is installed.
    path = [str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    os.environ["MATPLOTLIBRC"] = str(root / "workflow/matplotlibrc")
    # One thread in each job, many jobs at once: sums come out the same to the bit, whatever --cores is.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    # Compiled once on a machine, not once in each job; once for several runs where one folder is set for all of them.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(".snakemake/jax-cache").resolve()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


_held = []  # kept open for as long as this process lives: the kernel lets go of it however the process ends


def release_stale_locks(folder: str | PathLike = ".snakemake") -> bool:
    """Remove the locks that a killed Snakemake left in `folder`; say whether there were any.

    Snakemake's locks are plain files and outlive kill -9. Beside them each run holds a lock of the kernel's, which
    does not; whoever can take that one knows that no other run is alive.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix: Snakemake's own message and --unlock remain
        return False
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    file = open(folder / "replirank.lock", "w")  # noqa: SIM115 - held until the process ends
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    _held.append(file)
    stale = sorted((folder / "locks").glob("*.lock"))
    for lock in stale:
        lock.unlink()
    return bool(stale)
