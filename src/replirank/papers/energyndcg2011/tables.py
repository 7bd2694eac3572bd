"""energyndcg2011's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from replirank import methods
from replirank.evaluation import stats
from replirank.metrics.conventions import convention
from replirank.papers.common import Entry
from replirank.papers.common.tables import times_table
from replirank.papers.energyndcg2011.seeds import DEPTH, EXPERIMENTS, READINGS, WIDTH, WIDTHS
from replirank.reporting.evidence import Evidence
from replirank.reporting.tables import Table
from replirank.seeds import derive

ENERGY, SORTNET, SVM = "energyndcg", "sortnet", "ranksvm"
# Which Table I does not have: those with seeds, and those without.
BESIDE = ("energymap", "boltzrank", "boltzrank_pseudo")
EACH_ONCE = ("adarank_map_once", "adarank_ndcg_once")
CUTS = [f"ndcg@{k}" for k in range(1, DEPTH + 1)]
VALUES = [*CUTS, "map"]
SHOWN = [*(f"NDCG@{k}" for k in range(1, DEPTH + 1)), "MAP"]
MEAN = "mean of ten cuts"
PLACE = ["draw", "fold", "query"]

LEAD = "EnergyNDCG - other"

CHOSEN, CHOSEN_BY_CUT = "W chosen", "W chosen for each n"

# What section V.A says of EnergyNDCG beside each.
SAID = {
    "adarank_ndcg": "similar",
    "frank": "similar",
    "listnet": "better by a small margin",
    SORTNET: "better by a small margin",
    "adarank_map": "significantly better",
    SVM: "significantly better",
    "rankboost": "significantly better",
    "regression": "significantly better",
}


# A system's values: one row for each draw, fold and test query, with the columns VALUES. Without draws, draw is 1.


def drawn(evidence: Evidence, dataset: str, experiment: str) -> pd.DataFrame:
    """The rows of all draws of an experiment; empty where it is not among what the table or figure needs."""
    paths = [path for path in evidence.needs if path.parent.name == dataset]
    frames = [pd.read_parquet(path) for path in paths if path.stem.rpartition("_")[0] == experiment]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*PLACE, "trial", "split", *VALUES])


def by_trial(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {str(trial): here for trial, here in rows[rows["split"] == "test"].groupby("trial", sort=False)}


def of_widths(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """EnergyNDCG with each width; with the width that validation chose in each fold, by NDCG@10; and by NDCG@n.

    The last is made of several models, one for each n: it has no MAP.
    """
    systems, best = by_trial(rows), best_widths(rows)
    tests = rows[rows["split"] == "test"].set_index(["draw", "fold", "trial"]).sort_index()
    chosen, by_cut = [], []
    for (draw, fold), widths in best.iterrows():
        here = {width: tests.loc[[(draw, fold, width)]].set_index("query") for width in set(widths)}
        parts = [here[widths[CUTS[-1]]][VALUES], pd.DataFrame({cut: here[widths[cut]][cut] for cut in CUTS})]
        for values, found in zip(parts, (chosen, by_cut), strict=True):
            found.append(values.reset_index().assign(draw=draw, fold=fold))
    return systems | {CHOSEN: pd.concat(chosen), CHOSEN_BY_CUT: pd.concat(by_cut).assign(map=np.nan)}


def best_widths(rows: pd.DataFrame) -> pd.DataFrame:
    """By draw and fold: the trial that is best on validation at each cut; of equals the first, the narrowest."""
    means = rows[rows["split"] == "vali"].groupby(["draw", "fold", "trial"], sort=False)[CUTS].mean()
    return means.groupby(["draw", "fold"], sort=False).idxmax().map(lambda key: key[-1])


def trained_once(evidence: Evidence, dataset: str, method: str) -> pd.DataFrame:
    """A method of the tidy frame."""
    name = evidence.convention(dataset)
    rows = evidence.rows(dataset)
    rows = rows[rows["method"] == method].rename(columns={f"{name}.{value}": value for value in VALUES})
    return rows.assign(draw=1)


def over_draws(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Mean and standard deviation over draws of the means over queries, then folds. One draw has no deviation."""
    draws = rows.groupby(["draw", "fold"])[VALUES].mean().groupby("draw").mean()
    return draws.mean(), draws.std(ddof=1)


