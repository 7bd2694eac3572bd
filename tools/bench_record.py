"""What a bench measured, kept in docs/bench with its command, the day, the machine and the versions."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs/bench"


def record(name: str, rows: Sequence[dict[str, Any]], folder: Path = FOLDER) -> Path:
    """Write docs/bench/<name>.json. Each row says `what`, and what was measured: `seconds`, `GiB` ..."""
    script, *options = sys.argv
    found = {
        "command": " ".join(["python", f"tools/{Path(script).name}", *options]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "GiB": memory()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("jax", "numpy")}},
        "rows": [
            {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()} for row in rows
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def processor() -> str:
    """Its name, where Linux tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def memory() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
