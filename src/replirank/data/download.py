"""Downloads a file over a bad connection: retried, resumed, and verified before it gets its name.

Not pooch or Snakemake's http storage: both start again from the first byte after a lost connection, and the latter
verifies no checksum.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from replirank.atomic import write_text
from replirank.errors import ReplirankError

CHUNK = 1 << 16
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
RETRYABLE = {408, 425, 429}  # HTTP statuses, besides all from 500 on

LFS_POINTER = b"version https://git-lfs"  # how the small text starts that git stores in place of a large file

Progress = Callable[[int, int | None], None]


class Unreachable(ReplirankError):
    """There is no connection to the host at all: no file can be had from it now. `why` says so without the address."""

    def __init__(self, what: str, *, why: str, path: Path | None = None):
        self.why = why
        super().__init__(what, path=path, remedy="check the network and run this again; or put the file there by hand")


@dataclass(frozen=True)
class Checksum:
    """What the content of a file must have: a SHA-256, a git blob hash or both, and a size where it is known."""

    sha256: str | None = None
    git_blob: str | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if self.sha256 is None and self.git_blob is None:
            raise ReplirankError("a file without a hash is never trusted", remedy="give its SHA-256 or git blob hash")
        for name, value, digits in (("SHA-256", self.sha256, 64), ("git blob hash", self.git_blob, 40)):
            if value is not None and not re.fullmatch(f"[0-9a-f]{{{digits}}}", value):
                raise ReplirankError(f"{value!r} is not a {name}", remedy=f"give its {digits} hexadecimal digits")

    def difference(self, path: Path) -> str | None:
        """What is wrong with the file's content; None if nothing is."""
        checks: tuple[tuple[str, object, Callable[[Path], object]], ...] = (
            ("size", self.size, lambda path: path.stat().st_size),
            ("sha256", self.sha256, sha256_of),
            ("git blob hash", self.git_blob, git_blob_of),
        )
        for name, wanted, measure in checks:
            if wanted is not None and (got := measure(path)) != wanted:
                return f"expected {name} {wanted}, got {got}"
        return None

    def matches(self, path: Path) -> bool:
        return path.is_file() and self.difference(path) is None


