"""README's sentences about counts, differences and times, made from the tables in docs/reference and from docs/bench.

A block stands between <!-- name:begin --> and <!-- name:end -->. `make reference` writes all of them; a test holds
README to what this makes.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
README, REFERENCE, BENCH = ROOT / "README.md", ROOT / "docs/reference", ROOT / "docs/bench"
WIDTH = 120
MEDIAN = "median |difference|"
TREC = "TD2003 in 4 folds"
PLACE, PAIRS = "FRank's place among the learned", "pairs in the paper's order"
FELL, SPEARMAN = "training NDCG@10 fell in", "Spearman of loss and NDCG@10"
MOVABLE = "at an edge that could be moved"
CHANGE = "average change %"
PER_PAIR, SAME_SIGN = "pair - query", "draws with the paper's sign"


def read(table: str) -> pd.DataFrame:
    return pd.read_csv(REFERENCE / f"{table}.csv")


def short(value: float, digits: int = 3, sign: bool = False) -> str:
    """As the papers print it, without the zero before the point.

    >>> short(0.4321), short(-0.0779, sign=True), short(0.0066, digits=4)
    ('.432', '-.078', '.0066')
    """
    return re.sub(r"^([+-]?)0\.", r"\1.", f"{value:{'+' if sign else ''}.{digits}f}")


def listed(parts: Iterable[str]) -> str:
    """
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def letor() -> list[str]:
    cells, summary, fit = read("letor/published"), read("letor/published_summary"), read("letor/fit")
    total = summary.set_index(["data set", "published in"]).loc[("all", "all")]
    sources = summary[(summary["data set"] == "all") & (summary["published in"] != "all")]
    of_sources = (
        f"{row['published in']} {row['cells']} cells, {short(row[MEDIAN], 4)}, {row['beyond .015']} beyond"
        for _, row in sources.iterrows()
    )
    exact = [regression(cells[cells["data set"] == title]) for title in ("OHSUMED", "TD2003")]
    lines = [
        f'Least squares gives LETOR\'s own "Regression" row to the last digit in {exact[0]} on OHSUMED and in '
        f"{exact[1]} on TD2003, which checks data, folds, evaluator and averaging together. Of {total['cells']} "
        f"published cells {total['beyond .015']} differ from ours by more than .015; the median of |difference| is "
        f"{short(total[MEDIAN], 4)} ({'; '.join(of_sources)}). {fitted(fit)} The cells beyond "
        ".015, ours minus published:"
    ]
    for _, row in summary[summary["published in"] == "all"].iterrows():
        if row["data set"] == "all":
            continue
        here = cells[cells["data set"] == row["data set"]]
        lines.append(
            f"- {row['data set']}: {row['beyond .015']} of {row['cells']} cells (median "
            f"{short(row[MEDIAN], 4)}; {row['of these outside the interval']} of the "
            f"{row['beyond .015']} outside the 95% interval of ours): {far(here)}"
        )
    return lines


def regression(cells: pd.DataFrame) -> str:
    """In how many cells of LETOR's Regression ours has the same four digits, and the others."""
    rows = cells[cells["method"] == "Regression"]
    same = rows["ours"].round(4) == rows["published"]
    others = [
        f"{row['metric']}: {short(row['ours'], 4)}, LETOR {short(row['published'], 4)}"
        for _, row in rows[~same].iterrows()
    ]
    return f"{same.sum()} of {len(rows)} cells" + (f" ({'; '.join(others)})" if others else "")


def far(cells: pd.DataFrame) -> str:
    """The cells beyond .015, method by method."""
    beyond = cells[cells["beyond .015"] == "yes"]
    methods = []
    for method, rows in beyond.groupby("method", sort=False):
        said = (f"{row['metric']} {short(row['difference'], 4, sign=True)}" for _, row in rows.iterrows())
        methods.append(f"{method} {', '.join(said)}")
    return ("; ".join(methods) or "none") + "."


def fitted(fit: pd.DataFrame) -> str:
    """Values on TD2003's training queries, which tell more than those on its ten test queries of a fold."""
    rows = fit[(fit["data set"] == "TD2003") & (fit["queries"] == "training")].set_index("method")
    said = [
        f"{method} {short(rows.loc[method, 'NDCG@10'])} ({short(rows.loc[method, 'NDCG@10 published'])})"
        for method in ("FRank", "ListNet", "RankBoost")
    ]
    return f"NDCG@10 on TD2003's training queries, with LETOR's in brackets: {listed(said)}."


