"""One room for each paper: a folder with all that is the paper's own (docs/adding-a-paper.md).

paper.yaml says what the paper printed and what to make. Its tables.py maps kinds of tables to functions in TABLES, its
figures.py does so in FIGURES; where a room has no kind of that name, or no such file, that of common/ is taken. An
experiment that is not a method on a data set stands there too, with its rules.smk.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from replirank.errors import ReplirankError


def maker(paper: str, part: str, kind: str) -> Callable[..., Any]:
    """The function that makes this kind of `part` ("tables" or "figures"): the room's own, or else the common one."""
    makers = {**_makers("common", part), **_makers(paper, part)}
    if kind not in makers:
        raise ReplirankError(
            f"there is no kind {kind!r} of {part} for {paper}",
            path=f"src/replirank/papers/{paper}/paper.yaml",
            remedy=f"add it to {part}.py beside that file, or take one of {', '.join(sorted(makers))}",
        )
    return makers[kind]


def _makers(room: str, part: str) -> dict[str, Callable[..., Any]]:
    name = f"{__name__}.{room}.{part}"
    if importlib.util.find_spec(name) is None:
        return {}
    return getattr(importlib.import_module(name), part.upper())