def download(
    url: str,
    path: str | os.PathLike,
    *,
    sha256: str | None = None,
    git_blob: str | None = None,
    size: int | None = None,
    retries: int = 4,
    connect_timeout: float = 5.0,
    timeout: float = 20.0,
    progress: Progress | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """Download `url` to `path` and verify it by its SHA-256, its git blob hash or both. A file that matches is kept.

    `connect_timeout` limits how long the connection may take, with the look-up of the host's name; `timeout`, how long
    nothing may arrive. A host that cannot be reached raises Unreachable at once. When a connection breaks, what was
    received stays in `path`.part, and the next attempt or call resumes from there.
    `progress(done, total)` is called with numbers of bytes; the total is None if the server does not tell it.
    """
    path = Path(path)
    _check_address(url, path)
    expected = Checksum(sha256 and sha256.lower(), git_blob and git_blob.lower(), size)
    try:
        if expected.matches(path):
            return path
        part = _PartialFile(path, url, expected)
        _fetch(part, _Connector(connect_timeout), retries, timeout, progress or (lambda done, total: None), wait)
        _verify(part)
        os.replace(part.file, path)
        part.discard()
    except OSError as error:  # of the disk: those of the network are handled in _fetch
        raise ReplirankError(
            f"{url} cannot be stored: {error}", path=path, remedy="see that there is room and that it can be written"
        ) from error
    return path


def sha256_of(path: str | os.PathLike) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_blob_of(path: str | os.PathLike) -> str:
    """The hash by which git names a file's content: the SHA-1 of "blob <size>", a zero byte and the content."""
    with open(path, "rb") as file:
        head = b"blob %d\0" % os.fstat(file.fileno()).st_size
        return hashlib.file_digest(file, lambda: hashlib.sha1(head, usedforsecurity=False)).hexdigest()


class _RetryableError(Exception):
    """Another attempt may succeed, after at least `after` seconds."""

    def __init__(self, why: str, after: float = 0.0):
        super().__init__(why)
        self.after = after


class _PartialFile:
    """What was received so far, and beside it a note (JSON) that says from which address and of which version it is."""

    def __init__(self, path: Path, url: str, expected: Checksum):
        self.path, self.url, self.expected = path, url, expected
        self.file = path.with_name(path.name + ".part")
        self.note = path.with_name(path.name + ".part.json")

    def version(self) -> dict[str, str] | None:
        """The version that the bytes belong to; None if that is not known, so that they cannot be used."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            return note["version"] if note["url"] == self.url else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def size(self) -> int:
        usable = self.file.is_file() and self.version() is not None
        return self.file.stat().st_size if usable else 0

    def restart(self, version: dict[str, str]) -> None:
        # The file is emptied before the note changes: bytes of one version must never have the note of another.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(b"")
        write_text(self.note, json.dumps({"url": self.url, "version": version}))

    def discard(self) -> None:
        self.file.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


class _NotConnectedError(OSError):
    """No connection to `host`, which may be that of a proxy or of a redirect."""

    def __init__(self, host: str, why: str):
        super().__init__(why)
        self.host, self.why = host, why


class _Connector(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Connects within `timeout` seconds, and knows whether it ever did.

    The time limit that urllib has is one for each step and each address of a host, and none for the look-up of names.
    """

    def __init__(self, timeout: float):
        super().__init__()
        self.timeout = timeout
        self.connected = False

    def http_open(self, req):
        return self.do_open(self._opened_by(_TimedConnection), req)

    def https_open(self, req):
        return self.do_open(self._opened_by(_TimedHttpsConnection), req)

    def _opened_by(self, kind: type[_TimedConnection]) -> Callable[..., _TimedConnection]:
        def make(host: str, **options) -> _TimedConnection:
            connection = kind(host, **options)
            connection.connector = self
            return connection

        return make


class _TimedConnection(http.client.HTTPConnection):
    connector: _Connector

    def connect(self) -> None:
        """Look up the host and connect to it, by way of a proxy if there is one, with TLS if it is https."""
        try:
            _within(self.connector.timeout, super().connect)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise _NotConnectedError(self.host, error.strerror or str(error)) from error
        self.connector.connected = True


class _TimedHttpsConnection(_TimedConnection, http.client.HTTPSConnection):
    pass


def _within(seconds: float, action: Callable[[], None]) -> None:
    """Wait for the action no longer than this. It goes on in a thread of its own: a look-up cannot be interrupted."""
    outcome: Future[None] = Future()

    def act() -> None:
        try:
            action()
            outcome.set_result(None)
        except BaseException as error:  # handed to the one who waits
            outcome.set_exception(error)

    threading.Thread(target=act, daemon=True).start()
    try:
        outcome.result(seconds)
    except TimeoutError as error:
        raise OSError(str(error) or f"no answer within {seconds:g} seconds") from error


class _HttpRedirectsOnly(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to ftp, which urllib would follow."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.HTTPError(newurl, code, "redirected away from http and https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str, path: Path) -> None:
    try:
        valid = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        valid = False
    if not valid:
        raise ReplirankError(f"{url} is not an http or https address", path=path, remedy="correct the address")


def _fetch(
    part: _PartialFile,
    connector: _Connector,
    retries: int,
    timeout: float,
    progress: Progress,
    wait: Callable[[float], None],
) -> None:
    retries = max(retries, 0)
    opener = urllib.request.build_opener(connector, _HttpRedirectsOnly)
    for attempt in range(retries + 1):
        try:
            return _fetch_once(part, opener, timeout, progress)
        except _RetryableError as error:
            if not connector.connected:
                what = f"{part.url} could not be fetched: {error}"
                raise Unreachable(what, why=str(error), path=part.path) from error
            if attempt == retries:
                _give_up(part, f"after {attempt + 1} attempt(s): {error}")
            wait(min(LONGEST_WAIT, max(FIRST_WAIT * 2**attempt, error.after)))
    return None


def _fetch_once(part: _PartialFile, opener: urllib.request.OpenerDirector, timeout: float, progress: Progress) -> None:
    received = part.size()
    try:
        response = _request(part, received, opener, timeout)
    except urllib.error.HTTPError as error:
        with error:
            return _handle_http_error(error, part, received)
    with response:
        start, total = _start_and_total(response, part, received)
        if start == 0:
            part.restart(_version(response))
        _receive(response, part, start, total, progress)
    return None


def _request(
    part: _PartialFile, received: int, opener: urllib.request.OpenerDirector, timeout: float
) -> http.client.HTTPResponse:
    request = urllib.request.Request(part.url, headers={"User-Agent": "replirank", "Accept-Encoding": "identity"})
    if received:
        request.add_header("Range", f"bytes={received}-")
        version = part.version() or {}
        if condition := version.get("ETag") or version.get("Last-Modified"):
            request.add_header("If-Range", condition)
    with _network_errors(part):
        return opener.open(request, timeout=timeout)


def _version(response: http.client.HTTPResponse) -> dict[str, str]:
    """The headers that differ between versions of the file. A weak ETag (W/...) does not promise the same bytes."""
    known = {name: response.headers[name] for name in ("ETag", "Last-Modified") if response.headers[name]}
    return {name: value for name, value in known.items() if not value.startswith("W/")}


def _start_and_total(response: http.client.HTTPResponse, part: _PartialFile, received: int) -> tuple[int, int | None]:
    """The position in the file of the first byte to come, and the size of the whole file, if known."""
    if response.status == 200:
        return 0, response.length
    span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if response.status != 206 or not span:
        _fail_for_status(part, f"{response.status} {response.reason}")
    old, new = part.version() or {}, _version(response)
    changed = any(old[name] != new[name] for name in old.keys() & new.keys())
    if int(span[1]) != received or (received and changed):
        part.discard()
        raise _RetryableError("the server sent another range than was asked for, or one of another version")
    total = None if response.length is None else received + response.length
    return received, total if span[2] == "*" else int(span[2])


def _receive(
    response: http.client.HTTPResponse, part: _PartialFile, done: int, total: int | None, progress: Progress
) -> None:
    progress(done, total)
    with part.file.open("r+b") as output:
        output.seek(done)
        output.truncate()
        while total is None or done < total:
            with _network_errors(part):
                chunk = response.read1(CHUNK)  # read() would lose what came before the connection broke
            if not chunk:
                break
            output.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise _RetryableError(f"the connection ended after {done:,} of {total:,} bytes")


def _handle_http_error(error: urllib.error.HTTPError, part: _PartialFile, received: int) -> None:
    """Return if the file is complete; else raise a retryable or a final error."""
    if error.code == 416 and received:
        # The file has nothing after the bytes received: these are either all of it or not a part of it.
        if part.expected.matches(part.file):
            return
        part.discard()
        raise _RetryableError("the file on the server is shorter than what was received before; starting again")
    if error.code >= 500 or error.code in RETRYABLE:
        after = error.headers.get("Retry-After", "")
        raise _RetryableError(
            f"the server says {error.code} {error.reason}", float(after) if after.isdecimal() else 0.0
        )
    _fail_for_status(part, f"{error.code} {error.reason}")


@contextmanager
def _network_errors(part: _PartialFile) -> Iterator[None]:
    """Turn errors of the network into retryable ones, except those that would come again."""
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except (http.client.InvalidURL, UnicodeError) as error:
        raise ReplirankError(f"{part.url!r}: {error}", path=part.path, remedy="correct the address") from error
    except (http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            _give_up(part, f"since its certificate is not valid: {error}")
        if isinstance(reason, _NotConnectedError):
            host = urlsplit(part.url).hostname
            way = "" if reason.host == host else f" by way of {reason.host}"
            raise _RetryableError(f"{host} cannot be reached{way} ({reason.why})") from error
        raise _RetryableError(str(error) or type(error).__name__) from error


def _fail_for_status(part: _PartialFile, status: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} cannot be downloaded: the server says {status}",
        path=part.path,
        remedy="it may have moved: find it by hand, compare its hash, and put it there",
    )


def _give_up(part: _PartialFile, why: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} could not be fetched {why}",
        path=part.path,
        remedy="check the connection and run this again, it resumes where it stopped; or put the file there by hand",
    )


def _verify(part: _PartialFile) -> None:
    difference = part.expected.difference(part.file)
    if difference is None:
        return
    with part.file.open("rb") as file:
        pointer = file.read(len(LFS_POINTER)) == LFS_POINTER
    part.discard()
    raise ReplirankError(
        f"{part.url} does not have the expected content: {difference}"
        + ("; it is a git LFS pointer in place of the file" if pointer else ""),
        path=part.path,
        remedy="run this again; if it fails again, the publisher has changed the file: check it before use",
    )
