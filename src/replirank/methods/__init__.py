"""The methods, one file each; a file is found by being here. The file's name is the method's id."""

from __future__ import annotations

import importlib
import pkgutil

from replirank.errors import ReplirankError
from replirank.methods.base import Method

__all__ = ["Method", "find", "ids"]


def ids() -> list[str]:
    """The ids of all methods, without importing them."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name != "base" and not found.ispkg)


def find(method: str) -> type[Method]:
    """The method with this id."""
    if method not in ids():
        raise ReplirankError(
            f"unknown method {method!r}",
            remedy=f"known are {', '.join(ids())}; a new one is a file src/replirank/methods/{method}.py",
        )
    module = importlib.import_module(f"{__name__}.{method}")
    here = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Method) and value.__module__ == module.__name__
    ]
    if len(here) != 1:
        raise ReplirankError(
            f"{len(here)} methods in one file", path=module.__file__, remedy="a file holds one subclass of Method"
        )
    return here[0]
