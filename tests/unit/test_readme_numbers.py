"""README's numbers are those of the tables in docs/reference."""

from __future__ import annotations

import importlib.util
import json
import re

import pandas as pd
import pytest
from helpers import ROOT

spec = importlib.util.spec_from_file_location("readme_numbers", ROOT / "tools/readme_numbers.py")
readme_numbers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readme_numbers)

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", readme_numbers.BLOCKS)
def test_each_block_is_what_the_tool_makes(name):
    """Where this fails: python tools/readme_numbers.py"""
    said = README.partition(f"<!-- {name}:begin -->\n")[2].partition(f"<!-- {name}:end -->")[0]
    assert said.rstrip(" ") == readme_numbers.block(name) + "\n"


def test_the_blocks_are_renewed_and_nothing_else(monkeypatch):
    monkeypatch.setattr(readme_numbers, "BLOCKS", {"x": lambda: ["one two", "- " + "word " * 40]})
    text = "a\n  <!-- x:begin -->\n  old\n  <!-- x:end -->\nb\n"
    lines = readme_numbers.renewed(text).splitlines()
    assert lines[:3] == ["a", "  <!-- x:begin -->", "  one two"]
    assert lines[3].startswith("  - word")
    assert lines[4].startswith("    word")
    assert max(map(len, lines)) <= 120
    assert lines[-2:] == ["  <!-- x:end -->", "b"]
    assert readme_numbers.renewed("\n".join(lines)) == "\n".join(lines)


def test_a_missing_block_is_told():
    with pytest.raises(SystemExit, match="one block letor"):
        readme_numbers.renewed("nothing")


def test_cells_beyond_are_listed_by_method_with_their_signs():
    rows = [("A", "MAP", -0.0201, "yes"), ("B", "MAP", 0.1, "yes"), ("A", "NDCG@1", 0.016, "yes")]
    cells = pd.DataFrame(
        [*rows, ("B", "NDCG@1", 0.001, "no")], columns=["method", "metric", "difference", "beyond .015"]
    )
    assert readme_numbers.far(cells) == "A MAP -.0201, NDCG@1 +.0160; B MAP +.1000."
    assert readme_numbers.far(cells[3:]) == "none."


