"""docs/adding-a-method.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess

import pandas as pd
import yaml
from helpers import ROOT, environment, tables

STEP = re.compile(r"<!-- (file|config|run)(?:: (\S+))? -->\n```\w+\n(.*?)```", re.DOTALL)
# What a checkout has; not what was generated in it.
PARTS = ["Snakefile", "config.yaml", "environment.yml", "pyproject.toml", "src", "workflow", "profiles", "tests"]


def test_following_the_page_adds_both_methods_to_every_table(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for part in PARTS:
        place = ROOT / part
        if place.is_dir():
            shutil.copytree(place, project / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(place, project / part)
    shrink(project)
    run(project, "snakemake --cores 2")
    before = tables(project)

    steps = STEP.findall((ROOT / "docs/adding-a-method.md").read_text())
    assert [kind for kind, *_ in steps] == ["file", "config", "run", "run", "file", "config", "run"]
    outputs = []
    for kind, where, text in steps:
        if kind == "file":
            (project / where).write_text(text)
        elif kind == "config":
            add_to_config(project, yaml.safe_load(text))
        else:
            outputs.append(run(project, text))

    assert re.search(r"\b[1-9]\d* passed", outputs[0])
    assert "failed" not in outputs[0]
    # Only what is new was trained.
    assert trained(outputs[1]) == {"rocchio"}
    assert trained(outputs[2]) == {"feature_sum"}
    table = pd.read_csv(project / "results/tables/letor/ohsumed.csv").set_index("method")
    assert {"Rocchio", "Sum of features"} < set(table.index)
    assert table.loc[["Rocchio", "Sum of features"], ["NDCG@10", "MAP"]].gt(0).all(axis=None)
    assert "Rocchio" in (project / "results/tables/letor/significance.md").read_text()
    # And nothing that was there has changed.
    old = pd.read_csv(io(before["results/tables/letor/ohsumed.csv"])).set_index("method")
    pd.testing.assert_frame_equal(table.loc[old.index], old)


def shrink(project):
    """Little data and few methods: quick.yaml as the config itself, since the page's commands name none."""
    config, quick = (yaml.safe_load((project / p).read_text()) for p in ("config.yaml", "tests/quick.yaml"))
    config["run"] = ["letor"]
    config["papers"]["letor"] |= {"datasets": ["ohsumed"], "methods": ["regression", "bm25"]}
    config["datasets"]["ohsumed"] |= quick["datasets"]["ohsumed"]
    config |= {"always_simulate": True, "flips": 1000}
    (project / "config.yaml").write_text(yaml.safe_dump(config))


def add_to_config(project, change):
    """As a reader would: "..." stands for the methods that are there."""
    config = yaml.safe_load((project / "config.yaml").read_text())
    there, *new = change["papers"]["letor"]["methods"]
    assert there == "..."
    config["papers"]["letor"]["methods"] += new
    config["methods"] |= change["methods"]
    (project / "config.yaml").write_text(yaml.safe_dump(config))


def run(project, command):
    env = {**environment(), "PYTHONPATH": str(project / "src")}
    done = subprocess.run(["bash", "-euc", command], cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout + done.stderr


def trained(output):
    return set(re.findall(r"results/scores/letor/ohsumed/(\w+)\.parquet", "\n".join(re.findall(r"output: .*", output))))


def io(data):
    from io import BytesIO

    return BytesIO(data)
