"""The workflow end to end, on tiny simulated data."""

from __future__ import annotations

import html
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml
from helpers import ROOT, command_line, environment, tables

# One of each engine and of each kind of rule, where a whole run would only take longer.
FEW = [
    "regression",
    "ranksvm",
    "ranknet_two_layer",
    "oap_bpm",
    "cross_entropy_bayes",
    "frank",
    "adarank_map",
    "lambdamart",
]
# Fewer of LETOR's methods: the papers run most of them.
QUICK = {"papers": {"letor": {"methods": FEW}}}
SHORT = {"run": ["letor"], "papers": {"letor": {"datasets": ["ohsumed"], "methods": FEW}}}


@pytest.fixture(scope="module")
def quick(snakemake, tmp_path_factory):
    """What `make quick` does."""
    folder = tmp_path_factory.mktemp("quick") / "run"
    snakemake(folder, config=QUICK)
    return folder


@pytest.fixture(scope="module")
def two_cores(snakemake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two") / "run"
    snakemake(folder, "--cores", "2", config=SHORT)
    return folder


# What each paper's issue promised, whatever its YAML says; of LETOR's data sets one suffices here.
PROMISED = {
    "letor": (["data", "ohsumed", "significance", "choices", "edges", "times"], ["ndcg", "curves"]),
    "ranknet2005": (
        [
            *("table1", "table1_gaps", "table1_updates", "table2", "capacity"),
            *("table3", "table4", "table5", "table6_times", "wilcoxon", "choices", "edges"),
        ],
        ["figure1", "table1", "curves"],
    ),
    "frank2007": (
        [
            *("table1", "trec", "gains", "orders", "table2", "table3", "loss", "table4", "ttest", "table5", "table6"),
            *("data", "choices", "edges", "times"),
        ],
        ["figure1", "figure3", "figure4", "figure5", "figure6", "figure7"],
    ),
    "energyndcg2011": (
        [
            *("table1", "section5", "section5_chosen", "widths", "table2", "readings", "circles", "chosen"),
            *("data", "choices", "edges", "times"),
        ],
        ["figure1", "figure2"],
    ),
    "diffrank2011": (
        [
            *("table1", "tests", "table1_derived", "tests_derived", "ohsumed", "mq2008", "bound"),
            *("significance", "random_lists", "data", "choices", "edges", "times"),
        ],
        ["figure2", "figure2_derived", "figure2_ohsumed", "figure2_mq2008"],
    ),
    "bayesopt2010": (
        [
            *("table1", "methods", "cases", "descent", "sensitivity_td2003"),
            *("data", "choices", "edges", "times"),
        ],
        ["figure1", "curves"],
    ),
}


@pytest.mark.parametrize("paper", PROMISED)
def test_everything_that_is_promised_is_there(quick, paper):
    promised, figures = PROMISED[paper]
    for table, form in itertools.product(promised, ("csv", "md", "tex", "json")):
        assert (quick / f"results/tables/{paper}/{table}.{form}").stat().st_size > 0
    for figure in figures:
        assert (quick / f"figures/{paper}/{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (quick / f"figures/{paper}/{figure}.pdf").read_bytes().startswith(b"%PDF")


def test_results_of_all_papers_are_on_one_page(quick):
    page = html.unescape((quick / "results/report.html").read_text())
    for paper, promised in PROMISED.items():
        room = yaml.safe_load((ROOT / f"src/replirank/papers/{paper}/paper.yaml").read_text())
        for part, names in zip(("tables", "figures"), promised, strict=True):
            for name in names:
                # A table for each data set has the data set's name.
                assert room[part].get(name, room[part].get("comparison"))["title"] in page


def test_the_tidy_frame_has_every_query_once_for_each_method_and_split(quick):
    metrics = pd.read_parquet(quick / "results/metrics.parquet")
    assert not metrics.duplicated(["paper", "dataset", "method", "split", "fold", "query"]).any()
    counts = metrics.query("split == 'test'").groupby(["paper", "dataset", "method"]).size()
    letor = counts["letor"].unstack()
    assert letor.shape == (1, len(FEW))
    assert letor.loc["ohsumed"].tolist() == [15] * len(FEW)
    assert counts["ranknet2005"].unstack().shape == (1, 6)
    assert counts["frank2007"].unstack().shape == (3, 9)
    assert counts["bayesopt2010"].unstack().shape == (1, 7)
    assert counts["energyndcg2011"].unstack().shape == (3, 9)
    assert counts["diffrank2011"].unstack().shape == (4, 5)
    # ranknet2005's Table 5 and LETOR's table of fits are on the training queries.
    splits = metrics.groupby("paper")["split"].agg(set)
    assert splits["ranknet2005"] == splits["letor"] == {"train", "vali", "test"}
    assert splits["frank2007"] == splits["bayesopt2010"] == {"vali", "test"}
    assert set(metrics["origin"]) == {"simulated"}


def test_a_data_set_may_have_grids_of_its_own(quick):
    kept = {name: quick / f"results/history/diffrank2011/{name}/listmle.csv" for name in ("ohsumed", "mq2008_list")}
    assert {name: pd.read_csv(path)["epoch"].max() for name, path in kept.items()} == {"ohsumed": 5, "mq2008_list": 4}


# ranknet2005 specifies these data in full: they are the paper's own, not a stand-in for them. A theorem holds for any.
ARTIFICIAL = {
    *(("ranknet2005", name) for name in ("table1", "table1_gaps", "table1_updates", "table2", "capacity")),
    ("diffrank2011", "random_lists"),
}


def test_simulated_data_says_so_in_every_table_and_on_the_page(quick):
    for path in (quick / "results/tables").rglob("*.md"):
        origins = set(pd.read_csv(path.with_suffix(".csv"))["data"])
        if (path.parent.name, path.stem) in ARTIFICIAL:
            assert origins == {"artificial"}, path
            continue
        assert origins == {"simulated"}, path
        assert "SIMULATED" in path.read_text(), path
        assert "SIMULATED" in path.with_suffix(".tex").read_text(), path
    assert "SIMULATED" in (quick / "results/report.html").read_text()


def test_published_values_never_stand_beside_simulated_ones(quick):
    for path in (quick / "results/tables").rglob("*.csv"):
        table = pd.read_csv(path)
        if set(table["data"]) == {"simulated"}:
            words = ("published", "paper", "printed", "difference")
            assert not [column for column in table if any(word in column for word in words)], path
    assert "ublished" not in (quick / "results/tables/letor/ohsumed.md").read_text()
    assert "ublished" not in (quick / "results/tables/bayesopt2010/table1.md").read_text()


def test_provenance_names_data_seed_versions_and_config(quick):
    found = json.loads((quick / "results/provenance.json").read_text())
    assert found["data"]["ohsumed"]["origin"] == "simulated"
    assert len(found["data"]["ohsumed"]["checksum"]) == 64
    assert found["seed"] == found["config"]["seed"]
    assert found["packages"]["jax"]


def test_a_second_run_has_nothing_to_do(quick, snakemake):
    assert "Nothing to be done" in snakemake(quick, "--cores", "1", config=QUICK).stderr


def test_one_core_gives_the_same_bytes_as_two(two_cores, snakemake, tmp_path):
    snakemake(tmp_path / "one", "--cores", "1", config=SHORT)
    assert tables(tmp_path / "one") == tables(two_cores)
    assert len(tables(two_cores)) == 5 * 4


def test_a_killed_run_resumes_and_ends_with_the_same_tables(two_cores, snakemake, tmp_path):
    folder = tmp_path / "killed"
    command = command_line(folder, "--cores", "2", config=SHORT, quick=True)
    with open(tmp_path / "log", "w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=environment(), start_new_session=True)
    training = folder / "results/logs/train/letor/ohsumed/ranknet_two_layer.log"
    deadline = time.monotonic() + 300
    while not (training.exists() and "epoch 2/" in training.read_text()):
        assert running.poll() is None, (tmp_path / "log").read_text()[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (folder / "results/scores/letor/ohsumed/ranknet_two_layer.parquet").exists()
    assert not (folder / "results/metrics.parquet").exists()

    resumed = snakemake(folder, "--cores", "2", config=SHORT)
    assert "An earlier run was killed" in resumed.stderr
    assert tables(folder) == tables(two_cores)


def test_two_runs_at_once_in_one_folder_are_still_refused(snakemake, tmp_path):
    folder = tmp_path / "run"
    with open(tmp_path / "log", "w") as log:
        command = command_line(folder, "--cores", "1", config=SHORT, quick=True)
        running = subprocess.Popen(command, stdout=log, stderr=log, env=environment(), start_new_session=True)
    try:
        while not list((folder / ".snakemake/locks").glob("*.lock")):
            assert running.poll() is None
            time.sleep(0.02)
        second = snakemake(folder, "--cores", "1", config=SHORT, check=False)
        assert second.returncode
        assert "cannot be locked" in second.stderr
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"papers": {"letor": {"methods": ["ranksvm", "ranksmv"]}}}, "unknown method 'ranksmv'"),
        ({"papers": {"letor": {"datasets": ["ohsumd"]}}}, "unknown data set 'ohsumd'"),
        ({"papers": {"frank2007": {"datasets": {"web": ["mq2007", "wbe"]}}}}, "unknown data set 'wbe'"),
        ({"run": ["lettor"]}, "unknown paper 'lettor'"),
        ({"sede": 3}, "'sede' was unexpected"),
        ({"papers": {"letor": {"select_by": "ndgc@10"}}}, "config.yaml: unknown metric 'ndgc@10'"),
        ({"datasets": {"ohsumed": {"convention": "trec"}}}, "config.yaml: unknown convention 'trec'"),
        ({"datasets": {"ohsumed": {"grids": {"ranksmv": {"C": [1.0]}}}}}, "unknown method 'ranksmv'"),
        ({"papers": {"diffrank2011": {"simulate_missing": ["lsit"]}}}, "unknown role 'lsit'"),
    ],
)
def test_a_wrong_name_in_the_config_gets_one_clear_message(snakemake, tmp_path, config, message):
    done = snakemake(tmp_path / "run", "--cores", "1", config=config, check=False)
    assert done.returncode
    assert message in done.stdout + done.stderr
    assert not (tmp_path / "run/results").exists()


