"""Jobs: messages, logs, locks; and fingerprints of the code they run."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers import ROOT

from replirank.errors import ReplirankError
from replirank.pipeline import fingerprint as sources
from replirank.pipeline.jobs import job

HOLD = """
import sys, time
from replirank.pipeline.jobs import release_stale_locks
print(release_stale_locks(sys.argv[1]), flush=True)
time.sleep(60)
"""


def hold(folder):
    """Another process that does what a run of Snakemake does at its start; gives it and what it found."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def test_bad_input_ends_a_job_with_one_message_on_terminal_and_in_the_log(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, job("train toy", tmp_path / "a/b.log") as report:  # noqa: PT012
        report("epoch 1")
        raise ReplirankError("no such column", path="x.txt", line=3, remedy="add it")
    assert ended.value.code == 1
    message = "x.txt:3: no such column\n  remedy: add it\n"
    assert capsys.readouterr().err == f"\n[train toy] {message}\n"
    assert (tmp_path / "a/b.log").read_text() == f"epoch 1\n{message}"


def test_our_own_faults_keep_their_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError), job("toy", tmp_path / "log"):
        print(1 / 0)
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_progress_reaches_the_terminal_now_and_then_and_the_log_always(tmp_path, capsys):
    with job("toy", tmp_path / "log", every=0) as report:
        report("one")
    assert capsys.readouterr().err == "[toy] one\n"
    with job("toy", tmp_path / "log", every=3600) as report:
        report("one")
        report("two")
    assert capsys.readouterr().err == ""
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_locks_of_a_killed_run_are_removed_and_those_of_a_living_one_are_not(tmp_path):
    lock = tmp_path / "locks/0.output.lock"
    lock.parent.mkdir()
    first, found = hold(tmp_path)
    assert found == "False"  # there were none
    lock.write_text("results/x\n")  # Snakemake's own, taken later
    second, found = hold(tmp_path)
    second.kill()
    assert (found, lock.exists()) == ("False", True)  # the first is alive
    first.kill()
    first.wait()
    third, found = hold(tmp_path)
    third.kill()
    assert (found, lock.exists()) == ("True", False)


def test_a_method_depends_on_its_engine_and_not_on_another_method():
    names = {path.name for path in sources.sources("replirank.methods.ranksvm")}
    assert {"ranksvm.py", "margin.py", "base.py", "linear.py"} <= names
    assert not {"stochastic.py", "regression.py", "stats.py"} & names


def test_a_script_has_a_fingerprint_that_follows_what_it_imports(tmp_path, monkeypatch):
    package = tmp_path / "replirank"
    package.mkdir()
    monkeypatch.setattr(sources, "PACKAGE", package)
    script = tmp_path / "elsewhere/job.py"
    script.parent.mkdir()

    def fingerprint(script_text, module_text):
        script.write_text(script_text)
        (package / "a.py").write_text(module_text)
        sources._tree.cache_clear()
        return sources.fingerprint.__wrapped__(script)  # not the one that is remembered

    first = fingerprint("from replirank.a import f\n", "def f():\n    return 1\n")
    assert fingerprint("from replirank.a import f  # it\n", "def f():\n    return 1\n") == first
    assert fingerprint("from replirank.a import f\n", "def f():\n    return 2\n") != first
    assert fingerprint("from replirank.a import f\nf()\n", "def f():\n    return 1\n") != first
    sources._tree.cache_clear()


def test_lambdamart_is_made_of_its_script_and_of_what_chooses():
    script = ROOT / "workflow/rules/methods/lambdamart.py"
    names = {path.name for path in sources.sources(script)}
    assert {"lambdamart.py", "training.py", "per_query.py", "seeds.py"} <= names
    assert not {"ranksvm.py", "margin.py"} & names


def test_a_fingerprint_follows_the_code_and_not_its_comments(tmp_path, monkeypatch):
    package = tmp_path / "replirank"
    package.mkdir()
    monkeypatch.setattr(sources, "PACKAGE", package)

    def fingerprint(text):
        (package / "a.py").write_text("from replirank.b import f\n")
        (package / "b.py").write_text(text)
        sources._tree.cache_clear()
        return sources.fingerprint.__wrapped__("replirank.a")

    first = fingerprint("def f():\n    return 1\n")
    assert fingerprint("def f():  # one\n\n    return (1)\n") == first
    assert fingerprint("def f():\n    return 2\n") != first
    sources._tree.cache_clear()
