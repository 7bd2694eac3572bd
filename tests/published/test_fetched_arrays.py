"""What is fetched is, to the byte, what the archives of the same data sets hold. The server is on this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

import numpy as np
import pytest
from helpers import ROOT
from loopback import publish, redirected, serve, serving

from replirank.data.arrays import Dataset, Fold
from replirank.data.layouts import find_layout
from replirank.data.prepare import prepare
from replirank.data.sources import read_sources
from replirank.data.specs import SPECS, spec
from replirank.data.stock import FETCHED, Stock, fetch_all
from replirank.data.unpack import unpack


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def unpacked(real_data, tmp_path_factory):
    """A function that unpacks a data set's archive once and finds its files."""
    found = {}

    def layout(name):
        if name not in found:
            source = real_data(name)
            folder = source if source.is_dir() else unpack(source, tmp_path_factory.mktemp(name) / "unpacked")
            found[name] = find_layout(folder, spec(name).names)
        return found[name]

    return layout


def fetch_from(sources_yaml, name, root, monkeypatch):
    """Fetch into a project without data; the folder that the data set is found in then."""
    monkeypatch.delenv("LETOR_HOME", raising=False)
    stock = Stock(SPECS, read_sources(sources_yaml), root)
    assert stock.source(name) is None
    said: list[str] = []
    assert fetch_all(stock, [name], said.append) == {name: FETCHED}, "\n".join(said)
    assert stock.source(name) == root / "data" / spec(name).names[0]
    return stock.source(name)


def assert_same_bytes(one: Dataset, other: Dataset) -> None:
    for array in ("features", "labels", "offsets", "query_ids"):
        mine, theirs = getattr(one.data, array), getattr(other.data, array)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), array
        assert mine.tobytes() == theirs.tobytes(), array
    assert one.data.columns == other.data.columns
    assert len(one.folds) == len(other.folds)
    for mine, theirs in zip(one.folds, other.folds, strict=True):
        for split in Fold._fields:
            assert getattr(mine, split).tobytes() == getattr(theirs, split).tobytes(), split


def quietly_prepared(name, source):
    return prepare(spec(name), source=source, report=lambda text: None)


@pytest.mark.parametrize("line_ends", ["LF", "CRLF"])
@pytest.mark.parametrize("name", ["ohsumed", "mq2008"])
def test_copies_with_the_listed_hashes_give_the_archives_arrays(
    real_data, unpacked, server, tmp_path, monkeypatch, name, line_ends
):
    """The hashes are those of workflow/sources.yaml. Its first copies have LF, the last one CRLF."""
    listed = redirected(ROOT / "workflow/sources.yaml", server.url(), tmp_path / "sources.yaml")
    first = unpacked(name).folds[0]
    for target, copies in read_sources(listed)[name].files.items():
        content = getattr(first, target.removeprefix("Fold1/").removesuffix(".txt")).read_bytes().replace(b"\r", b"")
        if line_ends == "CRLF":
            content = content.replace(b"\n", b"\r\n")
        copy = copies[0 if line_ends == "LF" else -1]
        assert copy.checksum.size == len(content)
        server.routes[urlsplit(copy.url).path] = [serve(content)]
    assert len(server.routes) == 3
    fetched = quietly_prepared(name, fetch_from(listed, name, tmp_path / "project", monkeypatch))
    archive = quietly_prepared(name, real_data(name))
    assert_same_bytes(fetched.dataset, archive.dataset)
    assert fetched.dataset.data.document_ids.tobytes() == archive.dataset.data.document_ids.tobytes()
    assert (fetched.card["origin"], fetched.card["original_bytes"]) == ("real", True)


def test_td2003s_first_fold_gives_the_arrays_of_its_five_parts(real_data, unpacked, server, tmp_path, monkeypatch):
    parts = [path.read_bytes() for path in unpacked("td2003").parts]
    if not parts:
        pytest.skip("TD2003 is at hand in folds, not as the parts S1..S5")
    fold1 = {
        "Fold1/train.txt": b"".join(parts[:3]),
        "Fold1/vali.txt": parts[3],
        "Fold1/test.txt": parts[4],
    }
    sources = publish(server, tmp_path / "sources.yaml", {"td2003": [fold1]})
    folder = fetch_from(sources, "td2003", tmp_path / "project", monkeypatch)
    # Two papers use the same files: in LETOR's five folds, and in four.
    for name, folds in (("td2003", 5), ("td2003_4", 4), ("td2003_4_14", 4)):
        fetched = quietly_prepared(name, folder).dataset
        assert_same_bytes(fetched, quietly_prepared(name, real_data("td2003")).dataset)
        assert len(fetched.folds) == folds
    assert np.concatenate(quietly_prepared("td2003", folder).dataset.folds[0]).tolist() == [*range(50)]
