"""One file for each paper: its tables and figures from the evidence.

A paper's YAML (workflow/papers/<paper>.yaml) names each table and figure with a `kind`; the paper's module maps kinds
to functions in TABLES and FIGURES.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from replirank.errors import ReplirankError


def maker(paper: str, collection: str, kind: str) -> Callable[..., Any]:
    """The function that makes this kind of table ("TABLES") or figure ("FIGURES")."""
    makers = getattr(importlib.import_module(f"{__name__}.{paper}"), collection)
    if kind not in makers:
        raise ReplirankError(
            f"{paper} has no {kind!r} among its {collection}",
            path=f"workflow/papers/{paper}.yaml",
            remedy=f"known are {', '.join(sorted(makers))}",
        )
    return makers[kind]
