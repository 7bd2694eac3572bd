"""bayesopt2010: a linear ranking function against the Bayes-optimal one, under three surrogate losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from replirank.engines.full_batch import EPOCHS_PER_CALL
from replirank.errors import ReplirankError
from replirank.evaluation import stats
from replirank.methods.families.surrogates import Surrogate
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
TESTS = ("one-sided", "two-sided", "Holm")  # of which the first is the paper's


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
            seed = derive(evidence.seed, "bayesopt2010", dataset, name, metric)
            of_means = {method: float(means.loc[method, column]) for method in (before, after)}
            of_queries = {method: queries[column, method].to_numpy() for method in (before, after)}
            found = case(of_means.values(), of_queries.values(), seed=seed, flips=evidence.flips)
            cases.append({"dataset": dataset, "pair": name, "metric": metric, **found})
    frame = pd.DataFrame(cases, columns=["dataset", "pair", "metric", *CASE])
    frame["Holm"] = stats.holm(frame["two-sided"])
    for name in TESTS:
        frame[f"{name} verdict"] = [verdict(*each) for each in zip(frame["direction"], frame[name], strict=True)]
    return frame


CASE = ("queries", "before", "after", "change", "direction", "one-sided", "two-sided")


def case(means: Iterable[float], queries: Iterable[np.ndarray], *, seed: int, flips: int) -> dict[str, Any]:
    """Before and after: two means over folds, and the tests of the same by query."""
    (old, new), (before, after) = means, queries
    test = stats.randomization(after, before, seed=seed, flips=flips)
    # One-sided in the direction of the difference: a worse function may be significantly so, too.
    there = (after, before) if test.statistic > 0 else (before, after)
    one = stats.randomization(*there, seed=seed, flips=flips, one_sided=True)
    change = 100 * (new - old) / old if old else np.nan
    return dict(zip(CASE, (test.n, old, new, change, test.statistic, one.p, test.p), strict=True))


def verdict(direction: float, p: float) -> str:
    """ "non-significant differences in accuracy are reported as 'same'" (section 6.3)

    >>> verdict(0.1, p=0.049), verdict(0.1, p=0.05), verdict(-0.1, p=0.01)
    ('better', 'same', 'worse')
    """
    if p >= SIGNIFICANT:
        return "same"
    return "better" if direction > 0 else "worse"


def tally(cases: pd.DataFrame) -> dict[str, Any]:
    """Better, same, worse and the average change of these cases: a column of the paper's Table 1."""
    counts = {test: {name: int((cases[f"{test} verdict"] == name).sum()) for name in VERDICTS} for test in TESTS}
    own = counts["one-sided"]
    return {
        "cases": len(cases),
        **own,
        "better / same / worse %": " / ".join(f"{100 * count / len(cases):.1f}" for count in own.values()),
        "average change %": cases["change"].mean(),
        **{f"{name}, {test}": counts[test][name] for test in TESTS[1:] for name in ("better", "worse")},
        "in all": conclusion(counts),
    }


def conclusion(counts: Mapping[str, Mapping[str, int]]) -> str:
    """What the three tests say together: better and worse must outlast Holm's correction, with nothing against them.

    >>> none, some = {"better": 0, "worse": 0}, {"better": 2, "worse": 0}
    >>> conclusion({"one-sided": some, "Holm": none}), conclusion({"one-sided": some, "Holm": some})
    ('not shown', 'better')
    >>> conclusion({"one-sided": {"better": 2, "worse": 1}, "Holm": some})
    'mixed'
    """
    holds = {name for name in ("better", "worse") if counts["Holm"][name]}
    if not holds:
        return "not shown"
    anything = {name for name in ("better", "worse") if any(of_test[name] for of_test in counts.values())}
    return "mixed" if len(anything) > 1 else holds.pop()


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
    others = [f"{name}, {test}" for test in TESTS[1:] for name in ("better", "worse")]
    frame[others] = frame[others].astype("Int64")
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
    return frame[[*columns, *others, "in all"]]


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
        f"p: randomization test over all test queries of the folds, {evidence.flips:,} sign flips. Better and worse: "
        f"p < {SIGNIFICANT:g}; same: all others. The paper used Indri's ireval, whose test is one-sided: p is for the "
        "direction of the difference.",
        "The paper mentions no correction for the number of tests. If nothing differed, the one-sided test would find "
        f"about {2 * len(cases) * SIGNIFICANT:.1f} of these {len(cases)} cases better or worse by chance, and the "
        f"two-sided one {len(cases) * SIGNIFICANT:.1f}. Holm: two-sided, corrected for all {len(cases)} cases.",
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
            "one-sided p": cases["one-sided"],
            "two-sided p": cases["two-sided"],
            "Holm p": cases["Holm"],
            "verdict": cases["one-sided verdict"],
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
    found = {(case["dataset"], pairs[case["pair"]][1], case["metric"]): case for case in cases.to_dict("records")}
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
            row[f"{display_name(metric)} change %"] = case["change"] if case else np.nan
            row[f"{display_name(metric)} two-sided p"] = case["two-sided"] if case else np.nan
        rows.append(row)
    notes = [
        "Change and p: against the method in the column baseline. Holm's correction is in the table of cases.",
        *_notes(evidence, cases),
        *evidence.notes(evidence.datasets),
    ]
    signed = [f"{display_name(metric)} change %" for metric in METRICS]
    return Table(entry["title"], pd.DataFrame(rows), notes, signed=signed)


