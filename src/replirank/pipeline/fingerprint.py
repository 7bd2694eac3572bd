"""What the code of a job is, in sixteen digits.

Snakemake does not see edits in imported modules. Rules therefore carry as a parameter a fingerprint of the modules that
their work is made of: an edit makes again what it may change, and nothing else. It is taken from the code itself, so
that neither a comment nor a fresh checkout with new dates trains anything again.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@cache  # many rules ask for the same one
def fingerprint(*code: str | Path) -> str:
    """Of these modules ("replirank.evaluation.stats") or scripts (paths) and of all modules that they import."""
    digest = hashlib.sha256()
    for path in sources(*code):
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
        digest.update(f"{name}\n{ast.dump(_tree(path))}\n".encode())
    return digest.hexdigest()[:16]


def sources(*code: str | Path) -> list[Path]:
    """The files of these modules or scripts and of all modules of the package that they import, sorted."""
    found: set[Path] = set()
    pending = [one if isinstance(one, Path) else _file(one) for one in code]
    while pending:
        path = pending.pop()
        if path is not None and path not in found:
            found.add(path)
            pending += [_file(module) for module in _imports(path)]
    return sorted(found)


def _file(module: str) -> Path | None:
    """The file of a module of the package; None for other names, such as a function's."""
    name, *parts = module.split(".")
    if name != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts)
    if path.is_dir():
        return path / "__init__.py"
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from a import b` may name a module b of the package a, or something in a's own file.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names
