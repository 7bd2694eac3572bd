"""A paper's protocol: which data, which methods, and what chooses. It is the paper's entry in config.yaml, resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replirank.metrics.conventions import convention
from replirank.metrics.registry import parse


@dataclass(frozen=True)
class Protocol:
    paper: str
    roles: Mapping[str, str]  # what a data set is to the paper ("web") -> the data set that is run ("mq2007")
    methods: Sequence[str]
    conventions: Mapping[str, str]  # of each data set: what chooses on validation and what tables state
    select_by: str  # the validation metric that chooses
    splits: Sequence[str]  # whose scores are kept and evaluated
    draws: int  # of what a paper draws at random, where it does

    @property
    def datasets(self) -> list[str]:
        """Those of all roles, each once, in the order of config.yaml."""
        return list(dict.fromkeys(self.roles.values()))


def resolve(config: Mapping[str, Any], paper: str, found: Callable[[str], bool]) -> Protocol:
    """The paper's entry with one data set for each role. `found` says whether a data set is on this machine."""
    entry = config["papers"][paper]
    roles = {
        role: next((name for name in names if at_hand(config, name, found)), names[-1])
        for role, names in alternatives(entry).items()
    }
    return Protocol(
        paper=paper,
        roles=roles,
        methods=list(entry["methods"]),
        conventions={name: entry.get("convention", config["datasets"][name]["convention"]) for name in roles.values()},
        select_by=entry["select_by"],
        splits=list(entry["splits"]),
        draws=entry["draws"],
    )


def alternatives(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """The data sets that may fill each role of a paper's entry. In a plain list each data set is its own role.

    >>> alternatives({"datasets": {"web": ["mq2007", "web"], "trec": "td2003_30"}})
    {'web': ['mq2007', 'web'], 'trec': ['td2003_30']}
    >>> alternatives({"datasets": ["ohsumed", "mq2008"]})
    {'ohsumed': ['ohsumed'], 'mq2008': ['mq2008']}
    """
    datasets = entry["datasets"]
    if not isinstance(datasets, Mapping):
        datasets = {name: name for name in datasets}
    return {role: [names] if isinstance(names, str) else list(names) for role, names in datasets.items()}


def at_hand(config: Mapping[str, Any], dataset: str, found: Callable[[str], bool]) -> bool:
    """Whether a data set need not be simulated: it is found, or config.yaml has an address to download it from."""
    return not config["always_simulate"] and (found(dataset) or bool(config["datasets"][dataset]["download"]))


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
