"""docs/adding-a-method.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import re
from io import BytesIO

import pandas as pd
from helpers import follow, run_in, scored, small_project, tables


def test_following_the_page_adds_its_methods_to_every_table(tmp_path):
    project = small_project(tmp_path / "project")
    run_in(project, "snakemake --cores 2")
    before = tables(project)
    steps, outputs = follow(project, "adding-a-method.md")
    python, gradients, rule = (
        ["file", "config", "run", "run"],
        ["file", "file", "config", "run", "run"],
        ["file", "config", "run"],
    )
    assert [kind for kind, _ in steps] == [*python, *gradients, *rule]

    for conformance in (outputs[0], outputs[2]):
        assert re.search(r"\b[1-9]\d* passed", conformance)
        assert "failed" not in conformance
    # Only what is new was trained.
    assert scored(outputs[1]) == {"letor/ohsumed/rocchio"}
    assert scored(outputs[3]) == {"letor/ohsumed/tempered_listnet", "letor/ohsumed/comparator"}
    assert scored(outputs[4]) == {"letor/ohsumed/feature_sum"}
    table = pd.read_csv(project / "results/tables/letor/ohsumed.csv").set_index("method")
    added = ["Rocchio", "ListNet, tempered", "Comparator", "Sum of features"]
    assert set(added) < set(table.index)
    assert table.loc[added, ["NDCG@10", "MAP"]].gt(0).all(axis=None)
    assert "Rocchio" in (project / "results/tables/letor/significance.md").read_text()
    # And nothing that was there has changed.
    old = pd.read_csv(BytesIO(before["results/tables/letor/ohsumed.csv"])).set_index("method")
    pd.testing.assert_frame_equal(table.loc[old.index], old)
