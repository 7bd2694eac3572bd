"""Where the results came from, as results/provenance.json says it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from importlib.metadata import version

from helpers import ROOT

from replirank.pipeline import provenance as module
from replirank.pipeline.provenance import PACKAGES, current_commit, package_versions, provenance

CONFIG = {"seed": 7, "run": ["letor"]}
CARD = {
    "id": "ohsumed",
    "origin": "real",
    "source": "OHSUMED",
    "checksum": "ab",
    "original_bytes": True,
    "queries": 106,
}
CODE = {"results/tables/letor/ohsumed.csv": "1" * 16, "results/scores/letor/ohsumed/bm25.parquet": "0" * 16}


def test_names_data_config_versions_commit_and_the_code_behind_each_file():
    found = provenance(CONFIG, [CARD], "abc", package_versions(), CODE)
    assert (found["seed"], found["config"], found["commit"]) == (7, CONFIG, "abc")
    assert found["config_sha256"] == hashlib.sha256(b'{"run": ["letor"], "seed": 7}').hexdigest()
    assert found["data"] == {
        "ohsumed": {"origin": "real", "source": "OHSUMED", "checksum": "ab", "original_bytes": True}
    }
    assert found["packages"]["numpy"] == version("numpy")
    assert list(found["code"].items()) == sorted(CODE.items())
    assert json.loads(json.dumps(found)) == found


def test_the_packages_are_those_that_the_project_needs_to_run():
    """Whatever tests and tools need besides cannot have made a result."""
    assert set(PACKAGES) <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


def test_the_commit_is_that_of_the_checkout_and_says_when_files_differ(tmp_path, monkeypatch):
    file = tmp_path / "src/replirank/pipeline/provenance.py"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setattr(module, "__file__", str(file))
    assert current_commit() is None  # no checkout

    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init")
    assert current_commit() is None  # no commit yet
    git("add", ".")
    git("-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "--message", "first")
    clean = current_commit()
    assert re.fullmatch("[0-9a-f]{40}", clean)
    file.write_text("EDITED = True\n")
    assert current_commit() == f"{clean} (modified)"
