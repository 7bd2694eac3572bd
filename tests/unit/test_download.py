"""Against a server on this machine that misbehaves in the ways that servers and lines do."""

from __future__ import annotations

import hashlib
import json
import random
import socket
import threading

import loopback
import pytest
from loopback import Answer, Server, closed_port, fail, serving

from replirank.data.download import Unreachable, download, git_blob_of, sha256_of
from replirank.errors import ReplirankError

CONTENT = random.Random(1).randbytes(300_000)
HALF = len(CONTENT) // 2
SHA = hashlib.sha256(CONTENT).hexdigest()
GIT_BLOB = hashlib.sha1(b"blob 300000\0" + CONTENT).hexdigest()


def serve(content: bytes = CONTENT, **options) -> Answer:
    return loopback.serve(content, **options)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(serve()) as server:
        yield server


@pytest.fixture
def fetch(server, tmp_path):
    """download() from the server, noting the waits instead of waiting."""

    def fetch(**options):
        settings = {"sha256": SHA, "timeout": 5, "wait": fetch.waits.append} | options
        return download(server.url("OHSUMED.zip"), tmp_path / "OHSUMED.zip", **settings)

    fetch.waits = []
    return fetch


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ranges(server: Server) -> list[str | None]:
    return [request.get("Range") for request in server.requests]


def test_the_file_comes_whole_and_alone(fetch, tmp_path):
    assert fetch() == tmp_path / "OHSUMED.zip"
    assert (tmp_path / "OHSUMED.zip").read_bytes() == CONTENT
    assert names(tmp_path) == ["OHSUMED.zip"]
    assert fetch.waits == []


def test_folders_are_made_and_the_checksum_may_be_in_capitals(server, tmp_path):
    path = download(server.url("OHSUMED.zip"), tmp_path / "a" / "b" / "x.zip", sha256=SHA.upper())
    assert path.read_bytes() == CONTENT


def test_a_file_that_is_there_and_right_is_not_fetched(fetch, server, tmp_path):
    (tmp_path / "OHSUMED.zip").write_bytes(CONTENT)
    fetch()
    assert server.requests == []


def test_a_file_that_is_there_and_wrong_is_replaced(fetch, tmp_path):
    (tmp_path / "OHSUMED.zip").write_bytes(b"wrong")
    assert fetch().read_bytes() == CONTENT


def test_progress_goes_up_to_the_total(fetch):
    seen = []
    fetch(progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


@pytest.mark.parametrize("reset", [False, True])
def test_a_dropped_connection_is_resumed_where_it_broke(fetch, server, reset):
    server.plan = [serve(cut=HALF, reset=reset), serve()]
    seen = []
    assert fetch(progress=lambda done, total: seen.append(done)).read_bytes() == CONTENT
    first, second = ranges(server)
    assert first is None
    if reset:  # what was on its way when the reset came is lost
        assert second is None or 0 < int(second[len("bytes=") : -1]) <= HALF
    else:
        assert second == f"bytes={HALF}-"
        assert server.requests[1]["If-Range"] == '"1"'
        assert seen == sorted(seen)
    assert fetch.waits == [1]


def test_the_next_call_goes_on_where_the_last_one_gave_up(fetch, server, tmp_path):
    server.plan = [serve(cut=HALF)]
    with pytest.raises(ReplirankError, match=r"after 1 attempt\(s\): the connection ended after 150,000 of 300,000"):
        fetch(retries=0)
    assert (tmp_path / "OHSUMED.zip.part").read_bytes() == CONTENT[:HALF]
    assert not (tmp_path / "OHSUMED.zip").exists()
    server.plan = [serve()]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-"]
    assert names(tmp_path) == ["OHSUMED.zip"]


def test_a_line_that_breaks_often_gets_there(fetch, server):
    server.plan = [serve(cut=cut) for cut in (70_000, 140_000, 210_000, 280_000)] + [serve()]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None] + [f"bytes={cut}-" for cut in (70_000, 140_000, 210_000, 280_000)]
    assert fetch.waits == [1, 2, 4, 8]


def test_a_server_that_ignores_the_range_starts_again(fetch, server):
    server.plan = [serve(cut=HALF, ranges=False), serve(ranges=False)]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize("version", [{"etag": '"0"'}, {"etag": None, "headers": {"Last-Modified": "yesterday"}}])