def edges() -> list[str]:
    """Choices at an edge that could be moved, of all papers; simulated data apart, which is not counted."""
    tables = {path.parent.name: pd.read_csv(path) for path in sorted(REFERENCE.glob("*/edges.csv"))}
    every = pd.concat(tables.values())
    methods = every.groupby(["method", "hyper-parameter"])[["folds", MOVABLE]].sum()
    # One in four: of a grid of eight values that all fit as well, two are edges.
    many = methods[4 * methods[MOVABLE] > methods["folds"]]
    said = (f"{method} ({name}, {row[MOVABLE]} of {row['folds']})" for (method, name), row in many.iterrows())
    papers = (
        f"[{paper}](docs/reference/{paper}/edges.md) {table[MOVABLE].sum()} of {table['folds'].sum()}"
        for paper, table in tables.items()
    )
    return [
        f"Of {every['folds'].sum()} choices that validation made, one for each fold and hyper-parameter, "
        f"{every[MOVABLE].sum()} are at an edge of the grid that is neither the end of what is possible nor the "
        f"paper's own: {listed(papers)}. More than one in four are of: {', '.join(said) or 'no method'}."
    ]


def frank_trec() -> list[str]:
    gains, orders, trec = (read(f"frank2007/{name}") for name in ("gains", "orders", "trec"))
    learned, bm25 = gains[gains["system"] != "BM25, tuned"], trec.set_index(["features", "system"])["MAP"]
    lines = [
        "The paper says that every learned method is at least 40% above a tuned BM25 in MAP, and that FRank is first "
        "in MAP, in precision and in NDCG@1 and NDCG@3. On its 50 queries in four folds:"
    ]
    for number, features in ((64, "all 64 features"), (14, "the paper's 14 features")):
        title = TREC if number == 64 else f"{TREC}, {number} features"
        here = learned[learned["data set"] == title]
        over = [span(here[f"MAP over {base} %"]) for base in ("BM25", "BM25, tuned")]
        of_set = orders[orders["data set"] == title].set_index("metric")
        lines.append(
            f"- With {features} the learned methods' MAP is {over[0]} above plain BM25's "
            f"{short(bm25[number, 'BM25'])}, and {over[1]} above tuned BM25's {short(bm25[number, 'BM25, tuned'])} "
            "(the field that validates best). "
            f"Order in MAP: {of_set.loc['MAP', 'order']}. FRank's place among the five learned at P@1 to P@10: "
            f"{places(of_set, 'P')}; at NDCG@1 to NDCG@10: {places(of_set, 'NDCG')}."
        )
    return lines


def span(values: pd.Series) -> str:
    return f"{values.min():.0f} to {values.max():.0f}%"


def places(orders: pd.DataFrame, metric: str) -> str:
    """FRank's place at each of ten cuts."""
    return ", ".join(f"{orders.loc[f'{metric}@{k}', PLACE]:.0f}" for k in range(1, 11))


def frank_web() -> list[str]:
    orders, ttest, table4 = (read(f"frank2007/{name}") for name in ("orders", "ttest", "table4"))
    web = orders[orders["data set"] == "MQ2007"]
    leads = listed(short(value, 4, sign=True) for value in ttest["A - B"])
    theirs = listed(short(value, sign=True) for value in ttest["A - B, paper (its own data)"])
    p_values = listed(short(value, 2) for value in ttest["t-test p"])
    their_p = listed(short(value) for value in ttest["paper (its own data) p"])
    below = (table4["BM25 + PageRank"] < table4["BM25"]).sum()
    lines = [
        f"FRank is first of the learned at {(web[PLACE] == 1).sum()} of {len(web)} cuts (paper: all). Its lead over "
        f"the two-layer RankNet at NDCG@1, 5 and 10 is {leads} (paper: {theirs}), p = {p_values} (paper: {their_p}). "
        f"BM25 with PageRank is below BM25 at {below} of {len(table4)} cuts (paper: above at all). {sizes()} "
        f"{falling()} The order at each cut, and how many of 15 pairs of systems have the paper's order:"
    ]
    for order, rows in web.groupby("order", sort=False):
        pairs = {metric: pairs.split()[0] for metric, pairs in zip(rows["metric"], rows[PAIRS], strict=True)}
        cuts = ", ".join(f"{metric} ({same})" for metric, same in pairs.items())
        lines.append(f"- {order}: {cuts}.")
    return lines


def sizes() -> str:
    table = read("frank2007/table6")
    systems = [column.removesuffix(" sd") for column in table if column.endswith(" sd")]
    first = (table[systems].idxmax(axis=1) == "FRank").sum()
    return f"FRank is the best of {len(systems)} methods at {first} of {len(table)} training sizes (paper: all)."


