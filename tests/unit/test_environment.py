"""The files that pin versions agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def locked() -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", LOCK, re.MULTILINE)}


def test_environment_and_lock_have_the_same_packages_in_the_same_versions():
    *_, pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pins = dict(requirement.split(";")[0].strip().split("==") for requirement in pip["pip"])
    assert pins == locked()
    assert len(pins) > 50


def test_every_package_that_the_project_names_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {*project["dependencies"], *project["optional-dependencies"]["dev"]}
    assert named <= set(locked())


def test_every_locked_package_has_hashes_and_one_version_for_all_pythons():
    requirements = re.findall(r"^[a-z0-9][^\n]*==", LOCK, re.MULTILINE)
    assert len(requirements) == len(locked())
    for block in re.split(r"\n(?=[a-z0-9])", LOCK.strip()):
        assert "--hash=sha256:" in block, block
        assert "python_full_version" not in block, block


def test_no_address_of_a_package_registry_is_committed():
    names = ("requirements.lock", "environment.yml", "pyproject.toml", "Makefile", ".ci/run", ".pre-commit-config.yaml")
    for name in (*names, ".github/workflows/tests.yml"):
        text = (ROOT / name).read_text()
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links ", text), name


def test_the_version_is_the_same_everywhere():
    import replirank

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == replirank.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
