"""All that tables and figures are made from: the tidy frame, the data cards, the choices, the training histories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from replirank import methods
from replirank.errors import ReplirankError
from replirank.metrics.per_query import fold_mean

ORIGINS = {
    "real": "",
    "rebuilt": " (rebuilt)",
    "artificial": " (artificial)",
    "simulated": " (SIMULATED)",
}


@dataclass(frozen=True)
class Evidence:
    metrics: pd.DataFrame
    cards: Mapping[str, Mapping[str, Any]]
    choices: Mapping[tuple[str, str], list[dict[str, Any]]]  # (dataset, method) -> folds
    history: Mapping[tuple[str, str], pd.DataFrame]
    paper: Mapping[str, Any]
    config: Mapping[str, Any]

    @classmethod
    def read(
        cls,
        *,
        metrics: str | PathLike,
        cards: Iterable[str],
        choices: Iterable[str],
        history: Iterable[str],
        paper: str | PathLike,
        config: Mapping[str, Any],
    ) -> Evidence:
        histories = {}
        for path in history:
            frame = pd.read_csv(path)
            if len(frame):
                histories[_run(path)] = frame
        loaded = [json.loads(Path(path).read_text()) for path in cards]
        return cls(
            metrics=pd.read_parquet(metrics),
            cards={card["id"]: card for card in loaded},
            choices={_run(path): json.loads(Path(path).read_text())["folds"] for path in choices},
            history=histories,
            paper=yaml.safe_load(Path(paper).read_text()),
            config=config,
        )

    @property
    def datasets(self) -> list[str]:
        return list(self.config["run"]["datasets"])

    @property
    def methods(self) -> list[str]:
        return list(self.config["run"]["methods"])

    def title(self, method: str) -> str:
        """A method's name for people: config.yaml's, or the method's own."""
        given = self.config["methods"][method].get("title")
        return given or methods.find(method).title

    def label(self, dataset: str) -> str:
        """A data set's name for people. Simulated data never passes for real."""
        card = self.cards[dataset]
        return f"{card['title']}{ORIGINS[card['origin']]}"

    def origin(self, dataset: str) -> str:
        return self.cards[dataset]["origin"]

    def convention(self, dataset: str) -> str:
        return self.config["datasets"][dataset]["convention"]

    def test(self, dataset: str) -> pd.DataFrame:
        """The rows of this data set's test queries."""
        rows = self.metrics[(self.metrics["dataset"] == dataset) & (self.metrics["split"] == "test")]
        if rows.empty:
            raise ReplirankError(f"no results on {dataset}", remedy="add it to run: datasets: in config.yaml")
        return rows

    def means(self, dataset: str, columns: list[str]) -> pd.DataFrame:
        """The mean over queries, then over folds, for each method."""
        return fold_mean(self.test(dataset), columns, ["method"]).loc[self.methods]

    def notes(self, datasets: Iterable[str]) -> list[str]:
        """What must stand under everything that is made from these data sets."""
        notes = []
        for dataset in datasets:
            card = self.cards[dataset]
            if card["origin"] == "simulated":
                notes.append(
                    f"{card['title']}: SIMULATED data. These numbers say that the pipeline works; "
                    "they say nothing about the paper."
                )
            elif card["origin"] == "rebuilt":
                notes.append(f"{card['title']}: rebuilt from copies, not the original bytes (docs/deviations.md).")
            if card["note"]:
                notes.append(f"{card['title']}: {card['note']}.")
        return notes


def _run(path: str) -> tuple[str, str]:
    """results/choices/ohsumed/ranksvm.json -> ("ohsumed", "ranksvm")"""
    return Path(path).parent.name, Path(path).stem