def test_an_unknown_hyperparameter_stops_the_job_with_a_remedy(snakemake, tmp_path):
    config = {"methods": {"ranksvm": {"grid": {"c": [1.0]}}}}
    target = "results/scores/letor/ohsumed/ranksvm.parquet"
    done = snakemake(tmp_path / "run", "--cores", "1", target, config=config, check=False)
    assert done.returncode
    assert "[ranksvm on ohsumed for letor] RankSVM has no hyper-parameter 'c'\n  remedy: it has C, gap" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / target).exists()


def test_missing_data_stops_the_run_where_the_config_says_so(snakemake, tmp_path):
    config = {"on_missing": "fail"}
    done = snakemake(tmp_path / "run", "--cores", "1", "results/data/ohsumed/card.json", config=config, check=False)
    assert done.returncode
    assert "OHSUMED was not found, and config.yaml says on_missing: fail" in done.stderr


def test_the_letor_text_of_a_data_set_reads_back_as_its_arrays(quick, snakemake):
    from replirank.data import arrays, letor_text

    snakemake(quick, "--cores", "1", "results/data/mq2008/letor", config=QUICK)
    dataset = arrays.load(quick / "results/data/mq2008/arrays.npz")
    for fold in range(5):
        for split in ("train", "vali", "test"):
            text = letor_text.read(quick / f"results/data/mq2008/letor/Fold{fold + 1}/{split}.txt", features=46)
            assert text.checksum() == dataset.split(fold, split).checksum()


def test_what_make_lint_runs_is_clean():
    """Its commands one by one, with the Python that runs the tests; nothing is installed."""
    venv = ["VENV=" + sys.prefix, f"--old-file={sys.prefix}/.ready"]
    words = ["make", "--dry-run", "--no-print-directory", *venv, "lint"]  # within `make test` it would print its folder
    made = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
    commands = made.stdout.splitlines()
    assert {Path(command.split()[0]).name for command in commands} >= {"ruff", "snakefmt", "lint-imports", "mypy"}
    for command in commands:
        done = subprocess.run(command.split(), capture_output=True, text=True, env=environment(), cwd=ROOT)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
