"""Fetch a file over a bad line: resumed, tried again, and checked before it takes its name."""

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
TRY_AGAIN = {408, 425, 429}

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
    """Fetch `url` to `path`, whose SHA-256 must be `sha256`. A file that is there already and right is kept.

    What has come so far stays in `path`.part when the line fails, and the next call goes on from there.
    `progress(done, total)` is called with bytes; the total is None where the server does not say.
    """
    path = Path(path)
    _check(url, sha256, path)
    try:
        if path.is_file() and sha256_of(path) == sha256.lower():
            return path
        part = _Part(path, url)
        _persist(part, retries, timeout, progress or (lambda done, total: None), wait, sha256.lower())
        _verify(part, sha256.lower())
        os.replace(part.file, path)
        part.discard()
    except OSError as error:  # those of the network have been dealt with
        raise ReplirankError(
            f"{url} cannot be stored: {error}", path=path, remedy="see that there is room and that it can be written"
        ) from error
    return path


def sha256_of(path: str | os.PathLike) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Again(Exception):
    """Something that may go better the next time, not before `after` seconds."""

    def __init__(self, why: object, after: float = 0.0):
        super().__init__(str(why))
        self.after = after


class _Part:
    """What has come so far, and a note of which version of which address it is."""

    def __init__(self, path: Path, url: str):
        self.path, self.url = path, url
        self.file = path.with_name(path.name + ".part")
        self.note = path.with_name(path.name + ".part.json")

    def version(self) -> dict[str, str] | None:
        """The version that the bytes belong to, or None if they are of no use."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            return note["version"] if note["url"] == self.url else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def size(self) -> int:
        usable = self.file.is_file() and self.version() is not None
        return self.file.stat().st_size if usable else 0

    def restart(self, version: dict[str, str]) -> None:
        # Emptied before the note changes: bytes must never lie beside the note of another version.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(b"")
        write_text(self.note, json.dumps({"url": self.url, "version": version}))

    def discard(self) -> None:
        self.file.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


class _WebOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.HTTPError(newurl, code, "redirected away from http and https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check(url: str, sha256: str, path: Path) -> None:
    try:
        web = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        web = False
    if not web:
        raise ReplirankError(f"{url} is not an http or https address", path=path, remedy="correct the address")
    if not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise ReplirankError(
            f"{sha256!r} is not a SHA-256", path=path, remedy=f"give the 64 hexadecimal digits of the file at {url}"
        )


def _persist(
    part: _Part, retries: int, timeout: float, progress: Progress, wait: Callable[[float], None], sha256: str
) -> None:
    retries = max(retries, 0)
    for attempt in range(retries + 1):
        try:
            return _attempt(part, timeout, progress, sha256)
        except _Again as error:
            if attempt == retries:
                _give_up(part, f"after {attempt + 1} attempt(s): {error}")
            wait(min(LONGEST_WAIT, max(FIRST_WAIT * 2**attempt, error.after)))
    return None


def _attempt(part: _Part, timeout: float, progress: Progress, sha256: str) -> None:
    have = part.size()
    try:
        response = _open(part, have, timeout)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error, part, have, sha256)
    with response:
        start, total = _extent(response, part, have)
        if start == 0:
            part.restart(_version(response))
        _receive(response, part, start, total, progress)
    return None


def _open(part: _Part, have: int, timeout: float) -> http.client.HTTPResponse:
    request = urllib.request.Request(part.url, headers={"User-Agent": "replirank", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        version = part.version() or {}
        if condition := version.get("ETag") or version.get("Last-Modified"):
            request.add_header("If-Range", condition)
    with _network(part):
        return urllib.request.build_opener(_WebOnly).open(request, timeout=timeout)


def _version(response: http.client.HTTPResponse) -> dict[str, str]:
    """What tells one version of the file from another. A weak ETag (W/...) does not promise the same bytes."""
    known = {name: response.headers[name] for name in ("ETag", "Last-Modified") if response.headers[name]}
    return {name: value for name, value in known.items() if not value.startswith("W/")}


def _extent(response: http.client.HTTPResponse, part: _Part, have: int) -> tuple[int, int | None]:
    """Where the bytes that follow belong, and how many there are in all."""
    if response.status == 200:
        return 0, response.length
    span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if response.status != 206 or not span:
        _refuse(part, f"{response.status} {response.reason}")
    old, new = part.version() or {}, _version(response)
    changed = any(old[name] != new[name] for name in old.keys() & new.keys())
    if int(span[1]) != have or (have and changed):
        part.discard()
        raise _Again("the server sent another piece, or a piece of another version, than what was asked for")
    total = None if response.length is None else have + response.length
    return have, total if span[2] == "*" else int(span[2])


def _receive(response: http.client.HTTPResponse, part: _Part, done: int, total: int | None, progress: Progress) -> None:
    progress(done, total)
    with part.file.open("r+b") as output:
        output.seek(done)
        output.truncate()
        while total is None or done < total:
            with _network(part):
                chunk = response.read1(CHUNK)  # not read(): what came before the line broke must not be lost
            if not chunk:
                break
            output.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise _Again(f"the connection ended after {done:,} of {total:,} bytes")


def _answer(error: urllib.error.HTTPError, part: _Part, have: int, sha256: str) -> None:
    """An answer that is not the file: done all the same, worth another attempt, or the end."""
    if error.code == 416 and have:
        # Nothing behind what we have: it is either complete or not a piece of this file at all.
        if sha256_of(part.file) == sha256:
            return
        part.discard()
        raise _Again("the server has less than what came before; starting again")
    if error.code >= 500 or error.code in TRY_AGAIN:
        after = error.headers.get("Retry-After", "")
        raise _Again(f"the server says {error.code} {error.reason}", float(after) if after.isdecimal() else 0.0)
    _refuse(part, f"{error.code} {error.reason}")


@contextmanager
def _network(part: _Part) -> Iterator[None]:
    """Tell the line's errors, which may pass, from those that stay."""
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except (http.client.InvalidURL, UnicodeError) as error:
        raise ReplirankError(f"{part.url!r}: {error}", path=part.path, remedy="correct the address") from error
    except (http.client.HTTPException, OSError) as error:
        if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
            _give_up(part, f"since its certificate is not valid: {error}")
        raise _Again(str(error) or type(error).__name__) from error


def _refuse(part: _Part, answer: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} cannot be had: the server says {answer}",
        path=part.path,
        remedy="it may have moved: find it by hand, compare its sha256, and put it there",
    )


def _give_up(part: _Part, why: str) -> NoReturn:
    raise ReplirankError(
        f"{part.url} could not be fetched {why}",
        path=part.path,
        remedy="see to the connection and run this again, it goes on where it stopped; or put the file there by hand",
    )


def _verify(part: _Part, sha256: str) -> None:
    got = sha256_of(part.file)
    if got != sha256:
        part.discard()
        raise ReplirankError(
            f"{part.url} has not the content that was expected: expected sha256 {sha256}, got {got}",
            path=part.path,
            remedy="run this again; if it stays so, the publisher has changed the file: look at it before you trust it",
        )
