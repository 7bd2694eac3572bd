"""Fetching against a server on this machine that has the layout of GitHub's, and misbehaves as servers do."""

from __future__ import annotations

import hashlib
import random
import socket
import threading

import pytest
from loopback import closed_port, fail, publish, redirected, serve, serving

from replirank.data.download import Unreachable
from replirank.data.fetch import Network, Progress, fetch
from replirank.data.sources import Source, read_sources
from replirank.errors import ReplirankError

NAMES = ["Fold1/train.txt", "Fold1/vali.txt", "Fold1/test.txt"]


def rows(seed: int, count: int = 400) -> bytes:
    draw = random.Random(seed)
    return b"".join(b"%d qid:%d 1:%.6f\n" % (draw.randrange(3), i // 20, draw.random()) for i in range(count))


LF = {name: rows(number) for number, name in enumerate(NAMES)}
CRLF = {name: text.replace(b"\n", b"\r\n") for name, text in LF.items()}
OTHER = {name: rows(number) for number, name in enumerate(NAMES, start=7)}
TRAIN = LF["Fold1/train.txt"]
HALF = len(TRAIN) // 2
FIRST = f"/raw/owner1/tiny/{'1' * 40}/data/Fold1/train.txt"
SECOND = f"/raw/owner2/tiny/{'2' * 40}/data/Fold1/train.txt"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as server:
        yield server


class Run:
    """A run that fetches: what it said, how long it would have waited, what it checked, and with which answer."""

    def __init__(self, folder):
        self.folder = folder
        self.said: list[str] = []
        self.waits: list[float] = []
        self.refused: list[bytes] = []  # contents of train.txt that the check refuses
        self.checked: list[bytes] = []
        self.network = Network(timeout=5, retries=1, wait=self.waits.append)

    def check(self, staged) -> None:
        assert not (self.folder / staged.name).exists()
        self.checked.append((staged / "Fold1/train.txt").read_bytes())
        if self.checked[-1] in self.refused:
            raise ReplirankError("has 7 queries, 50 are known")

    def fetch(self, source: Source, name: str = "TINY"):
        return fetch(source, self.folder / name, check=self.check, network=self.network, report=self.said.append)

    def reported(self, *words: str) -> int:
        return sum(all(word in line for word in words) for line in self.said)


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "data")


@pytest.fixture
def tiny(server, tmp_path) -> Source:
    """Two copies, the second with other line ends."""
    return read_sources(publish(server, tmp_path / "sources.yaml", {"tiny": [LF, CRLF]}))["tiny"]


def contents(folder) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_arrives_and_nothing_else(run, server, tiny):
    assert run.fetch(tiny) == run.folder / "TINY"
    assert contents(run.folder / "TINY") == LF
    assert [path.name for path in run.folder.iterdir()] == ["TINY"]
    assert server.paths == [FIRST.replace("Fold1/train.txt", name) for name in NAMES]
    assert run.checked == [TRAIN]
    assert run.said[0] == "for research use (https://example.org/letor)"
    assert run.reported(server.url("raw/owner1"), "fetching") == 3
    size = len(TRAIN) / 1e6
    assert run.reported("tiny: Fold1/train.txt:", f"{size:.1f} of {size:.1f} MB") == 1


def test_the_terms_are_said_once_in_a_run(run, server, tmp_path):
    sources = read_sources(publish(server, tmp_path / "sources.yaml", {"a": [LF], "b": [OTHER]}))
    run.fetch(sources["a"], "A")
    run.fetch(sources["b"], "B")
    assert run.reported("for research use") == 1
    assert contents(run.folder / "B") == OTHER


def test_a_wrong_byte_leads_to_the_next_source(run, server, tiny):
    server.routes[FIRST] = [serve(b"X" + TRAIN[1:])]
    run.fetch(tiny)
    train = CRLF["Fold1/train.txt"]
    assert contents(run.folder / "TINY") == {**LF, "Fold1/train.txt": train}
    assert run.reported("owner1", "does not have the expected content: expected git blob hash") == 1


def test_a_wrong_byte_everywhere_is_an_error_without_output(run, server, tiny):
    server.routes[FIRST] = [serve(b"X" + TRAIN[1:])]
    server.routes[SECOND] = [serve(b"X" + CRLF["Fold1/train.txt"][1:])]
    with pytest.raises(ReplirankError, match=r"none of 2 source\(s\) gave Fold1/train.txt.*expected sha256") as caught:
        run.fetch(tiny)
    assert tiny.page in caught.value.remedy
    assert not (run.folder / "TINY").exists()
    assert contents(run.folder) == {}
    assert run.checked == []


def test_a_truncated_file_is_resumed(run, server, tiny):
    server.routes[FIRST] = [serve(TRAIN, cut=HALF), serve(TRAIN)]
    run.fetch(tiny)
    assert contents(run.folder / "TINY") == LF
    assert [request.get("Range") for request in server.requests[:2]] == [None, f"bytes={HALF}-"]
    assert run.waits == [1]


def test_a_file_that_stays_truncated_leads_to_the_next_source(run, server, tiny):
    server.routes[FIRST] = [serve(TRAIN, cut=HALF, ranges=False)]
    run.fetch(tiny)
    assert contents(run.folder / "TINY")["Fold1/train.txt"] == CRLF["Fold1/train.txt"]
    assert run.reported(f"the connection ended after {HALF:,} of {len(TRAIN):,} bytes") == 1


def test_a_stall_leads_to_the_next_source(run, server, tiny):
    woken = threading.Event()
    server.routes[FIRST] = [serve(TRAIN, cut=HALF, ranges=False, stall=woken)]
    run.network.timeout = 0.3
    run.fetch(tiny)
    woken.set()
    assert contents(run.folder / "TINY")["Fold1/train.txt"] == CRLF["Fold1/train.txt"]
    assert run.reported("owner1", "after 2 attempt(s)", "timed out") == 1


def test_not_found_leads_to_the_next_source(run, server, tiny):
    del server.routes[FIRST]
    run.fetch(tiny)
    assert contents(run.folder / "TINY")["Fold1/train.txt"] == CRLF["Fold1/train.txt"]
    assert run.reported("owner1", "the server says 404") == 1
    assert server.paths[:2] == [FIRST, SECOND]
    assert run.waits == []


def test_a_redirect_is_followed(run, server, tiny):
    server.routes[FIRST] = [fail(302, {"Location": "/moved/train.txt"})]
    server.routes["/moved/train.txt"] = [serve(TRAIN)]
    run.fetch(tiny)
    assert contents(run.folder / "TINY") == LF


def test_a_pointer_in_place_of_the_file_leads_to_the_next_source(run, server, tiny):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(TRAIN).hexdigest()}\n"
    server.routes[FIRST] = [serve(pointer.encode())]
    run.fetch(tiny)
    assert contents(run.folder / "TINY")["Fold1/train.txt"] == CRLF["Fold1/train.txt"]
    assert run.reported("owner1", "is a git LFS pointer in place of the file") == 1


