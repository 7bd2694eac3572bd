"""What the tests share: the real data where it is at hand, and a way to run the workflow somewhere else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers import ROOT, command_line, environment

from replirank.data.find import find_source, homes
from replirank.data.specs import spec


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
