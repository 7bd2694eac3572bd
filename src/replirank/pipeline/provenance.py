"""Where the results came from: data, config, seed, versions, and the code that made each file."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from replirank import __version__

PACKAGES = [
    "jax",
    "jinja2",
    "lightgbm",
    "matplotlib",
    "numpy",
    "optax",
    "pandas",
    "pyarrow",
    "scipy",
    "snakemake",
    "tabulate",
]


def provenance(
    config: Mapping[str, Any],
    cards: Iterable[Mapping[str, Any]],
    commit: str | None,
    packages: Mapping[str, str],
    code: Mapping[str, str],
) -> dict[str, Any]:
    """`packages` are their versions; `code` has the fingerprint of the code behind each file (fingerprint.py)."""
    return {
        "replirank": __version__,
        "commit": commit,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "packages": dict(packages),
        "seed": config["seed"],
        "config_sha256": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "config": config,
        "data": {
            card["id"]: {key: card[key] for key in ("origin", "source", "checksum", "original_bytes")} for card in cards
        },
        "code": dict(sorted(code.items())),
    }


def package_versions() -> dict[str, str]:
    """Of the packages whose numbers or files the results are."""
    return {name: version(name) for name in PACKAGES}


def current_commit() -> str | None:
    """The commit of the code, marked when files differ from it; None where this is no checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" (modified)" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):  # no git here, or no commit yet
        return None