def test_a_run_that_was_cut_off_is_resumed(run, server, tiny):
    vali = FIRST.replace("train", "vali")
    server.routes[vali] = [serve(LF["Fold1/vali.txt"], cut=1000), serve(LF["Fold1/vali.txt"])]

    class KilledError(Exception):
        pass

    def killed(seconds):
        raise KilledError

    run.network.wait = killed
    with pytest.raises(KilledError):
        run.fetch(tiny)
    assert not (run.folder / "TINY").exists()
    staged = run.folder / ".fetch/TINY/Fold1"
    assert {path.name for path in staged.iterdir()} == {"train.txt", "vali.txt.part", "vali.txt.part.json"}
    server.paths.clear()
    server.requests.clear()
    run.fetch(tiny)
    assert contents(run.folder / "TINY") == LF
    assert server.paths == [vali, FIRST.replace("train", "test")]
    assert server.requests[0]["Range"] == "bytes=1000-"
    assert not (run.folder / ".fetch").exists()


def test_what_arrived_from_a_later_source_is_not_fetched_again(run, server, tiny):
    staged = run.folder / ".fetch/TINY/Fold1/train.txt"
    staged.parent.mkdir(parents=True)
    staged.write_bytes(CRLF["Fold1/train.txt"])
    (staged.parent / "old.txt").write_bytes(b"of another list of sources")
    run.fetch(tiny)
    assert contents(run.folder / "TINY") == {**LF, "Fold1/train.txt": CRLF["Fold1/train.txt"]}
    assert FIRST not in server.paths


def test_a_copy_with_another_content_than_its_name_is_refused_and_the_next_one_taken(run, server, tmp_path):
    tiny = read_sources(publish(server, tmp_path / "sources.yaml", {"tiny": [OTHER, LF]}))["tiny"]
    run.refused = [OTHER["Fold1/train.txt"]]
    run.fetch(tiny)
    assert run.checked == [OTHER["Fold1/train.txt"], TRAIN]
    assert contents(run.folder / "TINY") == LF
    assert run.reported("from github.com/owner1/tiny is not tiny: has 7 queries, 50 are known") == 1


def test_when_every_copy_is_refused_nothing_has_the_name(run, server, tmp_path):
    tiny = read_sources(publish(server, tmp_path / "sources.yaml", {"tiny": [OTHER, LF]}))["tiny"]
    run.refused = [OTHER["Fold1/train.txt"], TRAIN]
    with pytest.raises(
        ReplirankError, match=r"arrived from github.com/owner2/tiny is not tiny: has 7 queries"
    ) as caught:
        run.fetch(tiny)
    assert caught.value.remedy
    assert contents(run.folder) == {}