# Sentences, from made-up tables


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A function that puts a table where the tool looks for it."""
    monkeypatch.setattr(readme_numbers, "REFERENCE", tmp_path)

    def put(name: str, rows: list[dict] | None = None, **columns: list) -> None:
        path = tmp_path / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        named = {key.replace("_", " "): values for key, values in columns.items()}
        pd.DataFrame(rows or named).to_csv(path, index=False)

    return put


def test_the_regression_row_is_compared_digit_by_digit():
    cells = pd.DataFrame(
        {
            "method": ["Regression", "Regression", "ListNet"],
            "metric": ["MAP", "NDCG@10", "MAP"],
            "ours": [0.42204, 0.32531, 0.5],
            "published": [0.4220, 0.3263, 0.4],
        }
    )
    assert readme_numbers.regression(cells) == "1 of 2 cells (NDCG@10: .3253, LETOR .3263)"
    assert readme_numbers.regression(cells[:1]) == "1 of 1 cells"


def test_sizes_at_which_frank_is_best_are_counted(reference):
    given = {"FRank": [0.5, 0.4, 0.3], "FRank sd": [0.1] * 3, "Other": [0.4, 0.5, 0.2], "Other sd": [0.1] * 3}
    reference("frank2007/table6", **given, **{"Other, paper": [0.9] * 3})
    assert readme_numbers.sizes() == "FRank is the best of 2 methods at 2 of 3 training sizes (paper: all)."


def test_folds_that_ended_early_are_not_counted_among_the_whole_ones(reference):
    given = {"data set": ["MQ2007", "MQ2007", "TD2003"], "rounds": [300, 250, 300], "rounds allowed": [300] * 3}
    given |= {"training NDCG@10 fell in": [100, 20, 7], "Spearman of loss and NDCG@10": [-0.9, -0.95, -0.1]}
    reference("frank2007/loss", **given)
    said = readme_numbers.falling()
    assert "there was one in all 300 rounds, in 2 of 3 folds of the three data sets" in said
    assert "a Spearman correlation of -.90 to -.95 with the loss, and fell in 120 of 550 rounds." in said


def test_the_paper_beside_ours_by_all_three_tests(reference):
    cases = {"cases": 9, "better": 3, "same": 5, "worse": 1, "average change %": 2.34, "in all": "not shown"}
    tests = {"better, two-sided": 2, "worse, two-sided": 0, "better, Holm": 0, "worse, Holm": 0}
    printed = {"better published": 3, "worse published": 0, "average change % published": 1.2}
    rows = [
        {"data set": "OHSUMED", "data": "real", "loss": "cosine", **cases, **tests},
        {"data set": "OHSUMED", "data": "real", "loss": "all", **cases, **tests, **printed},
        {"data set": "Total of 1, real", "data": "real", "loss": "all", **cases, **tests},
        {"data set": "HP2003", "data": "not at hand"},
        {"data set": "NP2003", "data": "not at hand"},
    ]
    reference("bayesopt2010/table1", rows)
    counted = {"grid points x folds": 1000, "inert at the start": 0, "not converged": 2}
    reference("bayesopt2010/descent", [counted, counted])
    change, how = "average change %", {"loss": "all", "step kept": "last", "start": "shares", "levels from": 0}
    how |= {"grid points x folds": 250, "inert at the start": 0}
    ways = [{**how, "evaluations": "200", change: -1}, {**how, "evaluations": "400", change: 3, "levels from": 1}]
    ways.append({**how, "evaluations": "200", "start": "log shares", change: 0, "inert at the start": 20})
    for name in ("ohsumed", "td2003"):
        reference(f"bayesopt2010/sensitivity_{name}", [*ways, {**ways[0], "loss": "cosine", change: 99}])
    _, ohsumed, total, rest = readme_numbers.bayes()
    assert ohsumed == "- OHSUMED: 3 and 1 of 9; 2 and 0; 0 and 0; +2.3% (paper: 3 and 0, +1.2%). In all: not shown."
    assert total == "- Total of 1, real: 3 and 1 of 9; 2 and 0; 0 and 0; +2.3%. In all: not shown."
    assert rest.startswith("HP2003 and NP2003 were not at hand. Of 2,000 descents 0 were inert at the start, and 4 did")
    between = "-1.0% (200, last step, shares) and +3.0% (400, last step, shares, levels from 1)"
    assert f"counted) the average change is between {between} on OHSUMED and between" in rest
    assert "and 200 evaluations 20 of 250 on OHSUMED and 20 of 250 on TD2003 were inert." in rest


def test_pairs_of_systems_in_the_papers_order_are_counted(reference):
    test, paper = "test", "test, paper (its own data)"
    values = {"A": (0.5, 0.4), "B": (0.4, 0.45), "C": (0.3, 0.2)}  # A and B are the other way round
    reference("ranknet2005/table4", [{"system": name, test: x, paper: y} for name, (x, y) in values.items()])
    layers = {"A - B": 0.0002, "Wilcoxon p": 0.11, "A - B, paper (its own data)": 0.011}
    reference("ranknet2005/wilcoxon", [{**layers, "rejected at, paper (its own data)": 0.16}])
    (said,) = readme_numbers.ranknet_systems()
    assert "A .500 (.400) > B .400 (.450) > C .300 (.200). 2 of 3 pairs of systems" in said
    assert said.endswith("Two layers minus one: +.0002, Wilcoxon p = .11 (paper: +.011, .16).")


def test_what_a_second_layer_gains_by_task_and_size(reference):
    sizes = [{"task": "net", "train size": size} for size in (100, 2500)]
    gained = [{**each, "ours": 5.12, "paper": 7.0, "draws": 5, "draws with the paper's sign": 4} for each in sizes]
    reference("ranknet2005/table1_gaps", gained)
    nets = [{**each, "net": net, "difference": -1.23, "sd": 0.5} for net in ("linear", "two-layer") for each in sizes]
    reference("ranknet2005/table1", nets)
    reference("ranknet2005/table1_updates", [{**sizes[1], "net": "linear", "pair - query": -0.31}])
    ties = [{"task": task, "trained on": name, "ours": value} for task in "ab" for name, value in TIES]
    reference("ranknet2005/table2", ties)
    reference("ranknet2005/capacity", [{"quantity": "training pairs in the wrong order", "ours": 0}])
    first, gain, _, off, last = readme_numbers.ranknet_artificial()
    assert "with 100 and 2,500 training vectors (mean of 5 draws; how many have the paper's sign):" in first
    assert gain == "- net: +5.1 (4; paper +7.0), +5.1 (4; paper +7.0)."
    assert off.startswith("- net: linear -1.2, -1.2 (spread over draws 0.5 to 0.5); two-layer")
    assert "by -.0002 and -.0002 in the two readings" in last
    assert "by -0.3 at most (net, linear, 2,500 vectors)" in last
    assert last.endswith("has 0.0 training pairs in the wrong order (paper: 0).")


TIES = (("no ties", 0.7002), ("all ties", 0.7))


def test_choices_at_an_edge_are_summed_over_papers(reference):
    for paper, method, folds, movable in (("a", "X", 5, 2), ("b", "X", 5, 1), ("b", "Y", 10, 2)):
        given = {"method": [method], "hyper-parameter": ["C"], "folds": [folds]}
        reference(f"{paper}/edges{'_simulated' * (method == 'Y')}", **given, at_an_edge_that_could_be_moved=[movable])
    [said] = readme_numbers.edges()
    assert said.startswith(
        "Of 10 choices that validation made, one for each fold and hyper-parameter, 3 are at an edge"
    )
    assert "[a](docs/reference/a/edges.md) 2 of 5 and [b](docs/reference/b/edges.md) 1 of 5." in said
    assert said.endswith("More than one in four are of: X (C, 3 of 10).")


# Times and memory


PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
# "90 seconds", "4.3 GiB", "a few minutes", "an hour"
QUOTED = re.compile(r"\b(?:\d[\d.,]*|an?|a few|several) (?:s|seconds?|minutes?|hours?|days?|[KMG]i?B)\b")


@pytest.mark.parametrize("page", PAGES)
def test_no_time_or_memory_is_quoted_without_a_file(page):
    """README's block "bench" is made from docs/bench; nothing else may quote any."""
    text = re.sub(r"<!-- bench:begin -->.*?<!-- bench:end -->", "", (ROOT / page).read_text(), flags=re.DOTALL)
    assert not QUOTED.findall(" ".join(text.split()))