def by_query(rows: pd.DataFrame) -> pd.DataFrame:
    """One value for each query, the mean over draws; and the mean of its ten cuts."""
    means = rows.groupby(["fold", "query"])[CUTS].mean()
    return means.assign(**{MEAN: means.mean(axis=1)})


def title(evidence: Evidence, method: str, trial: str = "") -> str:
    known = evidence.titles.get(method) or methods.find(method).title
    return f"{known}, {trial}" if trial else known


def lines(
    rows: Mapping[str, pd.DataFrame], dataset: str, evidence: Evidence, beside: Mapping[str, Mapping[str, Sequence]]
) -> list[dict]:
    """Lines of a table: each system's own, its spread over draws, and what others have for it, with the difference."""
    found = []
    for system, values in rows.items():
        ours, spread = over_draws(values)
        start = {"data": evidence.origin(dataset), "system": system}
        found.append({**start, "value": "ours", **dict(zip(SHOWN, ours, strict=True))})
        if values["draw"].nunique() > 1:
            found.append({**start, "value": "sd over seeds", **dict(zip(SHOWN, spread, strict=True))})
        for source, theirs in beside.get(system, {}).items():
            found.append({**start, "value": source, **dict(zip(SHOWN, theirs, strict=True))})
            if source == "paper":
                gaps = ours.to_numpy() - np.array(theirs, dtype=float)
                found.append({**start, "value": "ours - paper", **dict(zip(SHOWN, gaps, strict=True))})
    return found


def metric_note(evidence: Evidence, dataset: str) -> str:
    name = evidence.convention(dataset)
    return f"Convention {name}: {convention(name).description}. Means over the queries of a fold, then over folds."


def seeds_note(evidence: Evidence) -> str:
    return (
        f"Methods that start at random: mean and standard deviation (sd) over {evidence.protocol.draws} seeds. The "
        "others are trained once."
    )


# Table I


def systems_of_table1(evidence: Evidence, dataset: str) -> dict[str, tuple[str, pd.DataFrame]]:
    """By title: the method, and its values."""
    widths = of_widths(drawn(evidence, dataset, ENERGY))
    found = {title(evidence, ENERGY, trial): (ENERGY, widths[trial]) for trial in (f"W = {WIDTH}", CHOSEN)}
    for method in evidence.paper["printed"]["table1"]:
        if method == SORTNET:
            found[title(evidence, method)] = method, by_trial(drawn(evidence, dataset, method))[""]
        elif method in evidence.supported(dataset):
            found[title(evidence, method)] = method, trained_once(evidence, dataset, method)
    for method in BESIDE:
        found[title(evidence, method)] = method, by_trial(drawn(evidence, dataset, method))[""]
    for method in EACH_ONCE:
        if method in evidence.supported(dataset):
            found[title(evidence, method)] = method, trained_once(evidence, dataset, method)
    return found


def of_sheet(evidence: Evidence, dataset: str) -> dict[tuple[str, str], list[float]]:
    """By method and by the sheet's own name for it: LETOR's NDCG@1..10 and MAP."""
    sheets = evidence.sheets
    here = (sheets["dataset"] == dataset) & (sheets["convention"] == evidence.convention(dataset))
    means = sheets[here & (sheets["split"] == "test") & (sheets["fold"] == "mean")]
    wide = means.pivot(index=["method", "printed_as"], columns="metric", values="value")
    return {key: row[VALUES].tolist() for key, row in wide.iterrows()} if len(wide) else {}


