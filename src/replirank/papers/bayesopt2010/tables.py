"""bayesopt2010: a linear ranking function against the Bayes-optimal one, under three surrogate losses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from replirank.errors import ReplirankError
from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.metrics.registry import display_name
from replirank.papers.common import Entry
from replirank.papers.common.tables import NOT_AT_HAND
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table
from replirank.seeds import derive

LOSSES = {"cosine": "cosine", "cross_entropy": "cross entropy", "squared": "squared"}
METRICS = ("ndcg@1", "ndcg@5", "ndcg@10")
SIGNIFICANT = 0.05  # "Results achieving p < 0.05 are reported as significant" (section 6.1)
VERDICTS = ("better", "same", "worse")


def duels(evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Loss -> (linear, Bayes-optimal), for the losses of which both were run."""
    pairs = {loss: (f"{loss}_linear", f"{loss}_bayes") for loss in LOSSES}
    found = {loss: pair for loss, pair in pairs.items() if set(pair) <= set(evidence.methods)}
    if not found:
        raise ReplirankError(
            "no loss was run with both ranking functions",
            remedy="give bayesopt2010 in config.yaml a pair of methods such as cosine_linear and cosine_bayes",
        )
    return found


def compare(evidence: Evidence, pairs: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """Each pair (before, after) on each data set in each metric: one case each, as in the paper's 63.

    A data set that one of the two does not support makes no cases.
    """
    cases = []
    for dataset in evidence.datasets:
        columns = {metric: f"{evidence.convention(dataset)}.{metric}" for metric in METRICS}
        means = evidence.means(dataset, list(columns.values()))
        queries = evidence.rows(dataset).pivot(index=["fold", "query"], columns="method", values=list(columns.values()))
        here = {name: pair for name, pair in pairs.items() if set(pair) <= set(evidence.supported(dataset))}
        for (name, (before, after)), (metric, column) in itertools.product(here.items(), columns.items()):
            test = stats.randomization(
                queries[column, after].to_numpy(),
                queries[column, before].to_numpy(),
                seed=derive(evidence.seed, "bayesopt2010", dataset, name, metric),
                flips=evidence.flips,
            )
            old, new = float(means.loc[before, column]), float(means.loc[after, column])
            cases.append(
                {
                    "dataset": dataset,
                    "pair": name,
                    "metric": metric,
                    "queries": test.n,
                    "before": old,
                    "after": new,
                    "change": 100 * (new - old) / old if old else np.nan,
                    "p": test.p,
                    "verdict": verdict(test),
                }
            )
    columns = ["dataset", "pair", "metric", "queries", "before", "after", "change", "p", "verdict"]
    return pd.DataFrame(cases, columns=columns)


def verdict(test: stats.PairedTest) -> str:
    """ "non-significant differences in accuracy are reported as 'same'" (section 6.3)

    >>> verdict(stats.PairedTest(statistic=0.1, p=0.049, n=50)), verdict(stats.PairedTest(0.1, 0.05, 50))
    ('better', 'same')
    """
    if test.p >= SIGNIFICANT:
        return "same"
    return "better" if test.statistic > 0 else "worse"


def tally(cases: pd.DataFrame) -> dict[str, Any]:
    """Better, same, worse and the average change of these cases: a column of the paper's Table 1."""
    counts = {name: int((cases["verdict"] == name).sum()) for name in VERDICTS}
    shares = " / ".join(f"{100 * count / len(cases):.1f}" for count in counts.values())
    return {
        "cases": len(cases),
        **counts,
        "better / same / worse %": shares,
        "average change %": cases["change"].mean(),
    }


def table1(entry: Entry, evidence: Evidence) -> Table:
    """Table 1, by loss as well."""
    pairs = duels(evidence)
    cases = compare(evidence, pairs)
    printed = evidence.paper["printed"]["table1"]
    # Published values are for real data: beside simulated ones they would only mislead.
    comparable = [d for d in evidence.datasets if d in printed["datasets"] and evidence.origin(d) != "simulated"]

    groups = [  # name, data sets, what the paper printed for just these
        (evidence.label(d), [d], printed["datasets"][d] if d in comparable else {}) for d in evidence.datasets
    ]
    origins = _origins(evidence, evidence.datasets).replace("simulated", "SIMULATED")
    groups.append((f"Total of {len(evidence.datasets)}, {origins}", evidence.datasets, {}))
    if set(comparable) == set(printed["datasets"]):
        groups.append((f"Total of the paper's {len(comparable)}", comparable, printed["total"]))

    rows = []
    for name, datasets, published in groups:
        head = {"data set": name, "data": _origins(evidence, datasets)}
        these = cases[cases["dataset"].isin(datasets)]
        if these.empty:
            continue
        run = [loss for loss in pairs if loss in set(these["pair"])]
        rows += [{**head, "loss": LOSSES[loss], **tally(these[these["pair"] == loss])} for loss in run]
        # The paper counts all losses together, so only that row has something beside it.
        beside = {f"{column} published": value for column, value in published.items()}
        rows.append({**head, "loss": "all", **tally(these), **beside})
    for role, missing in evidence.missing.items():
        beside = {f"{column} published": value for column, value in printed["datasets"].get(role, {}).items()}
        rows.append({"data set": missing["title"], "data": NOT_AT_HAND, **(beside if comparable else {})})
    notes = [*_notes(evidence, cases), *evidence.notes(evidence.datasets), *evidence.missing_notes()]
    if comparable:
        notes.append(_what_is_comparable(comparable, evidence))
    signed = ["average change %", "average change % published", "average change % difference"]
    return Table(entry["title"], _beside_published(pd.DataFrame(rows)), notes, decimals=1, signed=signed)


def _origins(evidence: Evidence, datasets: list[str]) -> str:
    return " and ".join(sorted({evidence.origin(dataset) for dataset in datasets}))


def _beside_published(frame: pd.DataFrame) -> pd.DataFrame:
    """Each number followed by the published one and the difference, where anything was published."""
    columns = ["data set", "data", "loss", "cases", "better / same / worse %"]
    frame["cases"] = frame["cases"].astype("Int64")
    for name in (*VERDICTS, "average change %"):
        columns.append(name)
        published = f"{name} published"
        if name in VERDICTS:  # counts stay whole numbers beside cells that are empty
            frame[name] = frame[name].astype("Int64")
        if published in frame:
            if name in VERDICTS:
                frame[published] = frame[published].astype("Int64")
            frame[f"{name} difference"] = frame[name] - frame[published]
            columns += [published, f"{name} difference"]
    return frame[columns]


def _what_is_comparable(comparable: list[str], evidence: Evidence) -> str:
    source, printed = (evidence.paper["printed"][name] for name in ("source", "table1"))
    names = ", ".join(evidence.cards[dataset]["title"] for dataset in comparable)
    count, total = len(printed["datasets"]), printed["total"]
    cases = sum(total[verdict] for verdict in VERDICTS)
    text = f"Published: {source}, Table 1, whose {count} data sets have {cases} cases. "
    if len(comparable) == count:
        return text + "All of them are at hand; the paper's total stands beside the total of just these."
    return (
        f"{text}Of them {names} {'is' if len(comparable) == 1 else 'are'} at hand and can be compared; "
        "no total can, since the paper's is over all of its data sets."
    )


def _notes(evidence: Evidence, cases: pd.DataFrame) -> list[str]:
    """What every table of cases must say."""
    users: dict[str, list[str]] = {}
    for dataset in evidence.datasets:
        users.setdefault(evidence.convention(dataset), []).append(evidence.cards[dataset]["title"])
    notes = [
        "p: two-sided randomization test over all test queries of the folds, "
        f"{evidence.flips:,} sign flips. Better and worse: p < {SIGNIFICANT:g}; same: all others.",
        "p is not corrected for the number of tests, and the paper mentions no correction: if nothing differed, about "
        f"{len(cases) * SIGNIFICANT:.1f} of these {len(cases)} cases would be significant by chance.",
        "Change: of the mean over folds, relative to the baseline, in %; average change: the mean over cases.",
        *(
            f"Convention {name} ({', '.join(titles)}): {convention(name).description}."
            for name, titles in users.items()
        ),
    ]
    undefined = int(cases["change"].isna().sum())
    if undefined:
        notes.append(f"{undefined} cases have no relative change, since the baseline is 0; averages are of the others.")
    return notes


def cases_table(entry: Entry, evidence: Evidence) -> Table:
    """What Table 1 counts, case by case."""
    cases = compare(evidence, duels(evidence))
    frame = pd.DataFrame(
        {
            "data set": cases["dataset"].map(evidence.label),
            "data": cases["dataset"].map(evidence.origin),
            "loss": cases["pair"].map(LOSSES),
            "metric": cases["metric"].map(display_name),
            "queries": cases["queries"],
            "linear": cases["before"],
            "Bayes-optimal": cases["after"],
            "change %": cases["change"],
            "randomization p": cases["p"],
            "verdict": cases["verdict"],
        }
    )
    notes = [*_notes(evidence, cases), *evidence.notes(evidence.datasets)]
    return Table(entry["title"], frame, notes, signed=["change %"])


def methods_table(entry: Entry, evidence: Evidence) -> Table:
    """The NDCG of every method; Bayes-optimal ones against their linear ones, the plug-in estimate against ListNet."""
    pairs = duels(evidence)
    # Algorithm 1 "performed well", but "below the state of the art learning to rank methods such as Listnet" (4.2).
    if {"plugin", "cross_entropy_linear"} <= set(evidence.methods):
        pairs["plugin"] = ("cross_entropy_linear", "plugin")
    cases = compare(evidence, pairs)
    found = {(case.dataset, pairs[case.pair][1], case.metric): case for case in cases.itertuples()}
    baselines = {after: before for before, after in pairs.values()}
    rows = []
    for dataset, method in itertools.product(evidence.datasets, evidence.methods):
        baseline = baselines.get(method)
        row = {
            "data set": evidence.label(dataset),
            "data": evidence.origin(dataset),
            "method": evidence.title(method),
            "baseline": evidence.title(baseline) if baseline else None,
        }
        name = evidence.convention(dataset)
        means = evidence.means(dataset, [f"{name}.{metric}" for metric in METRICS])
        for metric in METRICS:
            case = found.get((dataset, method, metric))
            row[display_name(metric)] = float(means.loc[method, f"{name}.{metric}"])
            row[f"{display_name(metric)} change %"] = case.change if case else np.nan
            row[f"{display_name(metric)} p"] = case.p if case else np.nan
        rows.append(row)
    notes = [
        "Change and p: against the method in the column baseline.",
        *_notes(evidence, cases),
        *evidence.notes(evidence.datasets),
    ]
    signed = [f"{display_name(metric)} change %" for metric in METRICS]
    return Table(entry["title"], pd.DataFrame(rows), notes, signed=signed)


TABLES = {"table1": table1, "methods": methods_table, "cases": cases_table}
