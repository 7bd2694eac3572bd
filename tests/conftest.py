"""What the tests share: the real data where it is at hand, and a way to run the workflow somewhere else."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import hypothesis
import pytest
from helpers import ROOT, command_line, environment
from xdist.scheduler import LoadScopeScheduling

from replirank.data.find import find_source, homes
from replirank.data.specs import spec

# Every random choice has a seed, those of the tests too: what passed here passes elsewhere.
hypothesis.settings.register_profile("seeded", derandomize=True, deadline=None)
hypothesis.settings.load_profile("seeded")

# What one test compiled serves all others, and the jobs of the workflows that they run.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="replirank-jax-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(scope="session")
def real_data():
    """A function that gives a data set's source, or skips the test where there is none."""

    def source(name: str) -> Path:
        known = spec(name)
        found = find_source(known.names, homes(root=ROOT), known.bundles)
        if found is None:
            pytest.skip(f"{known.title} is not at hand: put it into data/ or $LETOR_HOME to run this test")
        return found

    return source


@pytest.fixture(scope="session")
def snakemake():
    """A function that runs the workflow in a folder, with changes to the config; it gives the finished process."""

    def run(
        folder: Path, *words: str, config: dict | None = None, quick: bool = True, root: Path = ROOT, check: bool = True
    ) -> subprocess.CompletedProcess:
        command = command_line(folder, *words, config=config, quick=quick, root=root)
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=1200)
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return done

    return run


class ByFixtures(LoadScopeScheduling):
    """For several workers: what shares fixtures goes to one of them.

    xdist 3.8 has groups for that, which pytest 9.2 silently ignores.
    """

    def _split_scope(self, nodeid: str) -> str:
        """A file; in the conformance suite, a method.

        conformance/test_methods.py::test_survives[listnet-none relevant] -> conformance/test_methods.py listnet
        """
        path, _, test = nodeid.partition("::")
        method = re.search(r"\[(\w+)", test) if "conformance" in path else None
        return f"{path} {method[1]}" if method else path


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # not those with the most tests first, but those sorted first below
    return ByFixtures(config, log)


def pytest_collection_modifyitems(items):
    """The longest first."""
    items.sort(key=lambda item: item.path.parent.name not in ("workflow", "published"))