def table1(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    systems = systems_of_table1(evidence, dataset)
    beside: dict[str, dict[str, Sequence]] = {}
    notes = [metric_note(evidence, dataset), seeds_note(evidence)]
    if evidence.is_real(dataset):
        printed, sheet = evidence.paper["printed"]["table1"], of_sheet(evidence, dataset)
        for name, (method, _) in systems.items():
            if method in printed and name != title(evidence, ENERGY, CHOSEN):
                letors = {f"LETOR 3.0, {own}": values for (known, own), values in sheet.items() if known == method}
                beside[name] = {"paper": [*printed[method], np.nan], **letors}
        notes += _table1_notes(printed, sheet)
    rows = lines({name: values for name, (_, values) in systems.items()}, dataset, evidence, beside)
    notes += [
        f"EnergyNDCG has W = {WIDTH} in the paper's table. W chosen: by validation NDCG@10, in each fold.",
        "Not in the paper's table: EnergyMAP (average precision in the place of NDCG), BoltzRank (expected NDCG, "
        "estimated from drawn orders), BoltzRank's energy under the pseudo-likelihood (all are neighbours) and AdaRank "
        "with each feature once.",
        *evidence.notes([dataset]),
    ]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(rows), notes)


def _table1_notes(
    printed: Mapping[str, Sequence[float]], sheet: Mapping[tuple[str, str], Sequence[float]]
) -> list[str]:
    notes = []
    for (method, own), values in sheet.items():
        if method == "adarank_map":
            notes.append(
                f"The paper's AdaRank-MAP (NDCG@1 {printed[method][0]:.3f}, NDCG@10 {printed[method][-1]:.3f}) is not "
                f"LETOR 3.0's ({values[0]:.4f}, {values[DEPTH - 1]:.4f})."
            )
        if own == "RankSVM-Struct":
            above = "above" if values[DEPTH - 1] > printed[ENERGY][-1] else "below"
            notes.append(
                "The paper's RankSVM is the oldest of LETOR's three. RankSVM-Struct, which ours is like, has "
                f"{values[DEPTH - 1]:.4f} at NDCG@10, {above} the paper's EnergyNDCG ({printed[ENERGY][-1]:.3f})."
            )
    return notes


# Section V.A: the paper's comparisons, tested