def test_a_file_that_changed_meanwhile_is_fetched_anew(fetch, server, version):
    old = bytes(len(CONTENT))
    server.plan = [serve(old, cut=HALF, **version), serve()]
    assert fetch().read_bytes() == CONTENT
    assert server.requests[1]["If-Range"] == (version["etag"] or "yesterday")


def test_a_server_that_ignores_if_range_but_tells_the_version(fetch, server):
    def careless(handler):
        del handler.headers["If-Range"]
        serve()(handler)

    server.plan = [serve(bytes(len(CONTENT)), cut=HALF, etag='"0"'), careless]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-", None]


def test_a_weak_etag_is_no_condition(fetch, server):
    server.plan = [serve(cut=HALF, etag='W/"1"'), serve(etag='W/"1"')]
    assert fetch().read_bytes() == CONTENT
    assert "If-Range" not in server.requests[1]
    assert ranges(server) == [None, f"bytes={HALF}-"]


def test_a_wrong_piece_is_not_appended(fetch, server):
    def other_piece(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes 5-9/{len(CONTENT)}")
        handler.send_header("Content-Length", "5")
        handler.end_headers()
        handler.wfile.write(CONTENT[5:10])

    server.plan = [serve(cut=HALF), other_piece, serve()]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-", None]


def leave_part(tmp_path, server, content: bytes, url: str | None = None) -> None:
    (tmp_path / "OHSUMED.zip.part").write_bytes(content)
    note = {"url": url or server.url("OHSUMED.zip"), "version": {"ETag": '"1"'}}
    (tmp_path / "OHSUMED.zip.part.json").write_text(json.dumps(note))


def test_416_when_all_had_come_already(fetch, server, tmp_path):
    leave_part(tmp_path, server, CONTENT)
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={len(CONTENT)}-"]
    assert names(tmp_path) == ["OHSUMED.zip"]


def test_416_when_there_is_too_much(fetch, server, tmp_path):
    leave_part(tmp_path, server, CONTENT + b"more")
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={len(CONTENT) + 4}-", None]


def test_416_without_a_reason_is_the_end(fetch, server):
    server.plan = [fail(416)]
    with pytest.raises(ReplirankError, match="416"):
        fetch()
    assert len(server.requests) == 1


@pytest.mark.parametrize("note", ["", "[]", "{", '{"url": "http://elsewhere/x", "version": {}}'])
def test_a_part_of_unknown_origin_is_not_continued(fetch, server, tmp_path, note):
    leave_part(tmp_path, server, bytes(HALF))
    (tmp_path / "OHSUMED.zip.part.json").write_text(note)
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None]


@pytest.mark.parametrize("code", [500, 502, 503, 429])
def test_a_server_in_trouble_is_asked_again_with_growing_waits(fetch, server, code):
    server.plan = [fail(code), fail(code), serve()]
    assert fetch().read_bytes() == CONTENT
    assert fetch.waits == [1, 2]


def test_retry_after_is_respected_within_reason(fetch, server):
    server.plan = [fail(429, {"Retry-After": "7"}), fail(503, {"Retry-After": "86400"}), serve()]
    fetch()
    assert fetch.waits == [7, 60]


def test_it_gives_up_in_the_end(fetch, server, tmp_path):
    server.plan = [fail(503)]
    with pytest.raises(ReplirankError, match=r"after 3 attempt\(s\): the server says 503") as caught:
        fetch(retries=2)
    assert server.url("OHSUMED.zip") in str(caught.value)
    assert caught.value.remedy
    assert len(server.requests) == 3
    assert fetch.waits == [1, 2]
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410])
def test_what_is_not_there_fails_at_once(fetch, server, tmp_path, code):
    server.plan = [fail(code)]
    with pytest.raises(
        ReplirankError, match=f"{server.url('OHSUMED.zip')} cannot be downloaded: the server says {code}"
    ) as caught:
        fetch()
    assert caught.value.path == tmp_path / "OHSUMED.zip"
    assert caught.value.remedy
    assert len(server.requests) == 1
    assert fetch.waits == []


def test_an_answer_without_content_is_refused(fetch, server):
    server.plan = [fail(204)]
    with pytest.raises(ReplirankError, match="204"):
        fetch()