def descent_table(entry: Entry, evidence: Evidence) -> Table:
    """Whether descent moved, and whether it converged, for every grid point and fold."""
    rows = []
    for (dataset, method), history in evidence.history.items():
        points = history.groupby(["fold", "point"]).agg(slope=("slope", "first"), evaluations=("epoch", "last"))
        budgets = [_budget(evidence.choices.get((dataset, method), []), *place) for place in points.index]
        rows.append(
            {
                "data set": evidence.label(dataset),
                "data": evidence.origin(dataset),
                "method": evidence.title(method),
                "grid points x folds": len(points),
                "inert at the start": int((points["slope"] == 0).sum()),
                "evaluations, median": points["evaluations"].median(),
                "evaluations, most": int(points["evaluations"].max()),
                "not converged": int((points["evaluations"] >= budgets).sum()),
            }
        )
    notes = [
        "Inert: the gradient is 0 where descent starts, so that the grid point stays what the linear function was.",
        "Converged: five steps in a row each lowered the loss by less than a millionth of it, or no step lowers it; "
        "the latter happens where epsilon is below 1 and documents become certain or cease to be. Not converged: "
        f"stopped after {Surrogate.epochs:,} evaluations of loss and gradient, or as many as config.yaml gives. They "
        f"are counted to the next multiple of {EPOCHS_PER_CALL}.",
        *evidence.notes(evidence.datasets),
    ]
    return Table(entry["title"], pd.DataFrame(rows), notes, decimals=1)


def _budget(folds: Sequence[Mapping[str, Any]], fold: int, point: int) -> int:
    """The evaluations that a grid point had at most."""
    (tried,) = [each["tried"][point - 1] for each in folds if each["fold"] == fold] or [{}]
    return tried.get("epochs", Surrogate.epochs)


def sensitivity_table(entry: Entry, evidence: Evidence) -> Table:
    """Table 1's counts for one data set, under each of the choices that the paper leaves open."""
    dataset = evidence.dataset(entry["role"])
    frames = {kind: [pd.read_parquet(path) for path in evidence.needs if kind in path.name] for kind in KINDS}
    queries, descents = (pd.concat(frames[kind], ignore_index=True) for kind in KINDS)
    found = []
    for (loss, budget, start, lowest, keep), here in queries[queries["start"] != ""].groupby(
        ["loss", "budget", "start", "lowest", "keep"], sort=False
    ):
        same = (queries["loss"] == loss) & (queries["budget"] == budget) & (queries["lowest"] == lowest)
        linear = queries[same & (queries["keep"] == keep) & (queries["start"] == "")]
        for metric in METRICS:
            column = f"{evidence.convention(dataset)}.{metric}"
            means = [each.groupby("fold")[column].mean().mean() for each in (linear, here)]
            by_query = [each.set_index(["fold", "query"])[column].sort_index().to_numpy() for each in (linear, here)]
            seed = derive(evidence.seed, "bayesopt2010", dataset, loss, metric)
            tested = case(means, by_query, seed=seed, flips=evidence.flips)
            keys = {"loss": loss, "budget": budget, "start": start, "lowest": lowest, "keep": keep, "metric": metric}
            found.append({**keys, **tested})
    cases = pd.DataFrame(found)
    rows = []
    for loss in ("all", *dict.fromkeys(cases["loss"])):
        of_loss = cases if loss == "all" else cases[cases["loss"] == loss]
        bayes = descents[(descents["start"] != "") & ((descents["loss"] == loss) | (loss == "all"))]
        for (budget, start, lowest, keep), here in of_loss.groupby(["budget", "start", "lowest", "keep"], sort=False):
            same = (bayes["budget"] == budget) & (bayes["start"] == start) & (bayes["lowest"] == lowest)
            verdicts = {
                test: [verdict(*each) for each in zip(here["direction"], here[test], strict=True)] for test in TESTS[:2]
            }
            ten = here[here["metric"] == "ndcg@10"]
            rows.append(
                {
                    "data": evidence.origin(dataset),
                    "loss": LOSSES.get(loss, loss),
                    "evaluations": budget,
                    "step kept": keep,
                    "start": start,
                    "levels from": lowest,
                    "cases": len(here),
                    "NDCG@10, linear": ten["before"].mean(),
                    "NDCG@10, Bayes-optimal": ten["after"].mean(),
                    "average change %": here["change"].mean(),
                    **{
                        f"{name}, {test}": verdicts[test].count(name)
                        for test in TESTS[:2]
                        for name in ("better", "worse")
                    },
                    "grid points x folds": int(bayes.loc[same, "points"].sum()),
                    "inert at the start": int(bayes.loc[same, "inert"].sum()),
                    "not converged": int(bayes.loc[same, "unfinished"].sum()),
                }
            )
    notes = [
        "200 and 400: evaluations of plain gradient descent, as in the paper, for both functions. Converged: L-BFGS, "
        "for both, as in Table 1, which keeps the last step, starts from shares and counts levels from 0.",
        f"Step kept: the last, or of those looked at (every {EPOCHS_PER_CALL} evaluations) the one that ranks the "
        "validation queries best. The Bayes-optimal function starts where the linear descent ended, in either case.",
        "Start: shares, each level's share of documents is above its boundary; even odds, all boundaries are at the "
        "mean score; log shares, a level's log share is added to its logit (as in earlier versions of this project).",
        "Levels from 1: in G (gains 1, 3, 7 and not 0, 1, 3) and in psi, for both functions.",
        "Better and worse: p < .05 of the randomization test, uncorrected. Change: of the mean over folds; its average "
        "is over the cases, NDCG@1, 5 and 10 of each loss.",
        *evidence.notes([dataset]),
    ]
    title = f"{entry['title']}: {evidence.label(dataset)}"
    return Table(title, pd.DataFrame(rows), notes, signed=["average change %"])


KINDS = ("metrics", "descents")  # of files

TABLES = {
    "table1": table1,
    "methods": methods_table,
    "cases": cases_table,
    "descent": descent_table,
    "sensitivity": sensitivity_table,
}