def section5(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    systems = systems_of_table1(evidence, dataset)
    own = title(evidence, ENERGY, entry["system"])
    energy = by_query(systems[own][1])
    printed = evidence.paper["printed"]["table1"] if evidence.is_real(dataset) else {}
    others = {name: found for name, found in systems.items() if found[0] in SAID}
    rows, notes = [], []
    for metric in (MEAN, *CUTS):
        here = []
        for name, (method, values) in others.items():
            other = by_query(values)[metric].reindex(energy.index)
            a, b = energy[metric].to_numpy(), other.to_numpy()
            seed = derive(evidence.seed, "section5", dataset, entry["system"], method, metric)
            test = stats.randomization(a, b, seed=seed, flips=evidence.flips)
            low, high = stats.bootstrap_interval(a - b, seed=seed)
            row = {
                "data": evidence.origin(dataset),
                "metric": metric if metric == MEAN else metric.upper(),
                "against": name,
                "queries": test.n,
                own: float(np.nanmean(a)),
                "other": float(np.nanmean(b)),
                LEAD: float(np.nanmean(a - b)),
                "95% from": low,
                "95% to": high,
                "randomization p": test.p,
            }
            if printed:
                gaps = np.subtract(printed[ENERGY], printed[method])
                row[f"{LEAD}, paper"] = float(gaps.mean() if metric == MEAN else gaps[CUTS.index(metric)])
                row["the paper says"] = SAID[method]
            here.append(row)
        adjusted = stats.holm(pd.DataFrame(here)["randomization p"])
        rows += [{**row, "Holm p": float(p)} for row, p in zip(here, adjusted, strict=True)]
    frame = pd.DataFrame(rows)
    if printed:
        notes += [*_verdict_notes(frame), *_table1_notes(printed, of_sheet(evidence, dataset))]
    notes += [
        "The mean of ten cuts is the test of a claim; the cuts depend on each other, and their counts only describe. "
        "No significant difference is no proof of likeness: the interval says how large a difference may be.",
        "Each query's value is the mean over seeds. Means here are over queries, not over folds.",
        f"Randomization test: {evidence.flips:,} sign flips, two-sided; intervals: bootstrap over queries; Holm's "
        f"correction over the {len(others)} methods at each metric.",
        metric_note(evidence, dataset).partition(". Means")[0] + ".",
        *evidence.notes([dataset]),
    ]
    signed = [LEAD, f"{LEAD}, paper", "95% from", "95% to"]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", frame, notes, signed=signed)


def _verdict_notes(frame: pd.DataFrame) -> list[str]:
    """For each sentence of the paper: at how many of the ten cuts, and on their mean, the difference is significant."""
    notes = []
    for (said, name), rows in frame.groupby(["the paper says", "against"], sort=False):
        mean, cuts = rows[rows["metric"] == MEAN].iloc[0], rows[rows["metric"] != MEAN]
        better = int(np.sum((cuts["Holm p"] < 0.05) & (cuts[LEAD] > 0)))
        worse = int(np.sum((cuts["Holm p"] < 0.05) & (cuts[LEAD] < 0)))
        notes.append(
            f"{name} (the paper says: EnergyNDCG is {said}): {mean[LEAD]:+.4f} on the mean of ten cuts "
            f"(95% {mean['95% from']:+.4f} to {mean['95% to']:+.4f}, Holm p = {mean['Holm p']:.3f}); higher at "
            f"{int(np.sum(cuts[LEAD] > 0))} of {len(cuts)} cuts, "
            f"significantly better at {better}, significantly worse at {worse}."
        )
    return notes


# Figure 2 in numbers, and Table II


def sweep_sets(evidence: Evidence) -> list[str]:
    """The data sets on which W is swept, of those that this table or figure shows."""
    return [evidence.dataset(role) for role in ("ohsumed", "mq2008") if role in evidence.protocol.roles]


def widths(entry: Entry, evidence: Evidence) -> Table:
    rows, notes = [], [seeds_note(evidence)]
    for dataset in sweep_sets(evidence):
        systems = of_widths(drawn(evidence, dataset, ENERGY))
        of_set = lines(systems, dataset, evidence, {})
        rows += [{"data set": evidence.cards[dataset]["title"], **row} for row in of_set]
        at_all = [over_draws(systems[f"W = {width}"])[0] for width in WIDTHS]
        rising = sum(at_all[WIDTHS.index(WIDTH)][CUTS] > at_all[0][CUTS])
        chosen_widths = best_widths(drawn(evidence, dataset, ENERGY))[CUTS[-1]].value_counts()
        often = [(trial, chosen_widths[trial]) for trial in systems if trial in chosen_widths]
        notes.append(
            f"{evidence.label(dataset)}: W = {WIDTH} is above W = 1 at {rising} of {DEPTH} cuts; at NDCG@10 the widths "
            + ", ".join(f"{width}: {means[CUTS[-1]]:.4f}" for width, means in zip(WIDTHS, at_all, strict=True))
            + f". Of {chosen_widths.sum()} runs (folds and seeds) validation NDCG@10 chose "
            + ", ".join(f"{trial} in {count}" for trial, count in often)
            + "."
        )
        notes.append(metric_note(evidence, dataset))
    notes += [
        "W chosen: by validation NDCG@10 in each fold; W chosen for each n: by validation NDCG@n, as in the paper's "
        "figure. alpha and the epoch are chosen by validation NDCG@10 for each W.",
        *evidence.notes(sweep_sets(evidence)),
    ]
    frame = pd.DataFrame(rows).rename(columns={"system": "width"})
    return Table(entry["title"], frame, notes)


def table2(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    energy = of_widths(drawn(evidence, dataset, ENERGY))
    systems = {title(evidence, ENERGY, trial): energy[trial] for trial in (f"W = {WIDTH}", CHOSEN)}
    if SVM in evidence.supported(dataset):
        systems[title(evidence, SVM)] = trained_once(evidence, dataset, SVM)
    systems[title(evidence, SORTNET)] = by_trial(drawn(evidence, dataset, SORTNET))[""]
    notes = [metric_note(evidence, dataset), seeds_note(evidence), *evidence.notes([dataset])]
    frame = pd.DataFrame(lines(systems, dataset, evidence, {}))
    return Table(f"{entry['title']}: {evidence.label(dataset)}", frame, notes)


# Beyond the paper's own tables


def readings(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    rows = drawn(evidence, dataset, "readings")
    found = []
    for reading in READINGS:
        here = rows[rows["trial"] == reading]
        means = here.groupby(["split", "fold"])[CUTS].mean().groupby("split").mean()
        test = {f"NDCG@{k}": float(means.loc["test", f"ndcg@{k}"]) for k in (1, 3, 5, 10)}
        start = {"data": evidence.origin(dataset), "reading": reading}
        kept, last = float(means.loc["vali", CUTS[-1]]), float(here.groupby("fold")["last"].first().mean())
        found.append({**start, "validation NDCG@10": kept, "of the last epoch": last, **test})
    notes = [
        f"W = {WIDTH}, one seed, at most 30 epochs, learning rate .001, ties drawn once in each step; alpha (.01 or "
        ".1) and the epoch are chosen on validation by NDCG@10. The last epoch shows where training leads.",
        "dNDCG as Eq. 5 has it, with its sign: both documents of a pair prefer the same rank, whatever their scores.",
        metric_note(evidence, dataset),
        *evidence.notes([dataset]),
    ]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(found), notes)


def circles(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    rows = drawn(evidence, dataset, SORTNET)
    rows = rows[rows["split"] == "test"]
    found = []
    for draw, here in rows.groupby("draw"):
        found.append(
            {
                "data": evidence.origin(dataset),
                "seed": int(draw),
                "test queries": len(here),
                "with circles": int(np.sum(here["circles"] > 0)),
                "triples": int(here["triples"].sum()),
                "in circles": int(here["circles"].sum()),
                "in circles %": 100 * float(here["circles"].sum() / max(here["triples"].sum(), 1)),
            }
        )
    notes = [
        "Three documents are in a circle where the comparator prefers the first to the second, the second to the third "
        "and the third to the first. A query without circles has one order, in whatever order its documents come. "
        "With circles the order depends on where sorting starts: here always from the order of the features' values.",
        *evidence.notes([dataset]),
    ]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(found), notes)


def chosen(entry: Entry, evidence: Evidence) -> Table:
    dataset = evidence.dataset(entry["role"])
    found = []
    for experiment in (name for name in EXPERIMENTS if name != "readings"):
        rows = drawn(evidence, dataset, experiment)
        rows = rows[rows["split"] == "vali"]
        for trial, here in rows.groupby("trial", sort=False):
            runs = here.groupby(["draw", "fold"])["chosen"].first()
            counts = runs.value_counts().sort_index()
            found.append(
                {
                    "data": evidence.origin(dataset),
                    "method": title(evidence, EXPERIMENTS[experiment].method, str(trial)),
                    "runs": len(runs),
                    "chosen": "; ".join(f"{words} ({count})" for words, count in counts.items()),
                    "validation NDCG@10": float(here.groupby(["draw", "fold"])[CUTS[-1]].mean().mean()),
                }
            )
    notes = [
        "A run is one fold with one seed; in brackets, how many runs chose so. Only validation queries choose.",
        *evidence.notes([dataset]),
    ]
    return Table(f"{entry['title']}: {evidence.label(dataset)}", pd.DataFrame(found), notes)


def times(entry: Entry, evidence: Evidence) -> Table:
    """The common table, which knows of no seeds."""
    table = times_table(entry, evidence)
    own = ", ".join(title(evidence, method) for method in (ENERGY, SORTNET, *BESIDE))
    return replace(table, notes=[*table.notes, f"{own}: see results/benchmarks/energyndcg2011/seeds."])


TABLES = {
    "table1": table1,
    "section5": section5,
    "widths": widths,
    "table2": table2,
    "readings": readings,
    "circles": circles,
    "chosen": chosen,
    "times": times,
}
