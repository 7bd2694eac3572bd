"""All that tables and figures are made from: the tidy frame, the data cards, the choices, the training histories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from replirank.errors import ReplirankError
from replirank.evaluation.per_dataset import numbers_again
from replirank.metrics.per_query import fold_mean
from replirank.reporting.protocol import Protocol
from replirank.reporting.published import Published, published_values, read_sheets

ORIGINS = {
    "real": "",
    "rebuilt": " (rebuilt)",
    "derived": " (derived)",
    "artificial": " (artificial)",
    "simulated": " (SIMULATED)",
}


@dataclass(frozen=True)
class Evidence:
    """Of one paper. Where a table or figure needs files of its own, these are `needs`; the rest may then be empty."""

    protocol: Protocol
    paper: Mapping[str, Any]  # src/replirank/papers/<paper>/paper.yaml
    seed: int
    flips: int  # sign flips of the randomization tests
    titles: Mapping[str, str] = field(default_factory=dict)  # of methods
    metrics: pd.DataFrame = field(default_factory=pd.DataFrame)
    cards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    choices: Mapping[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)  # (dataset, method) -> folds
    history: Mapping[tuple[str, str], pd.DataFrame] = field(default_factory=dict)
    unsupported: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (dataset, method) -> the reason
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # role -> title, and how to get the data set
    published: Sequence[Published] = ()
    sheets: pd.DataFrame = field(default_factory=pd.DataFrame)  # published.read_sheets
    needs: Sequence[Path] = ()

    @classmethod
    def read(
        cls,
        files: Mapping[str, Any],
        *,
        protocol: Protocol,
        titles: Mapping[str, str],
        missing: Mapping[str, Mapping[str, str]],
        seed: int,
        flips: int,
    ) -> Evidence:
        """`files` are those of a rule's input: paper; needs, or metrics, cards, choices and history, or all.

        `titles` are config.yaml's, which stand before the methods' own.
        """
        stated: dict[str, Any] = {"protocol": protocol, "missing": missing, "seed": seed, "flips": flips}
        stated["paper"] = paper = yaml.safe_load(Path(files["paper"]).read_text())
        stated["sheets"] = sheets = read_sheets(paper, Path(files["paper"]).parent)
        stated["published"] = published_values(paper, sheets)
        stated["needs"] = [Path(path) for path in files.get("needs", ())]
        if "metrics" not in files:
            return cls(**stated, titles=titles)
        cards = [json.loads(Path(path).read_text()) for path in files["cards"]]
        choices = {_run(path): json.loads(Path(path).read_text()) for path in files["choices"]}
        histories = {_run(path): pd.read_csv(path) for path in files["history"]}
        return cls(
            **stated,
            titles={**{method: choice["title"] for (_, method), choice in choices.items()}, **titles},
            metrics=pd.read_parquet(files["metrics"]),
            cards={card["id"]: card for card in cards},
            choices={run: choice["folds"] for run, choice in choices.items() if "unsupported" not in choice},
            history={run: frame for run, frame in histories.items() if len(frame)},
            unsupported={run: choice["unsupported"] for run, choice in choices.items() if "unsupported" in choice},
        )

    @classmethod
    def of_rule(cls, files: Any, params: Any) -> Evidence:
        """From the input and the parameters of Snakemake's rules for tables and figures."""
        return cls.read(
            dict(files.items()),
            protocol=Protocol(**params.protocol),
            titles=params.titles,
            missing=params.missing,
            seed=params.seed,
            flips=params.flips,
        )

    @property
    def datasets(self) -> list[str]:
        return self.protocol.datasets

    def dataset(self, role: str) -> str:
        """The data set in this role of the paper's protocol."""
        if role not in self.protocol.roles:
            raise ReplirankError(
                f"{self.protocol.paper} was run without a data set in the role {role!r}",
                path="config.yaml",
                remedy=f"give it one under papers: {self.protocol.paper}: datasets:",
            )
        return self.protocol.roles[role]

    @property
    def methods(self) -> list[str]:
        return list(self.protocol.methods)

    def supported(self, dataset: str) -> list[str]:
        """The methods that could be trained on this data set."""
        return [method for method in self.methods if (dataset, method) not in self.unsupported]

    def title(self, method: str) -> str:
        """A method's name for people."""
        return self.titles[method]

    def label(self, dataset: str) -> str:
        """A data set's name for people. Simulated data never passes for real."""
        card = self.cards[dataset]
        return f"{card['title']}{ORIGINS[card['origin']]}"

    def origin(self, dataset: str) -> str:
        return self.cards[dataset]["origin"]

    def is_real(self, dataset: str) -> bool:
        """Whether published numbers may stand beside ours: the data is the original, or was rebuilt from copies."""
        return self.origin(dataset) in ("real", "rebuilt")

    def convention(self, dataset: str) -> str:
        return self.protocol.conventions[dataset]

    def rows(self, dataset: str, split: str = "test") -> pd.DataFrame:
        """The rows of this data set's queries in this split."""
        rows = self.metrics[(self.metrics["dataset"] == dataset) & (self.metrics["split"] == split)]
        if rows.empty:
            raise ReplirankError(
                f"no {split} results on {dataset}",
                path="config.yaml",
                remedy=f"add the data set and the split to papers: {self.protocol.paper}:",
            )
        return numbers_again(rows)

    def means(self, dataset: str, columns: list[str], split: str = "test") -> pd.DataFrame:
        """The mean over queries, then over folds, for each method; NaN for one that does not support the data set."""
        means = fold_mean(self.rows(dataset, split), columns, ["method"])
        return means.loc[self.supported(dataset)].reindex(self.methods)

    def missing_notes(self) -> list[str]:
        """How to get the data sets that were left out."""
        return [f"{missing['title']} is not at hand: {missing['remedy']}." for missing in self.missing.values()]

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
            for method in self.methods:
                if (dataset, method) in self.unsupported:
                    notes.append(f"{self.title(method)} on {card['title']}: {self.unsupported[dataset, method]}.")
        return notes


def _run(path: str) -> tuple[str, str]:
    """results/choices/letor/ohsumed/ranksvm.json -> ("ohsumed", "ranksvm")"""
    return Path(path).parent.name, Path(path).stem
