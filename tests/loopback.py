"""A server on this machine, for tests of downloads: it serves what a test puts there, or misbehaves as it is told."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

Answer = Callable[[BaseHTTPRequestHandler], None]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(dict(self.headers))
        self.server.paths.append(self.path)
        plan = self.server.routes.get(self.path, self.server.plan)
        (plan.pop(0) if len(plan) > 1 else plan[0])(self)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Gives the answers planned for a path, or for all others, in turn, the last one for ever.

    It keeps the headers and the path of every request, and counts connections.
    """

    daemon_threads = True

    def __init__(self, *plan: Answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan: list[Answer] = list(plan)
        self.routes: dict[str, list[Answer]] = {}
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0

    def url(self, name: str = "") -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def get_request(self):
        self.connections += 1
        return super().get_request()

    def handle_error(self, request, client_address):
        """Clients that leave are part of the tests."""


@contextmanager
def serving(*plan: Answer) -> Iterator[Server]:
    """A running server that gives these answers; 404 if there are none. Set no_proxy to 127.0.0.1 for its clients."""
    with Server(*(plan or [fail(404)])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def serve(
    content: bytes,
    *,
    etag: str | None = '"1"',
    ranges: bool = True,
    cut: int | None = None,
    reset: bool = False,
    length: bool = True,
    stall: threading.Event | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """The file. `cut`: the connection ends there, with a `reset` if so wished; or it stalls until the event is set.
    `length`: is it told?
    """

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start = start_of(handler, etag, ranges)
        if start >= len(content):
            return fail(416, {"Content-Range": f"bytes */{len(content)}"})(handler)
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if length:
            handler.send_header("Content-Length", str(len(content) - start))
        for name, value in {**({"ETag": etag} if etag else {}), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content[start:cut])
        if stall:
            handler.wfile.flush()
            stall.wait(10)
        if reset:
            handler.wfile.flush()
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
        return None

    return answer


def start_of(handler: BaseHTTPRequestHandler, etag: str | None, ranges: bool) -> int:
    asked, condition = handler.headers["Range"], handler.headers["If-Range"]
    same = condition is None or condition == etag
    return int(asked.removeprefix("bytes=").rstrip("-")) if asked and ranges and same else 0


def fail(code: int, headers: dict[str, str] | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def publish(server: Server, path: Path, datasets: Mapping[str, Sequence[Mapping[str, bytes]]]) -> Path:
    """Serve copies of data sets as GitHub does, and write their sources.yaml to `path`.

    `datasets`: for each id its copies in order of trust, each as the content of files (Fold1/train.txt). Copy n of a
    set lies in repository owner<n>/<id>, at commit <n><n><n>..., in folder data. Odd copies have a git blob hash, even
    ones a SHA-256 and a size.
    """
    entries = {}
    for id, copies in datasets.items():
        listed = []
        for number, files in enumerate(copies, start=1):
            place = {"repo": f"owner{number}/{id}", "commit": str(number) * 40, "folder": "data"}
            facts = {}
            for name, content in files.items():
                server.routes["/raw/" + "/".join([*place.values(), name])] = [serve(content)]
                if number % 2:
                    facts[name] = {"git_blob": git_blob(content)}
                else:
                    facts[name] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            listed.append({"kind": "raw", "at": [place], "files": facts})
        entries[id] = {"collection": "letor", "copies": listed}
    sources = {
        "collections": {"letor": {"page": "https://example.org/letor", "terms": "for research use"}},
        "hosts": {"raw": server.url("raw")},
        "datasets": entries,
    }
    path.write_text(yaml.safe_dump(sources, sort_keys=False), encoding="utf-8")
    return path


def redirected(path: Path, url: str, target: Path) -> Path:
    """A copy of the sources.yaml at `path` in which the server at `url` takes the place of all hosts: url/raw, url/lfs.

    Archives keep their addresses.
    """
    sources = yaml.safe_load(path.read_text(encoding="utf-8"))
    sources["hosts"] = {kind: url.rstrip("/") + f"/{kind}" for kind in sources["hosts"]}
    target.write_text(yaml.safe_dump(sources, sort_keys=False), encoding="utf-8")
    return target
