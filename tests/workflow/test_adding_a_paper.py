"""docs/adding-a-paper.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import html
import re

import pandas as pd
from helpers import follow, run_in, scored, small_project, tables

ROOM = "src/replirank/papers/pairs2099/"


def test_following_the_page_adds_a_paper_and_changes_no_other(tmp_path):
    project = small_project(tmp_path / "project")
    run_in(project, "snakemake --cores 2")
    before = tables(project)
    steps, outputs = follow(project, "adding-a-paper.md")

    # One folder and lines in the config.
    files = [where for kind, where in steps if kind == "file"]
    assert files == [ROOM + name for name in ("paper.yaml", "tables.py", "figures.py", "__init__.py")]
    assert [kind for kind, _ in steps[len(files) :]] == ["config", "run", "run"]
    assert re.search(r"\b[1-9]\d* passed", outputs[0])
    assert "failed" not in outputs[0]

    # Only what is new was computed.
    assert scored(outputs[1]) == {"pairs2099/ohsumed/regression", "pairs2099/ohsumed/ranksvm"}
    assert "results/tables/letor" not in "".join(re.findall(r"output: .*", outputs[1]))
    after = tables(project)
    assert {name: after[name] for name in before} == before
    assert sorted(set(after) - set(before)) == [
        f"results/tables/pairs2099/{name}.{form}"
        for name in ("choices", "table1", "table2")
        for form in ("csv", "json", "md", "tex")
    ]

    folder = project / "results/tables/pairs2099"
    table1 = pd.read_csv(folder / "table1.csv")
    shown = [f"NDCG@{k}{end}" for k in (1, 2, 3) for end in ("", " \N{PLUS-MINUS SIGN}")]
    assert table1.columns.tolist() == ["data", "method", *shown]  # nothing printed: simulated
    assert table1["method"].tolist() == ["Regression", "RankSVM"]
    # The counts are those of the tidy frame.
    metrics = pd.read_parquet(project / "results/metrics.parquet").query("paper == 'pairs2099' and split == 'test'")
    ndcg = metrics.pivot(index="query", columns="method", values="letor3.ndcg@3")
    signs = (ndcg["ranksvm"] - ndcg["regression"]).map(lambda gain: (gain > 0) - (gain < 0))
    table2 = pd.read_csv(folder / "table2.csv").set_index("pairs are")
    assert table2["queries"].to_dict() == {
        name: int((signs == sign).sum()) for name, sign in (("better", 1), ("same", 0), ("worse", -1))
    }
    assert table2["queries"].sum() == 15
    assert (project / "figures/pairs2099/figure1.png").read_bytes().startswith(b"\x89PNG")
    page = (project / "results/report.html").read_text()
    assert "Are Pairs Better than Points?" in page
    assert html.escape("Figure 1: what pairs gain on each query") in page
