"""One room for each paper: what it printed, and its tables and figures from the evidence.

A room's paper.yaml names each table and figure with a `kind`; its tables.py maps kinds to functions in TABLES and
FIGURES.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from replirank.errors import ReplirankError


def maker(paper: str, collection: str, kind: str) -> Callable[..., Any]:
    """The function that makes this kind of table ("TABLES") or figure ("FIGURES")."""
    makers = getattr(importlib.import_module(f"{__name__}.{paper}.tables"), collection)
    if kind not in makers:
        raise ReplirankError(
            f"{paper} has no {kind!r} among its {collection}",
            path=f"src/replirank/papers/{paper}/paper.yaml",
            remedy=f"known are {', '.join(sorted(makers))}",
        )
    return makers[kind]
