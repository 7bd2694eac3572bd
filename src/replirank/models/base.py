"""Scoring functions: what training moves, and what a method leaves behind to be kept, loaded and applied."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import jax
import numpy as np

from replirank.atomic import atomic_write
from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError

Array: TypeAlias = "np.ndarray | jax.Array"


def namespace(array: Array) -> ModuleType:
    """NumPy when a model scores, jax.numpy while it is trained: a formula in these terms serves both."""
    return array.__array_namespace__()


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A frozen dataclass of arrays. It is a JAX pytree: an optimizer can move its arrays.

    `score_query` is the model's one formula. In training the arrays and the features are JAX's in float32, in scoring
    NumPy's, the arrays in float64.
    """

    # Whether a document's score depends on that document alone. If not, each query is scored by itself.
    by_document: ClassVar[bool] = True

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        jax.tree_util.register_pytree_node(cls, _arrays, lambda _, arrays: cls(*arrays))

    @abstractmethod
    def score_query(self, features: Array) -> Array:
        """The scores of the documents of a query, from their features (documents, features)."""

    def score(self, data: RankingData) -> np.ndarray:
        """A score for each document: the higher, the earlier it is ranked."""
        exact = jax.tree.map(_in_float64, self)
        if self.by_document:
            return exact.score_query(data.features)
        return np.concatenate([exact.score_query(data.features[rows]) for rows in data])


def _arrays(model: Model) -> tuple[tuple[Array, ...], None]:
    return tuple(getattr(model, field.name) for field in fields(model)), None


def _in_float64(array: Array) -> np.ndarray:
    return np.asarray(array, dtype=np.float64) if np.issubdtype(array.dtype, np.floating) else np.asarray(array)


def save(path: str | PathLike, models: Mapping[str, Model]) -> None:
    """Keep named models (one for each fold) in one file."""
    arrays: dict[str, Any] = {}
    for name, model in models.items():
        arrays[f"{name}/class"] = np.array(f"{type(model).__module__}:{type(model).__qualname__}")
        for field in fields(model):
            arrays[f"{name}/{field.name}"] = np.asarray(getattr(model, field.name))
    with atomic_write(path) as temporary:
        np.savez(temporary, **arrays)


def load(path: str | PathLike) -> dict[str, Model]:
    grouped: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            name, _, field = key.rpartition("/")
            grouped.setdefault(name, {})[field] = stored[key]
    return {name: _model_class(str(arrays.pop("class")), path)(**arrays) for name, arrays in grouped.items()}


def _model_class(name: str, path: str | PathLike) -> type[Model]:
    """The class of this name, such as replirank.models.linear:Linear. A file makes no other package be imported."""
    module, _, attribute = name.partition(":")
    try:
        known = module.startswith("replirank.") or module in sys.modules
        found = getattr(importlib.import_module(module), attribute) if known else None
    except (ImportError, AttributeError):
        found = None
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise ReplirankError(
            f"{name!r} is not a model of this version", path=path, remedy="remove the file and train the method again"
        )
    return found
