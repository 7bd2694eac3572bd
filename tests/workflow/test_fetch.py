"""The workflow fetches what is not at hand, in copies of the project without data. The server is on this machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pandas as pd
import pytest
from helpers import ROOT, scored, small_project
from loopback import closed_port, redirected, serve, serving

from replirank.data.layouts import find_layout
from replirank.data.sources import read_sources
from replirank.data.unpack import unpack

SOURCES = ROOT / "workflow/sources.yaml"
PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
TERMS = "LETOR is Microsoft Research's, for research use"
OHSUMED = "OHSUMED: 3 files, 8.0 MB, from github.com/JasonWyse/libfm_ranksvm, into data/OHSUMED"
TD2004 = "TD2004: 3 files from github.com/JasonWyse/factorized_rankSVM, into data/TD2004"


@pytest.fixture(scope="module", autouse=True)
def no_data_elsewhere():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LETOR_HOME", raising=False)
        patch.setenv("no_proxy", "127.0.0.1")
        yield


def settings(sources: Path, used: list[str], **changes) -> dict:
    return {
        "always_simulate": False,
        "sources": str(sources),
        "papers": {"letor": {"datasets": used, "methods": ["regression"]}},
        **changes,
    }


def tables(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (folder / "results/tables/letor").glob("*.md")}


@pytest.fixture(scope="module")
def ohsumed(real_data, tmp_path_factory) -> dict[str, bytes]:
    """The files of OHSUMED's first fold, with the bytes that workflow/sources.yaml has hashes of."""
    source = real_data("ohsumed")
    folder = source if source.is_dir() else unpack(source, tmp_path_factory.mktemp("ohsumed") / "unpacked")
    files = find_layout(folder, ["OHSUMED"]).folds[0]._asdict()
    return {f"Fold1/{split}.txt": path.read_bytes().replace(b"\r", b"") for split, path in files.items()}


@pytest.fixture(scope="module")
def fetched(snakemake, ohsumed, tmp_path_factory):
    """A dry run, a run, a dry run and a run. The first source of OHSUMED is gone, and the only one of TD2004."""
    base = tmp_path_factory.mktemp("fetched")
    project, folder = small_project(base / "project"), base / "run"
    with serving() as server:
        sources = redirected(SOURCES, server.url(), base / "sources.yaml")
        copies = {name: found[1].url for name, found in read_sources(sources)["ohsumed"].files.items()}
        server.routes |= {urlsplit(url).path: [serve(ohsumed[name])] for name, url in copies.items()}
        steps = []
        for words in (["-n"], ["--cores", "2"], ["-n"], ["--cores", "2"]):
            done = snakemake(folder, *words, config=settings(sources, ["ohsumed", "td2004"]), quick=False, root=project)
            log = folder / "results/logs/fetch.log"
            steps.append(
                SimpleNamespace(
                    said=done.stdout + done.stderr,
                    asked=len(server.paths),
                    data=(project / "data").exists(),
                    fetch_log=log.read_text() if log.exists() else "",
                    times={path: path.stat().st_mtime_ns for path in folder.rglob("results/scores/**/*.parquet")},
                )
            )
    return SimpleNamespace(project=project, folder=folder, steps=steps, paths=server.paths)


def test_a_dry_run_says_what_would_be_fetched_from_where_and_fetches_nothing(fetched):
    dry = fetched.steps[0]
    assert f"Fetching data sets that are not on this machine:\n  {OHSUMED}\n  {TD2004}\n" in dry.said
    assert (dry.asked, dry.data, dry.fetch_log) == (0, False, "")


def test_what_was_fetched_is_used_as_the_real_data_set(fetched, ohsumed):
    folder = fetched.project / "data"
    assert [path.name for path in folder.iterdir()] == ["OHSUMED"]
    assert {name: (folder / "OHSUMED" / name).read_bytes() for name in ohsumed} == ohsumed
    # Each file was asked for at the first source, then at the second.
    repositories = [re.match(r"/raw/\w+/(\w+)/", path)[1] for path in fetched.paths[: fetched.steps[1].asked]]
    assert repositories == ["libfm_ranksvm", "factorized_rankSVM"] * 3 + ["factorized_rankSVM"]
    card = json.loads((fetched.folder / "results/data/ohsumed/card.json").read_text())
    assert (card["origin"], card["original_bytes"], card["source"]) == ("real", True, str(folder / "OHSUMED"))
    metrics = pd.read_parquet(fetched.folder / "results/metrics.parquet")
    assert set(metrics[["dataset", "origin"]].itertuples(index=False, name=None)) == {("ohsumed", "real")}
    assert len(metrics.query("split == 'test'")) == 106


def test_what_could_not_be_fetched_is_missing_and_not_simulated(fetched):
    found = tables(fetched.folder)
    assert "| TD2004     | not at hand |" in found["td2004"]
    for words in ("`replirank fetch td2004`", "github.com/JasonWyse/factorized_rankSVM", PAGE, "data/TD2004"):
        assert words in found["td2004"]
    data = pd.read_csv(fetched.folder / "results/tables/letor/data.csv").set_index("data set")
    assert data["data"].to_dict() == {"OHSUMED": "real", "TD2004": "not at hand"}
    assert [name for name, text in found.items() if "SIMULATED" in text] == []
    assert [name for name in found if "simulated" in name] == []
    assert "SIMULATED" not in (fetched.folder / "results/report.html").read_text()
    assert {path.name for path in (fetched.folder / "results/data").iterdir()} == {"ohsumed", "fetched.json"}
    outcomes = json.loads((fetched.folder / "results/data/fetched.json").read_text())
    assert list(outcomes) == ["td2004"]  # of the last run, when OHSUMED was there
    assert "none of 1 source(s) gave Fold1/train.txt" in outcomes["td2004"]
    assert "the server says 404" in outcomes["td2004"]


