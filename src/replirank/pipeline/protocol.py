"""A paper's protocol: which data, which methods, and what chooses. It is the paper's entry in config.yaml, resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replirank.metrics.conventions import convention
from replirank.metrics.registry import parse


@dataclass(frozen=True)
class Protocol:
    paper: str
    datasets: Sequence[str]
    methods: Sequence[str]
    conventions: Mapping[str, str]  # of each data set: what chooses on validation and what tables state
    select_by: str  # the validation metric that chooses
    splits: Sequence[str]  # whose scores are kept and evaluated
    draws: int  # of what a paper draws at random, where it does


def resolve(config: Mapping[str, Any], paper: str, at_hand: Callable[[str], bool]) -> Protocol:
    """The paper's entry with one data set in the place of alternatives."""
    entry = config["papers"][paper]
    datasets = [first_at_hand(_alternatives(one), at_hand) for one in entry["datasets"]]
    return Protocol(
        paper=paper,
        datasets=datasets,
        methods=list(entry["methods"]),
        conventions={name: entry.get("convention", config["datasets"][name]["convention"]) for name in datasets},
        select_by=entry["select_by"],
        splits=list(entry["splits"]),
        draws=entry["draws"],
    )


def first_at_hand(alternatives: Sequence[str], at_hand: Callable[[str], bool]) -> str:
    """The first data set that need not be simulated; the last where all would be.

    >>> first_at_hand(["mq2007", "web"], {"mq2007"}.__contains__), first_at_hand(["mq2007", "web"], set().__contains__)
    ('mq2007', 'web')
    """
    return next(filter(at_hand, alternatives), alternatives[-1])


def named(entry: Mapping[str, Any]) -> Iterator[str]:
    """Every data set that a paper's entry names, the alternatives too."""
    for one in entry["datasets"]:
        yield from _alternatives(one)


def check_metric_names(config: Mapping[str, Any], papers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse metrics and conventions that are not registered: the schemas do not repeat the names.

    `papers` are the contents of src/replirank/papers/<paper>/paper.yaml, by paper.
    """
    for entry in config["papers"].values():
        parse(entry["select_by"], path="config.yaml")
    for entry in (*config["papers"].values(), *config["datasets"].values()):
        if "convention" in entry:
            convention(entry["convention"], path="config.yaml")
    for name, paper in papers.items():
        path = f"src/replirank/papers/{name}/paper.yaml"
        metrics = []
        for value in paper.get("published", []):
            convention(value["convention"], path=path)
            metrics += value["values"]
        for table in paper.get("tables", {}).values():
            metrics += table.get("metrics", []) + ([table["metric"]] if "metric" in table else [])
        for metric in metrics:
            parse(metric, path=path)


def _alternatives(one: str | Sequence[str]) -> Sequence[str]:
    return [one] if isinstance(one, str) else one
