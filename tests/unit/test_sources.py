"""The list of public copies: what it says, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from helpers import ROOT

from replirank.data.download import Checksum
from replirank.data.sources import SourceFile, describe, read_sources
from replirank.data.specs import SPECS
from replirank.errors import ReplirankError

OURS = ROOT / "workflow" / "sources.yaml"
PINS = ROOT / "../shared/data/pins.csv"
FOLD1 = ["Fold1/train.txt", "Fold1/vali.txt", "Fold1/test.txt"]
SHA, BLOB = "ab" * 32, "cd" * 20


def entry() -> dict:
    return {
        "collections": {"letor": {"page": "https://example.org/letor", "terms": "for research use"}},
        "hosts": {"raw": "https://raw.example", "lfs": "https://lfs.example/media"},
        "datasets": {
            "tiny": {
                "collection": "letor",
                "copies": [
                    {
                        "kind": "raw",
                        "line_ends": "LF",
                        "at": [
                            {"repo": "a/b", "commit": "1" * 40, "folder": "x y/z"},
                            {"repo": "c/d", "commit": "2" * 40, "folder": "data"},
                        ],
                        "files": {
                            "Fold1/train.txt": {"git_blob": BLOB, "agree": 2, "size": 2_000_000},
                            "Fold1/test.txt": {"git_blob": BLOB, "sha256": SHA, "size": 1_250_000},
                        },
                    },
                    {
                        "kind": "lfs",
                        "at": [{"repo": "e/f", "commit": "3" * 40, "folder": "data"}],
                        "files": {"Fold1/test.txt": {"sha256": SHA}},
                    },
                ],
            },
            "big": {
                "collection": "letor",
                "archives": [{"file": "big.zip", "url": "https://big.example/1", "sha256": SHA}],
            },
            "none": {"collection": "letor", "why": "no public copy is known", "note": "rare"},
        },
    }


def written(folder: Path, content: object) -> Path:
    path = folder / "sources.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def test_addresses_hashes_and_their_order(tmp_path):
    tiny = read_sources(written(tmp_path, entry()))["tiny"]
    assert (tiny.id, tiny.page, tiny.terms) == ("tiny", "https://example.org/letor", "for research use")
    assert list(tiny.files) == ["Fold1/train.txt", "Fold1/test.txt"]
    both = Checksum(SHA, BLOB, 1_250_000)
    assert tiny.files["Fold1/test.txt"] == (
        SourceFile(f"https://raw.example/a/b/{'1' * 40}/x%20y/z/Fold1/test.txt", both, "github.com/a/b"),
        SourceFile(f"https://raw.example/c/d/{'2' * 40}/data/Fold1/test.txt", both, "github.com/c/d"),
        SourceFile(f"https://lfs.example/media/e/f/{'3' * 40}/data/Fold1/test.txt", Checksum(SHA), "github.com/e/f"),
    )
    assert [file.checksum for file in tiny.files["Fold1/train.txt"]] == [Checksum(None, BLOB, 2_000_000)] * 2


def test_in_one_line(tmp_path):
    sources = read_sources(written(tmp_path, entry()))
    assert describe(sources["tiny"]) == "2 files, 3.2 MB, from github.com/a/b"
    assert describe(sources["big"]) == "big.zip from big.example"
    assert describe(sources["none"]) == "no public copy is known; its makers' page: https://example.org/letor"
    assert sources["none"].note == "rare"


def tiny_file(content: dict, **facts) -> None:
    content["datasets"]["tiny"]["copies"][0]["files"]["Fold1/train.txt"] = facts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: tiny_file(c, size=7), "tiny, copy 1, Fold1/train.txt: a file without a hash is never trusted"),
        (lambda c: tiny_file(c, sha256="abc"), "tiny, copy 1, Fold1/train.txt: 'abc' is not a SHA-256"),
        (lambda c: tiny_file(c, git_blob=123), "git_blob is 123"),
        (lambda c: tiny_file(c, git_blob=BLOB, md5="x"), "unknown key md5"),
        (lambda c: c["datasets"]["big"]["archives"][0].pop("sha256"), "big, big.zip: a file without a hash"),
        (lambda c: c["datasets"]["big"]["archives"][0].update(file="../x.zip"), "'../x.zip' is not a path"),
        (lambda c: c["datasets"]["big"]["archives"][0].update(url="ftp://x/y"), "is not an http or https address"),
        (lambda c: c["datasets"]["big"].update(archives={}), "expected a list"),
        (lambda c: c["datasets"]["tiny"]["copies"][0].update(files={"/etc/x": {"sha256": SHA}}), "'/etc/x' is not a p"),
        (lambda c: c["datasets"]["tiny"]["copies"][0].update(kind="svn"), "there is no host for the kind 'svn'"),
        (lambda c: c["datasets"]["tiny"]["copies"][0]["at"][0].pop("commit"), "tiny, copy 1: there is no commit"),
        (lambda c: c["datasets"]["tiny"].update(why="x"), "tiny needs one of"),
        (lambda c: c["datasets"]["none"].pop("why"), "none needs one of"),
        (lambda c: c["datasets"]["none"].update(collection="lost"), "there is no collection 'lost'"),
        (lambda c: c["datasets"].update(none=[1]), "none: expected names with values"),
        (lambda c: c.pop("hosts"), "there is no hosts"),
        (lambda c: c["collections"]["letor"].pop("terms"), "letor: there is no terms"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    content = entry()
    change(content)
    path = written(tmp_path, content)
    with pytest.raises(ReplirankError) as caught:
        read_sources(path)
    assert message in caught.value.what
    assert caught.value.path == path
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["a: [", "\xff", None])
def test_a_file_that_cannot_be_read(tmp_path, text):
    path = tmp_path / "sources.yaml"
    if text is not None:
        path.write_text(text, encoding="latin-1")
    with pytest.raises(ReplirankError, match="cannot be read") as caught:
        read_sources(path)
    assert caught.value.path == path


def test_our_own_list_has_every_file_of_every_data_set():
    sources = read_sources(OURS)
    assert set(sources) <= set(SPECS)
    letor = {"ohsumed", "mq2007", "mq2008", "td2003", "td2004", "hp2003", "np2003", "np2004"}
    for id in letor:
        assert list(sources[id].files) == FOLD1
        assert 1 <= len(sources[id].files["Fold1/train.txt"]) <= 4
    assert {id for id, source in sources.items() if source.archives} == {"mslr_web10k", "mslr_web30k"}
    assert {id for id, source in sources.items() if source.why} == {"hp2004", "mq2008_list"}
    assert all(source.page.startswith("https://www.microsoft.com/") for source in sources.values())
    copies = [file for s in sources.values() for found in (*s.files.values(), *s.archives.values()) for file in found]
    assert all(file.url.startswith("https://") for file in copies)
    assert len({file.url for file in copies}) == len(copies)


def pinned(pin: dict[str, str]) -> tuple[str, str, Checksum]:
    place = f"{pin['owner']}/{pin['repo']}/{pin['commit']}/{pin['path_or_url']}".removeprefix("///")
    # Where git has only a pointer (lfs), its blob hash is that of the pointer.
    blob = None if pin["kind"] == "lfs" else pin["git_blob_sha1"] or None
    checksum = Checksum(pin["sha256"] or None, blob, int(pin["size"]) if pin["size"] else None)
    return pin["dataset"].lower().replace("-", "_"), place, checksum


def test_our_own_hashes_are_those_of_the_survey():
    if not PINS.exists():
        pytest.skip(f"{PINS} is not at hand")
    with PINS.open(newline="") as file:
        known = {pinned(pin) for pin in csv.DictReader(file) if pin["sha256"] or pin["git_blob_sha1"]}
    for id, source in read_sources(OURS).items():
        for name, copies in source.files.items():
            for copy in copies:
                place = copy.url.split(".com/media/" if "/media/" in copy.url else ".com/")[1]
                assert (id, place, copy.checksum) in known, f"{id} {name} {copy.url}"
    archive, *_ = read_sources(OURS)["mslr_web10k"].archives["MSLR-WEB10K.zip"]
    assert ("mslr_web10k", archive.url, archive.checksum) in known