def test_wrong_content_leaves_nothing(fetch, server, tmp_path):
    server.plan = [serve(b"<html>Please log in</html>")]
    got = hashlib.sha256(b"<html>Please log in</html>").hexdigest()
    with pytest.raises(ReplirankError, match=f"expected sha256 {SHA}, got {got}") as caught:
        fetch()
    assert server.url("OHSUMED.zip") in str(caught.value)
    assert caught.value.remedy
    assert names(tmp_path) == []


def test_wrong_content_does_not_replace_what_is_there(fetch, server, tmp_path):
    (tmp_path / "OHSUMED.zip").write_bytes(b"mine")
    server.plan = [serve(b"wrong")]
    with pytest.raises(ReplirankError, match="expected sha256"):
        fetch()
    assert (tmp_path / "OHSUMED.zip").read_bytes() == b"mine"


def test_a_length_that_is_not_told(fetch, server):
    server.plan = [serve(length=False)]
    seen = []
    assert fetch(progress=lambda done, total: seen.append((done, total))).read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), None)


def test_pieces_that_break_off(fetch, server):
    def chunked(handler):
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        handler.wfile.write(b"%x\r\n" % len(CONTENT) + CONTENT[:HALF])

    server.plan = [chunked, serve()]
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-"]


def test_an_empty_file(fetch, server):
    server.plan = [fail(200, {"Content-Length": "0"})]
    assert fetch(sha256=hashlib.sha256(b"").hexdigest()).read_bytes() == b""


def test_a_slow_server_runs_into_the_timeout_and_is_asked_again(fetch, server):
    woken = threading.Event()

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:HALF])
        woken.wait(5)

    server.plan = [slow, serve()]
    assert fetch(timeout=0.5).read_bytes() == CONTENT
    woken.set()
    assert ranges(server) == [None, f"bytes={HALF}-"]
    assert fetch.waits == [1]


def test_a_server_that_talks_nonsense(fetch, server):
    server.plan = [lambda handler: handler.wfile.write(b"220 ftp ready\r\n"), lambda handler: None, serve()]
    assert fetch().read_bytes() == CONTENT
    assert fetch.waits == [1, 2]


def test_nobody_listens(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    waits = []
    with pytest.raises(Unreachable, match=r"could not be fetched: 127\.0\.0\.1 cannot be reached \(Connection refused"):
        download(f"http://127.0.0.1:{closed_port()}/x", tmp_path / "x", sha256=SHA, wait=waits.append)
    assert waits == []
    assert names(tmp_path) == []


def test_a_host_without_an_address(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Unreachable) as caught:
        download("https://data.example/x", tmp_path / "x", sha256=SHA)
    assert caught.value.why == "data.example cannot be reached (Name or service not known)"
    assert caught.value.remedy


def test_a_look_up_of_a_name_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    woken = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: woken.wait(10) and [])
    with pytest.raises(Unreachable, match=r"data.example cannot be reached \(no answer within 0.1 seconds\)"):
        download("https://data.example/x", tmp_path / "x", sha256=SHA, connect_timeout=0.1)
    woken.set()


def test_a_host_that_accepts_and_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(Unreachable, match=r"no answer within 0.1 seconds"):
            download(url, tmp_path / "x", sha256=SHA, connect_timeout=0.1)


def test_a_host_that_is_lost_after_it_has_answered_is_asked_again(fetch, server, monkeypatch):
    server.plan = [serve(cut=HALF)]
    connect = socket.create_connection
    answers = [connect, None, connect]

    def sometimes(*args, **options):
        answer = answers.pop(0)
        if answer is None:
            raise ConnectionRefusedError(111, "Connection refused")
        server.plan = [serve(cut=HALF if len(answers) == 2 else None)]
        return answer(*args, **options)

    monkeypatch.setattr(socket, "create_connection", sometimes)
    assert fetch().read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-"]
    assert fetch.waits == [1, 2]


def test_a_redirect_to_a_host_out_of_reach_is_no_lack_of_network(fetch, server):
    server.plan = [fail(302, {"Location": f"http://127.0.0.1:{closed_port()}/x"})]
    with pytest.raises(ReplirankError, match=r"after 2 attempt\(s\): 127.0.0.1 cannot be reached") as caught:
        fetch(retries=1)
    assert not isinstance(caught.value, Unreachable)


def test_behind_a_proxy_only_the_proxy_is_asked(server, tmp_path, monkeypatch):
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", server.url())
    path = download("http://data.example/x", tmp_path / "x", sha256=SHA)
    assert path.read_bytes() == CONTENT
    assert server.paths == ["http://data.example/x"]


