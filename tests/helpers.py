"""What several tests do: make small data, run the workflow elsewhere, and look at what came out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import yaml

from replirank.data.arrays import RankingData

ROOT = Path(__file__).parents[1]


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
