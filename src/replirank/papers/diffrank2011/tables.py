"""diffrank2011's tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replirank.evaluation import stats
from replirank.metrics.per_query import fold_mean
from replirank.metrics.registry import display_name
from replirank.papers.common import Entry
from replirank.papers.common.tables import half_width, paired_tests
from replirank.papers.diffrank2011.lists import ALL, FIGURE, FIRST_50, FIRST_SHARE, THEOREM
from replirank.papers.diffrank2011.random_lists import FEATURES, LEAST, MOST
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table
from replirank.seeds import derive

MEASURES = ["kendall_tau", "top10"]
SIGNIFICANT = 0.05
PLACE = ["fold", "query"]


class System(NamedTuple):
    method: str
    part: str  # of each list, on which it was trained
    rows: pd.DataFrame  # one for each test query
    in_paper: bool  # whether the paper's table has it


def systems(evidence: Evidence, dataset: str) -> dict[str, System]:
    """By name, in the order of the paper's table; what the paper does not have stands beside it."""
    tidy = evidence.rows(dataset)
    frames = {path.stem.removesuffix("_metrics"): pd.read_parquet(path) for path in evidence.needs}
    parts = pd.concat([frame.assign(method=method) for method, frame in frames.items()])
    found: dict[str, System] = {}
    printed = evidence.paper["printed"]["table1"]
    for method in [*printed, *(method for method in evidence.methods if method not in printed)]:
        title = evidence.title(method)
        for (part, reading), rows in parts[parts["method"] == method].groupby(["part", "reading"], sort=False):
            if reading == FIGURE and part == FIRST_50:
                found[f"{title}, {FIGURE}'s differences"] = System(method, part, rows, in_paper=False)
            elif part != ALL:
                found[title] = System(method, part, rows, in_paper=True)
        # The paper's row is that of a part of each list, where it says that a part was trained on.
        whole = System(method, _whole(method), tidy[tidy["method"] == method], method in printed and title not in found)
        found[f"{title}, {ALL}" if title in found else title] = whole
    return found


def _whole(method: str) -> str:
    return f"{ALL}, of which the {FIRST_SHARE.partition(' of')[0]} are relevant" if method == "svm_map" else ALL


def table1(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    printed = evidence.paper["printed"]["table1"] if evidence.is_real(dataset) else {}
    rows = []
    for name, (method, part, values, in_paper) in systems(evidence, dataset).items():
        row: dict[str, Any] = {"data": evidence.origin(dataset), "method": name, "trained on": part}
        means = fold_mean(values.assign(system=name), MEASURES, ["system"]).loc[name]
        for measure in MEASURES:
            shown = display_name(measure)
            ours = float(means[measure])
            row |= {shown: ours, f"{shown} \N{PLUS-MINUS SIGN}": half_width(values[measure])}
            if printed:
                theirs = printed[method][measure] if in_paper else np.nan
                row |= {f"{shown} published": theirs, f"{shown} difference": ours - theirs}
        rows.append(row)
    notes = [
        *measure_notes(),
        "Means over the queries of a fold, then over folds; \N{PLUS-MINUS SIGN}: half of the 95% interval of the mean "
        "over all test queries (normal approximation).",
        *reading_notes(),
        *chosen_notes(evidence),
        *evidence.notes([dataset]),
    ]
    if printed:
        notes.append(f"Published: {evidence.paper['printed']['source']}; on which folds or queries is not said.")
    signed = [f"{display_name(measure)} difference" for measure in MEASURES]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes, signed=signed)


def measure_notes() -> list[str]:
    return [
        "Kendall tau is a distance: the share of pairs in the wrong order; lower is better. Top-10 rate: the share of "
        "the true first ten that is among the predicted first ten; higher is better.",
    ]


def reading_notes() -> list[str]:
    return [
        "FeatureRank is known by its title only: this is a reconstruction, not the authors' method.",
        f"SVM-MAP, {FIRST_SHARE}: how many of them are relevant is chosen on validation. On all documents the first 5% "
        "of a list are the relevant ones.",
        figure_note(),
        "Best single feature: rising or falling, whichever ranks the validation queries best. It learns nothing else.",
    ]


def figure_note() -> str:
    return (
        f"{FIGURE}'s differences are the cumulated ones, in the coefficient and in the update of the weights, where "
        f"{THEOREM} has the weak ranker's own. In the coefficient the new weak ranker then counts in full, since its "
        "weight is not known yet."
    )


def chosen_notes(evidence: Evidence) -> list[str]:
    """What validation chose for SVM-MAP on a part of each list; DiffRank has nothing to choose."""
    (path,) = (path for path in evidence.needs if path.stem == "svm_map_metrics")
    parts = pd.read_parquet(path).groupby("part", sort=False)
    return [
        f"Chosen for SVM-MAP on the {part}, fold by fold: {'; '.join(rows.groupby('fold')['chosen'].first())}."
        for part, rows in parts
    ]