def falling() -> str:
    """What is not automatic about the loss."""
    table = read("frank2007/loss")
    web = table[table["data set"] == "MQ2007"]
    full, fell, rounds = (table["rounds"] == table["rounds allowed"]).sum(), web[FELL].sum(), web["rounds"].sum()
    least, most = (short(value, 2) for value in (web[SPEARMAN].max(), web[SPEARMAN].min()))
    return (
        "That the fidelity loss falls in every round is automatic, since only weak learners that lower it are taken; "
        f"that there was one in all {web['rounds allowed'].max()} rounds, in {full} of {len(table)} folds of the three "
        "data sets, is not. NDCG@10 of the training queries has a Spearman correlation of "
        f"{least} to {most} with the loss, and fell in {fell:,} of {rounds:,} rounds."
    )


def ranknet_artificial() -> list[str]:
    """Section 5: what a second layer, ties and updates by pair change, and both readings of the polynomial."""
    table, gaps, updates = (read(f"ranknet2005/{name}") for name in ("table1", "table1_gaps", "table1_updates"))
    ties, learned = read("ranknet2005/table2"), read("ranknet2005/capacity").set_index("quantity")["ours"]
    sizes = listed(f"{size:,}" for size in sorted(set(table["train size"])))
    lines = [
        f"What two layers gain over one, in points of test % correct with {sizes} training vectors (mean of "
        f"{gaps['draws'].max()} draws; how many have the paper's sign):"
    ]
    for task, here in gaps.groupby("task", sort=False):
        gained = ", ".join(
            f"{row['ours']:+.1f} ({row[SAME_SIGN]}; paper {row['paper']:+.1f})" for _, row in here.iterrows()
        )
        lines.append(f"- {task}: {gained}.")
    lines.append("Ours minus print, of the linear and the two-layer net at these sizes:")
    for task, here in table.groupby("task", sort=False):
        off = (
            f"{net} {', '.join(f'{value:+.1f}' for value in rows['difference'])} (spread over draws "
            f"{rows['sd'].min():.1f} to {rows['sd'].max():.1f})"
            for net, rows in here.groupby("net", sort=False)
        )
        lines.append(f"- {task}: {'; '.join(off)}.")
    effects = []
    for _, here in ties.groupby("task", sort=False):
        means = here.groupby("trained on")["ours"].mean()
        effects.append(short(means["all ties"] - means["no ties"], 4, sign=True))
    most = updates.loc[updates[PER_PAIR].abs().idxmax()]
    lines.append(
        "The second reading of the polynomial is a hypothesis, found by comparing with the printed values. Training on "
        f"ties changes the share of correct pairs by {listed(effects)} in the two readings (paper: nothing). An update "
        f"for each pair, as in the paper, and not for each query changes % correct by {most[PER_PAIR]:+.1f} at most "
        f"({most['task']}, {most['net']}, {most['train size']:,} vectors). The net that is to learn 1,000 vectors has "
        f"{learned['training pairs in the wrong order']:.1f} training pairs in the wrong order (paper: 0)."
    )
    return lines


def ranknet_systems() -> list[str]:
    """Section 6, on the stand-in."""
    systems, (layers,) = read("ranknet2005/table4"), read("ranknet2005/wilcoxon").to_dict("records")
    ours, theirs = systems.set_index("system")["test"], systems.set_index("system")["test, paper (its own data)"]
    pairs = list(itertools.combinations(ours.index, 2))
    same = sum((ours[a] - ours[b]) * (theirs[a] - theirs[b]) > 0 for a, b in pairs)
    order = " > ".join(f"{name} {short(ours[name])} ({short(theirs[name])})" for name in ours.sort_values()[::-1].index)
    return [
        f"Test NDCG@15, and the paper's on its own data: {order}. {same} of {len(pairs)} pairs of systems have the "
        f"paper's order. Two layers minus one: {short(layers['A - B'], 4, sign=True)}, Wilcoxon p = "
        f"{short(layers['Wilcoxon p'], 2)} (paper: {short(layers['A - B, paper (its own data)'], sign=True)}, "
        f"{short(layers['rejected at, paper (its own data)'], 2)})."
    ]


