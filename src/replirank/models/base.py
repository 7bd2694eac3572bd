"""Scoring functions: what a method leaves behind, to be kept, loaded and applied."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from typing import ClassVar

import numpy as np

from replirank.atomic import atomic_write
from replirank.data.arrays import RankingData
from replirank.errors import ReplirankError


class Model(ABC):
    """A frozen dataclass of arrays with a `kind`, which names it in files."""

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Model]]] = {}

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        Model.kinds[cls.kind] = cls

    @abstractmethod
    def score(self, data: RankingData) -> np.ndarray:
        """A score for each document: the higher, the earlier it is ranked."""


def _import_all_kinds() -> None:
    """A model names itself when its module is imported; a file is found by being in this folder."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{__package__}.{module.name}")


def save(path: str | PathLike, models: Mapping[str, Model]) -> None:
    """Keep named models (one for each fold) in one file."""
    arrays = {}
    for name, model in models.items():
        arrays[f"{name}/kind"] = np.array(model.kind)
        for field in fields(model):
            arrays[f"{name}/{field.name}"] = np.asarray(getattr(model, field.name))
    with atomic_write(path) as temporary:
        np.savez(temporary, **arrays)


def load(path: str | PathLike) -> dict[str, Model]:
    _import_all_kinds()
    grouped: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            name, _, field = key.rpartition("/")
            grouped.setdefault(name, {})[field] = stored[key]
    models = {}
    for name, arrays in grouped.items():
        kind = str(arrays.pop("kind"))
        if kind not in Model.kinds:
            raise ReplirankError(
                f"unknown kind of model {kind!r}", path=path, remedy=f"known are {', '.join(sorted(Model.kinds))}"
            )
        models[name] = Model.kinds[kind](**arrays)
    return models
