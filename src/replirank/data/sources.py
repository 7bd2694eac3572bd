"""Where public copies of data sets lie, and the hashes by which each file is verified: reads workflow/sources.yaml."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

from replirank.data.download import Checksum
from replirank.errors import ReplirankError

HASHES = frozenset({"size", "git_blob", "sha256"})


@dataclass(frozen=True)
class SourceFile:
    """One copy of one file: its address, what its content must have, and who keeps it (github.com/owner/repository)."""

    url: str
    checksum: Checksum
    origin: str


@dataclass(frozen=True)
class Source:
    """A data set: its makers' page and terms of use, and for each file the copies to try, most trusted first.

    Either `files`, by their paths in the data set's folder, or `archives`, by their names. Where there are neither,
    `why` says why. `note` tells what is particular about the copies.
    """

    id: str
    page: str
    terms: str
    files: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    archives: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    note: str = ""
    why: str = ""


def read_sources(path: str | os.PathLike) -> dict[str, Source]:
    """The data sets in the file by their ids. A file without a hash is refused, since it could not be verified."""
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        top = _checked(content, "the file", {"collections", "hosts", "datasets"})
        return {id: _source(id, entry, top) for id, entry in _mapping(top["datasets"], "datasets").items()}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ReplirankError(f"cannot be read: {error}", path=path, remedy="restore the file") from error
    except ReplirankError as error:
        raise ReplirankError(error.what, path=path, remedy=error.remedy) from error


def describe(source: Source) -> str:
    """What would be fetched and from where, or why nothing can be."""
    wanted = {**source.files, **source.archives}
    if not wanted:
        return f"{source.why}; its makers' page: {source.page}"
    first = [copies[0] for copies in wanted.values()]
    names = ", ".join(source.archives) or f"{len(first)} files"
    sizes = [file.checksum.size for file in first if file.checksum.size is not None]
    size = f", {sum(sizes) / 1e6:,.1f} MB," if len(sizes) == len(first) else ""
    return f"{names}{size} from {' and '.join(dict.fromkeys(file.origin for file in first))}"


def _source(id: str, entry: object, top: Mapping[str, Any]) -> Source:
    given = _checked(entry, id, {"collection"}, {"copies", "archives", "note", "why"})
    collections = _mapping(top["collections"], "collections")
    if given["collection"] not in collections:
        raise _wrong(f"{id}: there is no collection {given['collection']!r}")
    about = _checked(collections[given["collection"]], given["collection"], {"page", "terms"})
    files: dict[str, tuple[SourceFile, ...]] = {}
    for number, copy in enumerate(_list(given.get("copies", []), id), start=1):
        for target, found in _copy(f"{id}, copy {number}", copy, _mapping(top["hosts"], "hosts")).items():
            files[target] = files.get(target, ()) + found
    archives: dict[str, tuple[SourceFile, ...]] = {}
    for archive in _list(given.get("archives", []), id):
        name, found = _archive(id, archive)
        archives[name] = (*archives.get(name, ()), found)
    if bool(files) + bool(archives) + bool(given.get("why")) != 1:
        raise _wrong(f"{id} needs one of: copies, archives, or a why if there are none")
    return Source(
        id, about["page"], about["terms"], files, archives, note=given.get("note", ""), why=given.get("why", "")
    )


def _copy(where: str, entry: object, hosts: Mapping[str, Any]) -> dict[str, tuple[SourceFile, ...]]:
    """The same files at one or several places."""
    given = _checked(entry, where, {"kind", "at", "files"}, {"line_ends"})
    if given["kind"] not in hosts:
        raise _wrong(f"{where}: there is no host for the kind {given['kind']!r}")
    found = {}
    for target, facts in _mapping(given["files"], where).items():
        checksum = _checksum(f"{where}, {target}", _checked(facts, f"{where}, {target}", set(), {*HASHES, "agree"}))
        _check_target(where, target)
        places = []
        for place in _list(given["at"], where):
            at = _checked(place, where, {"repo", "commit", "folder"})
            path = quote(str(PurePosixPath(at["commit"], at["folder"], target)))
            url = f"{hosts[given['kind']]}/{at['repo']}/{path}"
            places.append(SourceFile(_checked_url(where, url), checksum, f"github.com/{at['repo']}"))
        found[target] = tuple(places)
    return found


def _archive(id: str, entry: object) -> tuple[str, SourceFile]:
    given = _checked(entry, id, {"file", "url"}, HASHES)
    _check_target(id, given["file"])
    url = _checked_url(id, given["url"])
    return given["file"], SourceFile(url, _checksum(f"{id}, {given['file']}", given), str(urlsplit(url).hostname))


def _checksum(where: str, facts: Mapping[str, Any]) -> Checksum:
    for name in HASHES & facts.keys():
        if not isinstance(facts[name], int if name == "size" else str):
            raise _wrong(f"{where}: {name} is {facts[name]!r}")
    try:
        return Checksum(facts.get("sha256"), facts.get("git_blob"), facts.get("size"))
    except ReplirankError as error:
        raise ReplirankError(f"{where}: {error.what}", remedy=error.remedy) from error


def _check_target(where: str, target: str) -> None:
    """A file must stay within the folder that it is fetched into."""
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", target):
        raise _wrong(f"{where}: {target!r} is not a path of a file in the data set's folder")


def _checked_url(where: str, url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise _wrong(f"{where}: {url} is not an http or https address")
    return url


def _checked(entry: object, where: str, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """The entry, if it has the required keys and no unknown ones."""
    given = _mapping(entry, where)
    if missing := sorted(set(required) - given.keys()):
        raise _wrong(f"{where}: there is no {', '.join(missing)}")
    if unknown := sorted(given.keys() - {*required, *optional}):
        raise _wrong(f"{where}: unknown key {', '.join(unknown)}")
    return given


def _mapping(entry: object, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
        raise _wrong(f"{where}: expected names with values, not {entry!r}")
    return entry


def _list(entry: object, where: str) -> list[Any]:
    if not isinstance(entry, list):
        raise _wrong(f"{where}: expected a list, not {entry!r}")
    return entry


def _wrong(what: str) -> ReplirankError:
    return ReplirankError(what, remedy="correct the entry; the comment at the top of the file describes it")
