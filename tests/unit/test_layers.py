"""The layers in pyproject.toml hold, and the check of them notices what breaks them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT


def lint_imports(sources: Path) -> subprocess.CompletedProcess:
    """The check of `make check`, of the package in this folder."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"]
    env = {**os.environ, "PYTHONPATH": str(sources)}
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=sources.parent)


@pytest.fixture
def copied(tmp_path):
    """A copy of the package and of the contract."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "src"


def test_nothing_imports_from_a_layer_above_its_own(copied):
    done = lint_imports(copied)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "imported"),
    [
        ("engines/margin.py", "replirank.methods.ranksvm"),
        ("engines/margin.py", "replirank.methods.base"),
        ("data/arrays.py", "replirank.models.base"),
        ("metrics/conventions.py", "replirank.losses.listwise"),
        ("methods/base.py", "replirank.methods.families.descent"),
        ("methods/families/descent.py", "replirank.methods.listnet"),
    ],
)
def test_an_import_from_above_is_noticed(copied, file, imported):
    with open(copied / "replirank" / file, "a") as source:
        source.write(f"\nimport {imported}\n")
    done = lint_imports(copied)
    assert done.returncode == 1
    assert imported in done.stdout


def test_a_module_without_a_layer_is_noticed(copied):
    (copied / "replirank/helpers.py").touch()
    done = lint_imports(copied)
    assert done.returncode == 1
    assert "replirank.helpers" in done.stdout
