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
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from replirank.atomic import write_text
from replirank.errors import ReplirankError

CHUNK = 1 << 16
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
RETRYABLE = {408, 425, 429}  # HTTP statuses, besides all from 500 on

Progress = Callable[[int, int | None], None]


def download(
    url: str,
    path: str | os.PathLike,
    *,
    sha256: str,
    retries: int = 4,
    timeout: float = 30.0,
    progress: Progress | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """Download `url` to `path` and verify its SHA-256. A file with that SHA-256 which exists already is kept.

    When the connection fails, what was received stays in `path`.part, and the next call resumes from there.
    `progress(done, total)` is called with numbers of bytes; the total is None if the server does not tell it.
    """
    path = Path(path)
    _check_arguments(url, sha256, path)
    try:
        if path.is_file() and sha256_of(path) == sha256.lower():
            return path
        part = _PartialFile(path, url)
        _fetch(part, retries, timeout, progress or (lambda done, total: None), wait, sha256.lower())
        _verify(part, sha256.lower())
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


class _RetryableError(Exception):
    """Another attempt may succeed, after at least `after` seconds."""

    def __init__(self, why: str, after: float = 0.0):
        super().__init__(why)
        self.after = after


class _PartialFile:
    """What was received so far, and beside it a note (JSON) that says from which address and of which version it is."""

    def __init__(self, path: Path, url: str):
        self.path, self.url = path, url
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


class _HttpRedirectsOnly(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to ftp, which urllib would follow."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.HTTPError(newurl, code, "redirected away from http and https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_arguments(url: str, sha256: str, path: Path) -> None:
    try:
        valid = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        valid = False
    if not valid:
        raise ReplirankError(f"{url} is not an http or https address", path=path, remedy="correct the address")
    if not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise ReplirankError(
            f"{sha256!r} is not a SHA-256", path=path, remedy=f"give the 64 hexadecimal digits of the file at {url}"
        )


def _fetch(
    part: _PartialFile, retries: int, timeout: float, progress: Progress, wait: Callable[[float], None], sha256: str
) -> None:
    retries = max(retries, 0)
    for attempt in range(retries + 1):
        try:
            return _fetch_once(part, timeout, progress, sha256)
        except _RetryableError as error:
            if attempt == retries:
                _give_up(part, f"after {attempt + 1} attempt(s): {error}")
            wait(min(LONGEST_WAIT, max(FIRST_WAIT * 2**attempt, error.after)))
    return None


def _fetch_once(part: _PartialFile, timeout: float, progress: Progress, sha256: str) -> None:
    received = part.size()
    try:
        response = _request(part, received, timeout)
    except urllib.error.HTTPError as error:
        with error:
            return _handle_http_error(error, part, received, sha256)
    with response:
        start, total = _start_and_total(response, part, received)
        if start == 0:
            part.restart(_version(response))
        _receive(response, part, start, total, progress)
    return None


def _request(part: _PartialFile, received: int, timeout: float) -> http.client.HTTPResponse:
    request = urllib.request.Request(part.url, headers={"User-Agent": "replirank", "Accept-Encoding": "identity"})
    if received:
        request.add_header("Range", f"bytes={received}-")
        version = part.version() or {}
        if condition := version.get("ETag") or version.get("Last-Modified"):
            request.add_header("If-Range", condition)
    with _network_errors(part):
        return urllib.request.build_opener(_HttpRedirectsOnly).open(request, timeout=timeout)


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


def _handle_http_error(error: urllib.error.HTTPError, part: _PartialFile, received: int, sha256: str) -> None:
    """Return if the file is complete; else raise a retryable or a final error."""
    if error.code == 416 and received:
        # The file has nothing after the bytes received: these are either all of it or not a part of it.
        if sha256_of(part.file) == sha256:
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
        if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
            _give_up(part, f"since its certificate is not valid: {error}")
        raise _RetryableError(str(error) or type(error).__name__) from error


def _fail_for_status(part: _PartialFile, status: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} cannot be downloaded: the server says {status}",
        path=part.path,
        remedy="it may have moved: find it by hand, compare its sha256, and put it there",
    )


def _give_up(part: _PartialFile, why: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} could not be fetched {why}",
        path=part.path,
        remedy="check the connection and run this again, it resumes where it stopped; or put the file there by hand",
    )


def _verify(part: _PartialFile, sha256: str) -> None:
    got = sha256_of(part.file)
    if got != sha256:
        part.discard()
        raise ReplirankError(
            f"{part.url} does not have the expected content: expected sha256 {sha256}, got {got}",
            path=part.path,
            remedy="run this again; if it fails again, the publisher has changed the file: check it before use",
        )
