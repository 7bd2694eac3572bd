"""results/provenance.json names the code that made each file, and is made again when that code changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from helpers import ROOT

CONFIG = {"run": ["letor"], "papers": {"letor": {"datasets": ["ohsumed"], "methods": ["bm25", "regression"]}}}


@pytest.fixture(scope="module")
def project(snakemake, tmp_path_factory):
    """A copy of the project, no checkout, in which provenance has been made once."""
    project = tmp_path_factory.mktemp("provenance") / "project"
    for part in ("Snakefile", "config.yaml", "environment.yml", "src", "workflow", "profiles", "tests/quick.yaml"):
        (project / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / part, project / part)
    snakemake(run_folder(project), "--cores", "1", "results/provenance.json", config=CONFIG, root=project)
    return project


def run_folder(project):
    return project.parent / "run"


@pytest.fixture
def to_do(project, snakemake):
    """A function that gives the rules of the jobs to run for the file, each with the methods that it is run for."""

    def dry_run() -> dict[str, set[str]]:
        words = ("--cores", "1", "--dry-run", "results/provenance.json")
        done = snakemake(run_folder(project), *words, config=CONFIG, root=project)
        jobs: dict[str, set[str]] = {}
        for rule, details in re.findall(
            r"^(?:local)?rule (\w+):\n((?: +.*\n)+)", done.stdout + done.stderr, re.MULTILINE
        ):
            jobs.setdefault(rule, set()).update(re.findall(r"method=(\w+)", details))
        return jobs

    return dry_run


@pytest.fixture
def edit(project):
    """A function that appends a line to a file of the package; afterwards the file is as it was."""
    before = {}

    def append(name: str, line: str) -> None:
        path = project / "src/replirank" / name
        before[path] = path.read_text()
        path.write_text(f"{before[path]}\n{line}\n")

    yield append
    for path, text in before.items():
        path.write_text(text)


def test_names_the_code_of_scores_choices_tables_and_figures(project):
    found = json.loads((run_folder(project) / "results/provenance.json").read_text())
    code = found["code"]
    assert {
        "results/data/ohsumed/arrays.npz",
        "results/scores/letor/ohsumed/bm25.parquet",
        "results/choices/letor/ohsumed/regression.json",
        "results/tables/letor/ohsumed.csv",
        "figures/letor/ndcg.png",
    } <= set(code)
    assert all(re.fullmatch("[0-9a-f]{16}", fingerprint) for fingerprint in code.values())
    of_scores = {method: code[f"results/scores/letor/ohsumed/{method}.parquet"] for method in ("bm25", "regression")}
    assert of_scores["bm25"] != of_scores["regression"]
    assert of_scores["regression"] == code["results/choices/letor/ohsumed/regression.json"]
    assert found["commit"] is None


def test_an_edit_of_a_method_makes_its_scores_and_provenance_again(to_do, edit):
    assert to_do() == {}
    edit("methods/regression.py", "EDITED = True")
    jobs = to_do()
    assert jobs["train"] == {"regression"}
    assert "provenance" in jobs


def test_an_edit_of_what_makes_tables_makes_provenance_again_and_trains_nothing(to_do, edit):
    edit("reporting/tables.py", "EDITED = True")
    assert set(to_do()) == {"table", "provenance"}


def test_a_comment_changes_nothing(to_do, edit):
    edit("reporting/tables.py", "# a remark")
    assert to_do() == {}


def test_another_commit_makes_provenance_again_and_nothing_else(to_do, project):
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    for words in (["init"], ["add", "."], [*identity, "commit", "--message", "first"]):
        subprocess.run(["git", "-C", str(project), *words], check=True, capture_output=True)
    assert set(to_do()) == {"provenance"}
    shutil.rmtree(project / ".git")
