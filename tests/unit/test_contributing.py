"""What contributors, pre-commit and GitHub run are targets of the Makefile."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from helpers import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())


def target(command: str) -> str:
    """The target of "make <target>"; anything else is refused."""
    found = re.fullmatch(r"make ([\w-]+)", command)
    assert found, f"{command!r} is not one make target"
    return found[1]


def test_every_target_has_a_recipe_and_a_line_of_help():
    rules = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    assert rules == TARGETS
    helped = set(re.findall(r'@echo "make ([a-z-]+) ', MAKEFILE))
    assert helped == TARGETS - {"help"}


def test_pre_commit_calls_make_targets():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert {target(hook["entry"]) for hook in local["hooks"]} == {"lint", "check"} <= TARGETS
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        assert hook["pass_filenames"] is False


def test_github_calls_make_targets():
    (path,) = (ROOT / ".github/workflows").glob("*.yml")
    workflow = yaml.safe_load(path.read_text())
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads the key `on` as true
    run = {
        name: [target(step["run"]) for step in job["steps"] if "run" in step] for name, job in workflow["jobs"].items()
    }
    assert run == {"check": ["check"], "test": ["test"]}
    assert set(run) <= TARGETS
    assert workflow["jobs"]["check"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_pages_name_targets_that_exist(page):
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE))
    assert {"reproduce", "test"} <= named <= TARGETS


def test_the_layers_in_contributing_are_those_of_the_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    page = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"```\n(cli\n.*?)```", page, re.DOTALL)[1]
    lines = [re.split(r"\s{2,}", line)[0].split(", ") for line in block.splitlines()]
    assert lines == [re.split(r" [|:] ", layer) for layer in contract["layers"]]