def test_the_same_bytes_elsewhere_are_not_fetched_again(run, server, tmp_path):
    """Copies 1 and 3 are equal: what the check refused, it would refuse again."""
    tiny = read_sources(publish(server, tmp_path / "sources.yaml", {"tiny": [OTHER, LF, OTHER]}))["tiny"]
    run.refused = [OTHER["Fold1/train.txt"], TRAIN]
    with pytest.raises(ReplirankError, match="is not tiny"):
        run.fetch(tiny)
    assert len(server.paths) == 6


def test_an_archive_is_kept_as_a_file(run, server, tmp_path):
    content = random.Random(3).randbytes(50_000)
    server.routes["/big"] = [serve(content, cut=1000), serve(content)]
    path = tmp_path / "sources.yaml"
    path.write_text(f"""
collections: {{mslr: {{page: https://example.org, terms: for research use}}}}
hosts: {{}}
datasets:
  big:
    collection: mslr
    archives:
      - {{file: BIG.zip, url: "{server.url("gone")}", sha256: {hashlib.sha256(content).hexdigest()}}}
      - {{file: BIG.zip, url: "{server.url("big")}", sha256: {hashlib.sha256(content).hexdigest()}, size: 50000}}
""")
    assert run.fetch(read_sources(path)["big"], "BIG") == run.folder / "BIG.zip"
    assert contents(run.folder) == {"BIG.zip": content}
    assert run.checked == []


def test_without_network_it_is_said_once_and_nothing_more_is_tried(run, server, tmp_path, monkeypatch):
    path = publish(server, tmp_path / "sources.yaml", {"a": [LF, CRLF], "b": [OTHER]})
    port = closed_port()
    sources = read_sources(redirected(path, f"http://127.0.0.1:{port}/", tmp_path / "nowhere.yaml"))
    tried, connect = [], socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *a, **o: tried.append(a[0]) or connect(*a, **o))
    for name in ("a", "b", "a"):
        with pytest.raises(Unreachable, match=f"{name} is not fetched: no network"):
            run.fetch(sources[name])
    assert tried == [("127.0.0.1", port)]
    assert run.reported("no network: 127.0.0.1 cannot be reached (Connection refused)", "going on") == 1
    assert run.waits == []
    assert not run.folder.exists()


def test_a_host_out_of_reach_after_another_answered_is_a_source_that_failed(run, server, tiny):
    server.routes[FIRST] = [fail(404)]
    nowhere = f"http://127.0.0.1:{closed_port()}/x"
    first, second = tiny.files["Fold1/train.txt"]
    lost = type(first)(nowhere, first.checksum, "elsewhere")
    source = Source("tiny", tiny.page, tiny.terms, {**tiny.files, "Fold1/train.txt": (first, lost, second)})
    run.fetch(source)
    assert contents(run.folder / "TINY")["Fold1/train.txt"] == CRLF["Fold1/train.txt"]
    assert run.reported("127.0.0.1 cannot be reached") == 1
    assert run.reported("no network") == 0
    assert run.network.offline == ""


def test_what_has_no_source_says_so(run):
    source = Source("hp2004", "https://example.org/letor", "for research use", why="no public copy is known")
    with pytest.raises(ReplirankError, match="hp2004 cannot be fetched: no public copy is known") as caught:
        run.fetch(source)
    assert "https://example.org/letor" in caught.value.remedy
    assert run.said == []


def test_a_folder_that_is_there_is_not_touched(run, server, tiny):
    (run.folder / "TINY").mkdir(parents=True)
    (run.folder / "TINY/mine.txt").write_bytes(b"mine")
    with pytest.raises(ReplirankError, match="is there already"):
        run.fetch(tiny)
    assert contents(run.folder) == {"TINY/mine.txt": b"mine"}
    assert server.connections == 0


def test_progress_has_bytes_and_rate():
    times, said = iter([10.0, 11.0, 12.0, 12.5, 14.0]), []
    progress = Progress("tiny: train.txt", None, said.append, clock=lambda: next(times))
    progress(1_000_000, 9_000_000)  # resumed: this much was there
    progress(2_000_000, 9_000_000)
    progress(5_000_000, 9_000_000)
    progress(6_000_000, 9_000_000)
    progress(9_000_000, 9_000_000)
    assert said == [
        "tiny: train.txt: 5.0 of 9.0 MB, 2.0 MB/s",  # 4 MB in 2 s
        "tiny: train.txt: 9.0 of 9.0 MB, 2.0 MB/s",  # 8 MB in 4 s
    ]