def tests(entry: Entry, evidence: Evidence) -> Table:
    """DiffRank, trained as in the paper, against every other row of Table 1."""
    dataset = evidence.dataset(entry["role"])
    others = {name: found.rows.set_index(PLACE) for name, found in systems(evidence, dataset).items()}
    own = evidence.title("diffrank")
    ours = others.pop(own)
    rows = []
    for measure in MEASURES:
        for name, theirs in others.items():
            a, b = ours[measure].to_numpy(), theirs[measure].reindex(ours.index).to_numpy()
            seed = derive(evidence.seed, "diffrank2011", dataset, measure, name)
            rows.append(
                {
                    "data": evidence.origin(dataset),
                    "measure": display_name(measure),
                    "against": name,
                    own: float(np.mean(a)),
                    "other": float(np.mean(b)),
                    f"{own} - other": float(np.mean(a - b)),
                    **paired_tests(a, b, seed=seed, flips=evidence.flips),
                }
            )
    frame = pd.DataFrame(rows)
    frame["Holm p"] = stats.holm(frame["randomization p"])
    compared = zip(frame["measure"], frame[f"{own} - other"], frame["Holm p"], strict=True)
    frame["better"] = [_better(measure, difference, p, own) for measure, difference, p in compared]
    notes = [
        f"{own} is trained on the {FIRST_50}, as in the paper. Better: significantly so, at a Holm p below .05.",
        f"Randomization test: {evidence.flips:,} sign flips, two-sided; intervals: bootstrap over queries; Holm's "
        f"correction over all {len(frame)} rows. Means here are over queries, not over folds.",
        *measure_notes(),
        *reading_notes(),
        *evidence.notes([dataset]),
    ]
    signed = [f"{own} - other", "95% from", "95% to"]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", frame, notes, signed=signed)


def _better(measure: str, difference: float, p: float, own: str) -> str:
    if not p < SIGNIFICANT:
        return "neither"
    lower_is_better = measure == display_name("kendall_tau")
    return own if (difference < 0) == lower_is_better else "other"


def rounds_of(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """DiffRank's rounds on this data set: part, reading, fold, round, loss (the product of the Z), error, kendall."""
    (path,) = (path for path in evidence.needs if path.parent.name == dataset)
    return pd.read_parquet(path)


def bound(entry: Entry, evidence: Evidence) -> Table:
    """For each data set, part of lists and reading: does the bound hold, and does it fall?"""
    rows = []
    for dataset in evidence.datasets:
        for (part, reading), history in rounds_of(evidence, dataset).groupby(["part", "reading"], sort=False):
            folds = [fold.sort_values("round") for _, fold in history.groupby("fold")]
            first, last = (pd.DataFrame([fold.iloc[place] for fold in folds]) for place in (0, -1))
            rows.append(
                {
                    "data set": evidence.cards[dataset]["title"],
                    "data": evidence.origin(dataset),
                    "trained on": part,
                    "reading": reading,
                    "rounds": len(history),
                    "product fell in": sum(int(np.sum(np.diff(fold["loss"], prepend=1) < 0)) for fold in folds),
                    "error above product in": int(np.sum(history["error"] > history["loss"])),
                    "error fell in": sum(int(np.sum(np.diff(fold["error"], prepend=0.5) < 0)) for fold in folds),
                    "product, last": float(last["loss"].mean()),
                    "error, first": float(first["error"].mean()),
                    "error, last": float(last["error"].mean()),
                    "Kendall tau, first": float(first["kendall"].mean()),
                    "Kendall tau, last": float(last["kendall"].mean()),
                }
            )
    frame = pd.DataFrame(rows)
    others = frame[frame["reading"] == FIGURE]
    fell = others["product fell in"].sum()
    notes = [
        "Rounds: of all folds together, one for each feature that orders any list; where there are fewer, the "
        "coefficient was not a number. Product: of the Z up to a round; 1 before the first. Error: the share of all "
        "training pairs in the wrong order, which Theorem 1 bounds by the product; .5 before the first round. Kendall "
        "tau: the same share for each training query, averaged over queries. Values are means over folds.",
        f"With {THEOREM}'s differences the product is a bound, and falls in every round whose r is not 0. With "
        f"{FIGURE}'s nothing is proved. Here its product did not fall in {others['rounds'].sum() - fell} of "
        f"{others['rounds'].sum()} rounds, and the error was above it in {others['error above product in'].sum()}; "
        "diffrank2011/random_lists has lists on which the error is above it.",
        figure_note(),
        *evidence.notes(evidence.datasets),
    ]
    return Table(entry["title"], frame, notes)


def random_table(entry: Entry, evidence: Evidence) -> Table:
    (path,) = evidence.needs
    rows = [
        {
            "data": "artificial",
            "reading": reading,
            "lists": len(lists),
            "product fell in every round": int(np.sum(lists["fell"] == lists["rounds"])),
            "error above product in some round": int(np.sum(lists["above"] > 0)),
            "no coefficient in some round": int(np.sum(lists["rounds"] < FEATURES)),
        }
        for reading, lists in pd.read_parquet(path).groupby("reading", sort=False)
    ]
    notes = [
        f"Lists of {LEAST} to {MOST} documents in a random strict order, half of which their {FEATURES} features tell; "
        f"DiffRank is trained on each by itself. Counts are of lists. {THEOREM} has the weak ranker's own differences, "
        f"{FIGURE} the cumulated ones, in the coefficient and in the weights.",
    ]
    return Table(entry["title"], pd.DataFrame(rows), notes)


TABLES = {"table1": table1, "tests": tests, "bound": bound, "random_lists": random_table}
