"""The command `replirank`, called as a person calls it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import log2

import numpy as np
import pytest
from loopback import closed_port, publish, redirected, serving

from replirank import cli
from replirank.cli import main
from replirank.data import arrays
from replirank.data.simulate import letor
from replirank.data.specs import Spec
from replirank.evaluation.scores import Scored, frame, read

TEST = """\
2 qid:1 1:0.5
0 qid:1 1:0.1
1 qid:1 1:0.3
0 qid:2 1:0.5
0 qid:2 1:0.2
"""
SCORES = "1\n3\n2\n0.5\n0.25\n"  # query 1 comes out as labels 0, 1, 2; query 2 has nothing relevant


@pytest.fixture
def files(tmp_path):
    (tmp_path / "test.txt").write_text(TEST)
    (tmp_path / "scores.txt").write_text(SCORES)
    return [str(tmp_path / "test.txt"), str(tmp_path / "scores.txt")]


def values(text):
    """Header -> value, over the two blocks that are printed."""
    lines = [line.split("\t") for line in text.splitlines()]
    assert len(lines) == 4
    return dict(zip(lines[0] + lines[2], lines[1] + lines[3], strict=True))


def test_evaluate_prints_what_letors_scripts_print(files, capsys):
    assert main(["evaluate", "--convention", "letor4", *files]) == 0
    found = values(capsys.readouterr().out)
    ranks = [*range(1, 11)]
    assert list(found) == [*(f"P@{k}" for k in ranks), "MAP", *(f"NDCG@{k}" for k in ranks), "MeanNDCG"]
    # Each is the mean of query 1's value and of 0.
    assert found["P@2"] == f"{(1 / 2) / 2:.4f}"
    assert found["P@10"] == f"{(2 / 10) / 2:.4f}"
    assert found["MAP"] == f"{(1 / 2 + 2 / 3) / 2 / 2:.4f}"
    dcg2, dcg3, best2, best3 = 1, 1 + 3 / log2(3), 3 + 1, 3 + 1
    assert found["NDCG@1"] == "0.0000"
    assert found["NDCG@2"] == f"{dcg2 / best2 / 2:.4f}"
    assert found["NDCG@3"] == f"{dcg3 / best3 / 2:.4f}"
    assert found["NDCG@4"] == "0.0000"  # the list is shorter
    assert found["MeanNDCG"] == f"{(0 + dcg2 / best2 + dcg3 / best3) / 3 / 2:.4f}"


def test_short_lists_are_where_letor3_differs(files, capsys):
    main(["evaluate", "--convention", "letor3", *files])
    assert values(capsys.readouterr().out)["P@10"] == "0.0000"


def test_a_line_for_each_query_and_the_mean(files, capsys):
    assert main(["evaluate", "--convention", "standard", "--per-query", *files]) == 0
    head, *lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert head[0] == "qid"
    assert [line[0] for line in lines] == ["1", "2", "mean"]
    assert set(lines[1][1:]) == {"-"}  # left out by this convention
    assert lines[2][1:] == lines[0][1:]


def test_a_query_id_of_any_kind_is_printed_as_it_is(files, tmp_path, capsys):
    (tmp_path / "test.txt").write_text(TEST.replace("qid:1 ", "qid:WT04-132 "))
    assert main(["evaluate", "--per-query", *files]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == ["qid", "WT04-132", "2", "mean"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("1\n2\n", "scores.txt: 2 scores for the 5 documents of"),
        ("1\n2\nx\n4\n5\n", "scores.txt:3: 'x' is not a number"),
        ("1\n2\n\n4\n5\n", "scores.txt:3: '' is not a number"),
        ("1\n2\n3\nnan\n5\n", "scores.txt:4: the score is nan"),
        ("1\n2\n3\n4\n-inf\n", "scores.txt:5: the score is -inf"),
    ],
)
def test_bad_scores_get_a_message_and_status_2(files, tmp_path, capsys, scores, message):
    (tmp_path / "scores.txt").write_text(scores)
    assert main(["evaluate", *files]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "remedy:" in captured.err
    assert captured.out == ""


def test_an_unknown_convention_and_a_missing_file_get_status_2(files, capsys):
    assert main(["evaluate", "--convention", "trec", *files]) == 2
    assert "unknown convention 'trec'\n  remedy: choose one of letor3, letor4" in capsys.readouterr().err
    assert main(["evaluate", files[0], "nowhere.txt"]) == 2
    assert "nowhere.txt: No such file or directory" in capsys.readouterr().err


def test_a_malformed_test_file_gets_file_line_and_status_2(files, tmp_path, capsys):
    (tmp_path / "test.txt").write_text(TEST.replace("1:0.3", "1:abc"))
    assert main(["evaluate", *files]) == 2
    assert "test.txt:3: feature 1 has the value 'abc'" in capsys.readouterr().err


def test_the_command_is_installed(files):
    done = subprocess.run([sys.executable, "-m", "replirank.cli", "evaluate", *files], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("P@1\tP@2")


def test_collect_makes_a_scores_file_from_one_number_a_line(tmp_path):
    dataset = letor(10, 6, 4, {0: 0.7, 1: 0.3}, seed=1)
    arrays.save(tmp_path / "arrays.npz", dataset)
    expected = []
    for fold in range(5):
        expected.append(np.random.default_rng(fold).normal(size=dataset.split(fold, "test").documents))
        (tmp_path / f"out{fold + 1}.txt").write_text("".join(f"{float(x)!r}\n" for x in expected[-1]))
    pattern = str(tmp_path / "out{fold}.txt")
    assert main(["collect", str(tmp_path / "arrays.npz"), str(tmp_path / "s.parquet"), "--test", pattern]) == 0
    scored = read(tmp_path / "s.parquet", dataset)
    assert [(one.fold, one.split) for one in scored] == [(fold, "test") for fold in range(5)]
    for one, scores in zip(scored, expected, strict=True):
        np.testing.assert_array_equal(one.scores, scores)


@pytest.fixture(params=["numbers", "text"])
def five_folds(tmp_path, request):
    dataset = letor(10, 6, 4, {0: 0.7, 1: 0.3}, seed=1)
    if request.param == "text":
        names = np.array(["7", *(f"WT04-{k}" for k in range(1, 10))])
        dataset = replace(dataset, data=replace(dataset.data, query_ids=names))
    arrays.save(tmp_path / "arrays.npz", dataset)
    return dataset, str(tmp_path / "arrays.npz"), str(tmp_path / "s.parquet"), str(tmp_path / "given.csv")


def given_scores(dataset):
    made = [Scored(fold, "test", np.arange(dataset.split(fold, "test").documents) / 7) for fold in range(5)]
    return frame(dataset, made)


def test_collect_makes_a_scores_file_from_csv(five_folds):
    dataset, data, output, csv = five_folds
    given_scores(dataset).sample(frac=1, random_state=1).to_csv(csv, index=False)
    assert main(["collect", data, output, "--csv", csv]) == 0
    assert len(read(output, dataset)) == 5
    for one in read(output, dataset):
        np.testing.assert_array_equal(one.scores, np.arange(len(one.scores)) / 7)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace(",0.0\n", ",nan\n", 1), "given.csv:2: the score of document 1"),
        (lambda text: text.replace("fold,", "Fold,", 1), "given.csv: the columns are Fold, split"),
        (lambda text: text[: text.rindex("\n5,test")] + "\n", "given.csv: fold 5, test: "),
        (lambda text: text.replace("test", "dev", 1), "given.csv:2: fold 1, split 'dev': the data has no such split"),
    ],
)
def test_collect_refuses_a_csv_with_file_and_line(five_folds, tmp_path, capsys, spoil, message):
    dataset, data, output, csv = five_folds
    given_scores(dataset).to_csv(csv, index=False)
    text = (tmp_path / "given.csv").read_text()
    (tmp_path / "given.csv").write_text(spoil(text))
    assert main(["collect", data, output, "--csv", csv]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "remedy:" in said
    assert not (tmp_path / "s.parquet").exists()


def test_collect_takes_one_kind_of_file(five_folds, capsys):
    _, data, output, csv = five_folds
    assert main(["collect", data, output, "--csv", csv, "--vali", "out{fold}.txt"]) == 2
    assert "--csv and --vali exclude each other" in capsys.readouterr().err
    for words in (["--csv", csv, "--test", "out{fold}.txt"], []):
        with pytest.raises(SystemExit):
            main(["collect", data, output, *words])


def test_collect_leaves_nothing_behind_when_a_score_is_missing(tmp_path, capsys):
    arrays.save(tmp_path / "arrays.npz", letor(10, 6, 4, {0: 0.7, 1: 0.3}, seed=1))
    for fold in range(1, 6):
        (tmp_path / f"out{fold}.txt").write_text("1\n")
    pattern = str(tmp_path / "out{fold}.txt")
    assert main(["collect", str(tmp_path / "arrays.npz"), str(tmp_path / "s.parquet"), "--test", pattern]) == 2
    assert "fold 1's test split" in capsys.readouterr().err
    assert not (tmp_path / "s.parquet").exists()


FOLD1 = {
    "Fold1/train.txt": b"1 qid:1 1:0.5\n0 qid:1 1:0.1\n",
    "Fold1/vali.txt": b"0 qid:2 1:0.5\n1 qid:2 1:0.3\n",
    "Fold1/test.txt": b"1 qid:3 1:0.2\n0 qid:3 1:0.9\n",
}


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def project(server, tmp_path, monkeypatch):
    """The current folder: a project with one data set of its own. Two more are known, and one of them has a copy."""
    monkeypatch.delenv("LETOR_HOME", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.txt").write_text(TEST)
    (folder / "config.yaml").write_text("datasets: {mine: {path: mine.txt, convention: standard}, tiny: {}}\n")
    sources = publish(server, tmp_path / "sources.yaml", {"tiny": [FOLD1]})
    with sources.open("a") as file:  # the data sets are its last part
        file.write("  lost: {collection: letor, why: no public copy is known}\n")
    known = {
        name: Spec(name, name.upper(), features=1, names=(name.upper(),), folds=1, queries=3)
        for name in ("tiny", "lost")
    }
    monkeypatch.setattr(cli, "SOURCES", sources)
    monkeypatch.setattr(cli, "SPECS", known)
    monkeypatch.chdir(folder)
    return folder


def test_list_says_where_each_data_set_is_or_can_be_had(project, server, capsys):
    assert main(["list"]) == 0
    by_hand = "get it from https://example.org/letor and unpack a copy into data/LOST"
    assert capsys.readouterr().out.splitlines() == [
        "tiny            can be fetched: 3 files from github.com/owner1/tiny",
        f"lost            to be got by hand: no public copy is known: {by_hand}",
        f"mine            found: {project / 'mine.txt'}",
    ]
    assert server.connections == 0


def test_fetch_brings_a_data_set_which_is_then_found(project, server, capsys):
    assert main(["fetch", "tiny"]) == 0
    said = capsys.readouterr().out
    assert said.count("for research use (https://example.org/letor)") == 1
    assert said.count(f"tiny: fetching {server.url('raw/owner1/tiny')}") == 3
    assert {name: (project / "data/TINY" / name).read_bytes() for name in FOLD1} == FOLD1
    assert main(["list"]) == 0
    assert f"tiny            found: {project / 'data/TINY'}\n" in capsys.readouterr().out
    assert main(["fetch", "tiny", "mine"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"TINY is there: {project / 'data/TINY'}",
        f"mine is there: {project / 'mine.txt'}",
    ]
    assert len(server.paths) == 3


def test_fetch_gets_what_it_can_and_status_2_for_the_rest(project, capsys):
    assert main(["fetch", "lost", "tiny"]) == 2
    captured = capsys.readouterr()
    assert "LOST cannot be fetched\n  remedy: no public copy is known: get it from https://example.org" in captured.out
    assert captured.err == "replirank: not fetched: lost\n  remedy: the lines above say why\n"
    assert (project / "data/TINY/Fold1/test.txt").read_bytes() == FOLD1["Fold1/test.txt"]


def test_fetch_without_network_gets_status_2_and_says_so(project, tmp_path, capsys):
    redirected(cli.SOURCES, f"http://127.0.0.1:{closed_port()}", cli.SOURCES)
    assert main(["fetch", "tiny"]) == 2
    captured = capsys.readouterr()
    assert captured.out.count("no network: 127.0.0.1 cannot be reached (Connection refused)") == 1
    assert "not fetched: tiny" in captured.err
    assert not (project / "data").exists()


def test_fetch_of_an_unknown_name_contacts_nobody(project, server, capsys):
    assert main(["fetch", "tiny", "tinny"]) == 2
    assert "unknown data set 'tinny'\n  remedy: known are tiny, lost, mine" in capsys.readouterr().err
    assert server.connections == 0


def test_the_config_may_name_other_sources(project, capsys):
    (project / "sources.yaml").write_text(cli.SOURCES.read_text().replace("owner1", "someone"))
    with (project / "config.yaml").open("a") as file:
        file.write("sources: sources.yaml\n")
    assert main(["list"]) == 0
    assert "can be fetched: 3 files from github.com/someone/tiny" in capsys.readouterr().out


def test_list_works_in_a_folder_without_a_config(project, capsys):
    (project / "config.yaml").unlink()
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["tiny", "lost"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("datasets: {mine: {path: gone.txt}}", "config.yaml: data set 'mine': there is no"),
        ("datasets: [mine]", "config.yaml: datasets: expected names with settings"),
        ("datasets: {mine: gone.txt}", "config.yaml: datasets: expected names with settings"),
        ("- datasets", "config.yaml: datasets: expected names with settings"),
        ("datasets: {", "config.yaml: cannot be read: "),
    ],
)
def test_a_config_that_cannot_be_used_gets_a_message_and_status_2(project, capsys, config, message):
    (project / "config.yaml").write_text(config)
    assert main(["list"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "remedy:" in captured.err
    assert captured.out == ""