@pytest.mark.parametrize("refuses", [True, False])
def test_a_proxy_that_does_not_answer_or_does_not_connect(server, tmp_path, monkeypatch, refuses):
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("https_proxy", server.url() if refuses else f"http://127.0.0.1:{closed_port()}")
    reason = "Tunnel connection failed: 501" if refuses else "Connection refused"
    with pytest.raises(Unreachable, match=rf"data.example cannot be reached by way of 127.0.0.1 \({reason}"):
        download("https://data.example/x", tmp_path / "x", sha256=SHA)


def test_a_git_blob_hash_will_do(server, tmp_path):
    url = server.url("x")
    assert download(url, tmp_path / "1", git_blob=GIT_BLOB.upper()).read_bytes() == CONTENT
    assert download(url, tmp_path / "2", git_blob=GIT_BLOB, sha256=SHA, size=300_000).read_bytes() == CONTENT
    for number, wrong in enumerate(({"git_blob": "0" * 40}, {"git_blob": "0" * 40, "sha256": SHA}), start=3):
        with pytest.raises(ReplirankError, match=f"expected git blob hash {'0' * 40}, got {GIT_BLOB}"):
            download(url, tmp_path / str(number), **wrong)
    with pytest.raises(ReplirankError, match="expected size 7, got 300000"):
        download(url, tmp_path / "5", git_blob=GIT_BLOB, size=7)
    assert names(tmp_path) == ["1", "2"]


def test_a_pointer_in_place_of_the_file(fetch, server, tmp_path):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{SHA}\nsize 300000\n"
    server.plan = [serve(pointer.encode())]
    with pytest.raises(ReplirankError, match="is a git LFS pointer in place of the file"):
        fetch()
    assert names(tmp_path) == []


def test_a_redirect_is_followed_but_only_within_the_web(fetch, server, tmp_path):
    (tmp_path / "secret").write_bytes(CONTENT)
    server.plan = [fail(302, {"Location": "/elsewhere"}), serve()]
    assert fetch().read_bytes() == CONTENT
    (tmp_path / "OHSUMED.zip").unlink()
    for goal in ("ftp://127.0.0.1/x", f"file://{tmp_path}/secret"):
        server.plan = [fail(302, {"Location": goal})]
        with pytest.raises(ReplirankError, match="the server says 302"):
            fetch()
    assert names(tmp_path) == ["secret"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "OHSUMED.zip", "http:///x", "http://[::1/x"])
def test_only_the_web(tmp_path, url):
    with pytest.raises(ReplirankError, match="not an http or https address"):
        download(url, tmp_path / "x", sha256=SHA)


@pytest.mark.parametrize("url", ["http://127.0.0.1/a b", "http://127.0.0.1/\u00e9", "http://127.0.0.1:port/"])
def test_an_address_that_cannot_be_right_is_not_tried_again(tmp_path, url, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    waits = []
    with pytest.raises(ReplirankError, match="127"):
        download(url, tmp_path / "x", sha256=SHA, wait=waits.append)
    assert waits == []


@pytest.mark.parametrize("sha256", ["", "abc", SHA[:-1], SHA + "0", "g" * 64])
def test_a_checksum_that_is_none(tmp_path, sha256):
    with pytest.raises(ReplirankError, match="is not a SHA-256"):
        download("http://127.0.0.1/x", tmp_path / "x", sha256=sha256)


def test_a_git_blob_hash_that_is_none_and_no_hash_at_all(tmp_path):
    with pytest.raises(ReplirankError, match="is not a git blob hash"):
        download("http://127.0.0.1/x", tmp_path / "x", git_blob=SHA)
    with pytest.raises(ReplirankError, match="without a hash is never trusted"):
        download("http://127.0.0.1/x", tmp_path / "x", size=300_000)


def test_a_place_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ReplirankError, match="cannot be stored") as caught:
        download(server.url("OHSUMED.zip"), tmp_path / "file" / "x", sha256=SHA, wait=lambda _: None)
    assert server.url("OHSUMED.zip") in str(caught.value)


def test_sha256_of(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_git_blob_of(tmp_path):
    (tmp_path / "x").write_bytes(b"hello world\n")
    assert git_blob_of(tmp_path / "x") == "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"  # by `git hash-object`