def test_the_terms_are_said_once(fetched):
    run = fetched.steps[1]
    assert run.fetch_log.count(f"{TERMS}; whoever passes a copy on does so under the same terms ({PAGE})") == 1
    assert run.said.count(TERMS) == 1
    assert re.search(r"ohsumed: Fold1/train.txt: 4.5 of 4.5 MB, [\d,.]+ MB/s", run.fetch_log)


def test_a_dry_run_after_that_has_nothing_to_do_and_tells_what_is_tried_again(fetched):
    run, dry = fetched.steps[1:3]
    assert "Nothing to be done" in dry.said
    assert f"These could not be fetched the last time. A run tries again:\n  {TD2004}\n" in dry.said
    assert dry.asked == run.asked


def test_a_run_after_that_tries_again_and_trains_nothing(fetched):
    run, _, again = fetched.steps[1:]
    assert scored(run.said) == {"letor/ohsumed/regression"}
    assert scored(again.said) == set()
    assert again.times == run.times
    assert len(run.times) == 1
    assert [path.rpartition("/data/")[2] for path in fetched.paths[run.asked :]] == ["2004_td_dataset/Fold1/train.txt"]


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """A project without data, and sources at a port on which nobody listens."""
    base = tmp_path_factory.mktemp("offline")
    sources = redirected(SOURCES, f"http://127.0.0.1:{closed_port()}", base / "sources.yaml")
    return SimpleNamespace(base=base, project=small_project(base / "project"), sources=sources)


def test_without_network_the_run_goes_on_with_what_is_at_hand(snakemake, offline):
    rows = [f"{k % 2} qid:q{q} 1:{k % 2 + q / 100:.2f} 2:{(k * q) % 7}" for q in range(1, 16) for k in range(6)]
    (offline.base / "mine.txt").write_text("\n".join(rows) + "\n")
    config = settings(
        offline.sources,
        ["ohsumed", "td2004", "mine"],
        datasets={"mine": {"path": str(offline.base / "mine.txt"), "convention": "standard"}},
    )
    folder = offline.base / "at_hand"
    done = snakemake(folder, "--cores", "2", config=config, quick=False, root=offline.project)
    assert done.stderr.count("no network") == 1
    assert "no network: 127.0.0.1 cannot be reached (Connection refused); going on with what is at hand" in done.stderr
    outcomes = json.loads((folder / "results/data/fetched.json").read_text())
    assert {name: why.partition(" (")[0] for name, why in outcomes.items()} == {
        name: f"{name} is not fetched: no network" for name in ("ohsumed", "td2004")
    }
    data = pd.read_csv(folder / "results/tables/letor/data.csv").set_index("data set")["data"]
    assert data.to_dict() == {"mine": "real", "OHSUMED": "not at hand", "TD2004": "not at hand"}
    assert set(pd.read_csv(folder / "results/tables/letor/mine.csv")["method"]) == {"Regression"}
    found = tables(folder)
    assert "not at hand" in found["ohsumed"]
    assert "not at hand" in found["td2004"]
    assert [name for name, text in found.items() if "SIMULATED" in text] == []
    assert scored(done.stderr) == {"letor/mine/regression"}
    assert not (offline.project / "data").exists()


def test_without_network_and_data_all_is_simulated(snakemake, offline):
    size = {"queries": 10, "documents": 40}  # TD2004 has some 15 relevant ones in each query
    config = settings(
        offline.sources, ["ohsumed", "td2004"], datasets={name: {"simulate": size} for name in ("ohsumed", "td2004")}
    )
    folder = offline.base / "nothing"
    done = snakemake(folder, "--cores", "2", config=config, quick=False, root=offline.project)
    assert done.stderr.count("no network") == 1
    assert scored(done.stderr) == {"letor/ohsumed/regression", "letor/td2004/regression"}
    found = tables(folder)
    assert {"data", "ohsumed", "td2004", "significance", "choices"} <= set(found)
    assert [name for name, text in found.items() if "SIMULATED" not in text] == []
    origins = {name: set(pd.read_csv(folder / f"results/tables/letor/{name}.csv")["data"]) for name in found}
    assert origins["data"] == origins["ohsumed"] == origins["td2004"] == {"simulated"}
    assert set().union(*origins.values()) == {"simulated"}  # one method leaves nothing to choose or to compare
    for name in ("ohsumed", "td2004"):
        card = json.loads((folder / f"results/data/{name}/card.json").read_text())
        assert (card["origin"], card["queries"], card["source"]) == ("simulated", 10, None)


def test_without_fetching_nobody_is_contacted(snakemake, offline):
    folder, card = offline.base / "off", "results/data/ohsumed/card.json"
    with serving() as server:
        sources = redirected(SOURCES, server.url(), offline.base / "served.yaml")
        config = settings(sources, ["ohsumed"], fetch=False)
        dry = snakemake(folder, "-n", config=config, quick=False, root=offline.project)
        snakemake(folder, "--cores", "1", card, config=config, quick=False, root=offline.project)
    jobs = re.findall(r"^(\w+) +\d+$", dry.stdout, re.MULTILINE)
    assert "prepare" in jobs
    assert "fetch" not in jobs
    assert "Fetching" not in dry.stdout
    assert "checkpoint" not in dry.stdout
    assert json.loads((folder / card).read_text())["origin"] == "simulated"
    assert server.connections == 0
