"""What several tests do: make small data, run the workflow elsewhere, and look at what came out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from replirank.data.arrays import RankingData
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol

ROOT = Path(__file__).parents[1]
# A block of a page in docs that a test follows: what it is (file, config or run), a file's path, the text.
STEP = re.compile(r"<!-- (file|config|run)(?:: (\S+))? -->\n```\w+\n(.*?)```", re.DOTALL)
# What a checkout has; not what was generated in it.
PARTS = ["Snakefile", "config.yaml", "environment.yml", "pyproject.toml", "src", "workflow", "profiles", "tests"]


def ranking(features, labels, lengths=None) -> RankingData:
    """Queries of these lengths; one query where none are given."""
    labels = np.asarray(labels, dtype=np.float32)
    lengths = [len(labels)] if lengths is None else lengths
    return RankingData(
        features=np.asarray(features, dtype=np.float32),
        labels=labels,
        offsets=np.cumsum([0, *lengths]),
        query_ids=np.arange(len(lengths)),
    )


def evidence_of(name: str, origins: dict[str, str], methods: list[str], **rest: Any) -> Evidence:
    """What a paper's tables are made from: data sets of these origins, in LETOR 3.0's convention, and the `rest`."""
    protocol = Protocol(
        paper=name,
        roles={dataset: dataset for dataset in origins},
        methods=methods,
        conventions=dict.fromkeys(origins, "letor3"),
        select_by="map",
        splits=["test"],
        draws=1,
    )
    cards = {
        dataset: {"title": dataset.upper().replace("_", "-"), "origin": origin, "note": ""}
        for dataset, origin in origins.items()
    }
    return Evidence(**{"protocol": protocol, "paper": {}, "seed": 1, "flips": 2000, "cards": cards, **rest})


def command_line(folder: Path, *words: str, config: dict | None, quick: bool, root: Path = ROOT) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    configs = [str(root / "tests/quick.yaml")] if quick else []
    if config:
        path = folder.parent / f"{folder.name}.config.yaml"
        path.write_text(yaml.safe_dump(config))
        configs.append(str(path))
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder)),
        *(["--configfile", *configs] if configs else []),
        *(words or ("--cores", "2")),
    ]


def environment() -> dict[str, str]:
    """Ours, with this Python's commands first on the PATH, as in an activated environment."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def tables(folder: Path) -> dict[str, bytes]:
    """The bytes of every table but those of times, which no two runs share."""
    found = sorted((folder / "results/tables").rglob("*.*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if not path.stem.endswith("times")}


def small_project(project: Path) -> Path:
    """A copy of the project whose own config.yaml has little data and few methods: commands in docs name no other."""
    project.mkdir()
    for part in PARTS:
        place = ROOT / part
        if place.is_dir():
            shutil.copytree(place, project / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(place, project / part)
    config, quick = (yaml.safe_load((project / p).read_text()) for p in ("config.yaml", "tests/quick.yaml"))
    config["run"] = ["letor"]
    config["papers"]["letor"] |= {"datasets": ["ohsumed"], "methods": ["regression", "bm25"]}
    config["datasets"]["ohsumed"] |= quick["datasets"]["ohsumed"]
    config |= {"always_simulate": True, "flips": 1000}
    (project / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return project


def follow(project: Path, page: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Do what a page of docs says, block by block: the blocks as (what, path), and what the commands said."""
    steps = STEP.findall((ROOT / "docs" / page).read_text())
    outputs = []
    for kind, where, text in steps:
        if kind == "file":
            (project / where).parent.mkdir(exist_ok=True)
            (project / where).write_text(text)
        elif kind == "config":
            config = yaml.safe_load((project / "config.yaml").read_text())
            add_to(config, yaml.safe_load(text))
            (project / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        else:
            outputs.append(run_in(project, text))
    return [(kind, where) for kind, where, _ in steps], outputs


def add_to(config: dict, change: dict) -> None:
    """As a reader would: "..." stands for what a list has."""
    for key, value in change.items():
        if isinstance(value, dict) and key in config:
            add_to(config[key], value)
        elif isinstance(value, list) and value[0] == "...":
            config[key] += value[1:]
        else:
            assert key not in config, f"{key} is there"
            config[key] = value


def run_in(project: Path, command: str) -> str:
    env = {**environment(), "PYTHONPATH": str(project / "src")}
    done = subprocess.run(["bash", "-euc", command], cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout + done.stderr


def scored(output: str) -> set[str]:
    """What Snakemake says that it trained: paper/dataset/method."""
    outputs = "\n".join(re.findall(r"output: .*", output))
    return set(re.findall(r"results/scores/(\w+/\w+/\w+)\.", outputs))
