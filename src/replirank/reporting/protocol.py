"""A paper's protocol: which data, which methods, and what chooses. It is the paper's entry in config.yaml, resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from replirank.data.specs import SPECS
from replirank.errors import ReplirankError
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
    simulated: Sequence[str] = ()  # the data sets that are simulated
    missing: Mapping[str, str] = field(default_factory=dict)  # role -> the data set that is not at hand and is left out

    @property
    def datasets(self) -> list[str]:
        """Those of all roles, each once, in the order of config.yaml."""
        return list(dict.fromkeys(self.roles.values()))


def resolve(config: Mapping[str, Any], paper: str, at_hand: Callable[[str], bool]) -> Protocol:
    """The paper's entry with one data set for each role.

    `at_hand` says whether a data set is on this machine. Where some of a paper's data is, the rest is left out, but for
    the roles in simulate_missing; where none is, all is simulated. on_missing: simulate asks for both.
    """
    entry = config["papers"][paper]
    real = {role: next((name for name in names if at_hand(name)), None) for role, names in alternatives(entry).items()}
    leave_out = config["on_missing"] == "skip" and not config["always_simulate"] and any(real.values())
    roles: dict[str, str] = {}
    missing: dict[str, str] = {}
    for role, names in alternatives(entry).items():
        if found := real[role]:
            roles[role] = found
        elif leave_out and not _is_made(names[0]) and role not in entry.get("simulate_missing", ()):
            missing[role] = names[0]
        else:
            roles[role] = next(filter(_is_made, names), names[0])
    datasets = list(dict.fromkeys(roles.values()))
    return Protocol(
        paper=paper,
        roles=roles,
        methods=list(entry["methods"]),
        conventions={name: convention_of(config, paper, name) for name in datasets},
        select_by=entry["select_by"],
        splits=list(entry["splits"]),
        draws=entry["draws"],
        simulated=[name for name in datasets if not at_hand(name) and not _is_artificial(name)],
        missing=missing,
    )


def convention_of(config: Mapping[str, Any], paper: str, dataset: str) -> str:
    """The convention of a data set in a paper: the paper's own, if it has one."""
    return config["papers"][paper].get("convention", config["datasets"][dataset]["convention"])


def alternatives(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """The data sets that may fill each role of a paper's entry. In a plain list each is its own role.

    >>> alternatives({"datasets": {"web": ["mq2007", "web"], "trec": "td2003"}})
    {'web': ['mq2007', 'web'], 'trec': ['td2003']}
    >>> alternatives({"datasets": ["ohsumed", ["np2004", "np2004_30"]]})
    {'ohsumed': ['ohsumed'], 'np2004': ['np2004', 'np2004_30']}
    """
    datasets = entry["datasets"]
    if not isinstance(datasets, Mapping):
        datasets = {names if isinstance(names, str) else names[0]: names for names in datasets}
    return {role: [names] if isinstance(names, str) else list(names) for role, names in datasets.items()}


def _is_made(dataset: str) -> bool:
    return dataset in SPECS and SPECS[dataset].made


def _is_artificial(dataset: str) -> bool:
    return dataset in SPECS and SPECS[dataset].artificial


class Output(NamedTuple):
    """A table or figure to make: its entry in paper.yaml, and the protocol with the data sets that it shows."""

    entry: Mapping[str, Any]
    protocol: Protocol


def outputs(entries: Mapping[str, Mapping[str, Any]], protocol: Protocol, *, of_missing: bool) -> dict[str, Output]:
    """The paper's tables or figures by name, real and simulated data apart.

    An entry with a role is made where the protocol has a data set in that role and, if `of_missing`, where that data
    set is missing, to say so. An entry `for_each_dataset` is made for each, under the name of the role.
    """
    found: dict[str, Output] = {}
    for group in _groups(protocol):
        roles = [*group.roles, *(group.missing if of_missing else ())]
        of_real_data = set(found)
        for name, entry in _entries(entries, roles):
            if entry.get("real_only") and set(group.datasets) <= set(group.simulated):
                continue
            if name in of_real_data:
                name, entry = f"{name}_simulated", {**entry, "title": f"{entry['title']} (SIMULATED data)"}
            if name in found:
                raise ReplirankError(
                    f"two tables or figures of {protocol.paper} would be called {name!r}",
                    path="config.yaml",
                    remedy="give the data set or role of this name another one",
                )
            found[name] = Output(entry, group)
    return found


def _entries(entries: Mapping[str, Mapping[str, Any]], roles: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The entries that these roles allow, each with its kind, under the name of what is made."""
    for name, entry in entries.items():
        entry = {"kind": name, **entry}
        if entry.get("for_each_dataset"):
            yield from ((role, {**entry, "role": role}) for role in roles)
        elif entry.get("role") in (None, *roles):
            yield name, entry


def _groups(protocol: Protocol) -> list[Protocol]:
    """The protocols of the real and of the simulated data sets. What is missing stands with the real ones."""
    simulated = {role: name for role, name in protocol.roles.items() if name in protocol.simulated}
    real = {role: name for role, name in protocol.roles.items() if role not in simulated}
    if not real or not simulated:
        return [protocol]
    return [replace(protocol, roles=real, simulated=[]), replace(protocol, roles=simulated, missing={})]


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