def bayes() -> list[str]:
    """Table 1 by all three tests, and what open choices change."""
    table, descent = read("bayesopt2010/table1"), read("bayesopt2010/descent")
    whole = table[table["loss"] == "all"]
    sets, total = whole[~whole["data set"].str.startswith("Total")], whole[whole["data set"].str.startswith("Total")]
    lines = [
        "Cases (three losses at NDCG@1, 5 and 10) in which the Bayes-optimal ranking function is significantly better "
        "and worse than the linear one: by the paper's one-sided test, by a two-sided one, and by the latter with "
        f"Holm's correction over all {total['cases'].iloc[0]:.0f} cases; then the average change of NDCG."
    ]
    for _, row in pd.concat([sets, total]).iterrows():
        said = ""
        if pd.notna(row["better published"]):
            said = (
                f" (paper: {row['better published']:.0f} and {row['worse published']:.0f}, "
                f"{row['average change % published']:+.1f}%)"
            )
        counts = (
            f"{row['better']:.0f} and {row['worse']:.0f} of {row['cases']:.0f}; "
            f"{row['better, two-sided']:.0f} and {row['worse, two-sided']:.0f}; "
            f"{row['better, Holm']:.0f} and {row['worse, Holm']:.0f}"
        )
        lines.append(f"- {row['data set']}: {counts}; {row['average change %']:+.1f}%{said}. In all: {row['in all']}.")
    missing = listed(table.loc[table["data"] == "not at hand", "data set"])
    lines.append(
        f"{missing} were not at hand. Of {descent['grid points x folds'].sum():,} descents "
        f"{descent['inert at the start'].sum()} were inert at the start, and {descent['not converged'].sum()} did not "
        f"converge. {open_choices()}"
    )
    return lines


def open_choices() -> str:
    """Grid points that did not move before, and the average change under choices that the paper leaves open."""
    inert, ranges = [], []
    for name in ("ohsumed", "td2003"):
        table = read(f"bayesopt2010/sensitivity_{name}").astype({"evaluations": str})
        whole = table[table["loss"] == "all"]
        (old, *_) = whole[(whole["start"] == "log shares") & (whole["evaluations"] == "200")].to_dict("records")
        inert.append(f"{old['inert at the start']} of {old['grid points x folds']} on {name.upper()}")
        ends = (whole.loc[whole[CHANGE].idxmin()], whole.loc[whole[CHANGE].idxmax()])
        ranges.append(f"between {' and '.join(map(described, ends))} on {name.upper()}")
    return (
        f"With the start of earlier versions and 200 evaluations {listed(inert)} were inert. Under {len(whole)} ways "
        "to train (how far, which step is kept, where to start, how levels are counted) the average change is "
        f"{listed(ranges)}."
    )


def described(row: pd.Series) -> str:
    """A way to train and what it changes."""
    levels = "" if row["levels from"] == 0 else f", levels from {row['levels from']}"
    return f"{row[CHANGE]:+.1f}% ({row['evaluations']}, {row['step kept']} step, {row['start']}{levels})"


def bench() -> list[str]:
    """Times and memory, each from the file that a command made."""
    lines = ["Every time or size in memory that is quoted here is in a file that a command makes."]
    if (BENCH / "lists.json").exists():
        found = json.loads((BENCH / "lists.json").read_text(encoding="utf-8"))
        *methods, whole = found["rows"]
        said = (f"{row['what']} {minutes(row['seconds'])} and {row['GiB']:.1f} GiB" for row in methods)
        lines.append(
            f"- `make bench-lists` ([file](docs/bench/lists.json)), {whole['documents']:,} simulated documents in "
            f"strict order, five folds: {listed(said)}; {whole['what']}, {minutes(whole['seconds'])}."
        )
    for path in sorted(BENCH.glob("frank*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        [row] = found["rows"]
        command = "make bench-frank" if path.stem == "frank" else found["command"]
        lines.append(
            f"- `{command}` ([file](docs/bench/{path.name})), {row['queries']:,} simulated queries, {row['pairs']:,} "
            f"pairs, {row['features']} features (paper: 12,000, 2,635,976 and 619): {row['rounds']} rounds of FRank "
            f"take {minutes(row['seconds of work'])} of one core's work and {row['GiB']:.1f} GiB."
        )
    if len(lines) == 1:
        lines.append("- None is at present: `make bench-lists` and `make bench-frank` write theirs to docs/bench.")
    return lines


def minutes(seconds: float) -> str:
    """
    >>> minutes(90), minutes(600)
    ('90 seconds', '10 minutes')
    """
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


BLOCKS = {
    "letor": letor,
    "ranknet_artificial": ranknet_artificial,
    "ranknet_systems": ranknet_systems,
    "frank_trec": frank_trec,
    "frank_web": frank_web,
    "bayes": bayes,
    "edges": edges,
    "bench": bench,
}


def block(name: str) -> str:
    """The lines of a block, wrapped, as part of one of README's bullets; a line that starts with "- " is one below."""
    lines = []
    for line in BLOCKS[name]():
        later = "    " if line.startswith("- ") else "  "
        lines += textwrap.wrap(
            line,
            WIDTH - 1,
            initial_indent="  ",
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def renewed(text: str) -> str:
    """README with all of its blocks made anew."""
    for name in BLOCKS:
        pattern = re.compile(rf"( *<!-- {name}:begin -->\n).*?( *<!-- {name}:end -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            sys.exit(f"README.md must have one block {name}")
        made = block(name)
        text = pattern.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