def test_what_is_quoted_of_a_bench_is_in_its_file(tmp_path, monkeypatch):
    frank = {"queries": 1200, "pairs": 275_000, "features": 619, "rounds": 271, "seconds of work": 300.0, "GiB": 0.81}
    lists = [{"what": "DiffRank", "seconds": 61.2, "GiB": 1.26}, {"what": "SVM-MAP", "seconds": 1200, "GiB": 2}]
    lists.append({"what": "both", "documents": 902_220, "seconds": 1300})
    monkeypatch.setattr(readme_numbers, "BENCH", tmp_path)
    assert "None is at present" in readme_numbers.block("bench")
    (tmp_path / "frank_1200.json").write_text(json.dumps({"command": "python x", "rows": [frank]}))
    (tmp_path / "lists.json").write_text(json.dumps({"rows": lists}))
    said = " ".join(readme_numbers.block("bench").split())
    assert "902,220 simulated documents in strict order, five folds: DiffRank 61 seconds and 1.3 GiB and" in said
    assert "SVM-MAP 20 minutes and 2.0 GiB; both, 22 minutes." in said
    assert "`python x` ([file](docs/bench/frank_1200.json)), 1,200 simulated queries" in said
    assert "271 rounds of FRank take 5 minutes of one core's work and 0.8 GiB." in said


def test_a_bench_keeps_its_command_machine_and_versions(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("bench_record", ROOT / "tools/bench_record.py")
    bench_record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench_record)
    monkeypatch.setattr("sys.argv", ["/somewhere/tools/bench_x.py", "--queries", "5"])
    path = bench_record.record("x", [{"what": "a", "seconds": 1.23456}], tmp_path)
    found = json.loads(path.read_text())
    assert path.name == "x.json"
    assert found["command"] == "python tools/bench_x.py --queries 5"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["GiB"] > 0
    assert {"python", "jax", "numpy"} <= found["versions"].keys()
    assert found["rows"] == [{"what": "a", "seconds": 1.235}]
