"""Which data is at hand and which can be had; and fetching what is not, from a server on this machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from helpers import ROOT
from loopback import closed_port, publish, redirected, serving

from replirank.data.prepare import prepare
from replirank.data.sources import Source, read_sources
from replirank.data.specs import SPECS, Spec
from replirank.data.stock import FETCHED, Stock, fetch_all


def rows(*queries: int) -> bytes:
    """Three documents for each query."""
    return b"".join(b"%d qid:%d 1:%.1f 2:%.1f\n" % (k % 2, q, k / 2, 1 - k / 2) for q in queries for k in range(3))


# Five queries in Fold1, which has all of the five parts.
FILES = {"Fold1/train.txt": rows(1, 2, 3), "Fold1/vali.txt": rows(4), "Fold1/test.txt": rows(5)}
TINY = Spec(
    "tiny", "Tiny", features=2, levels=(0, 1), names=("TINY",), queries=5, documents=15, part_queries=(1, 1, 1, 1, 1)
)
# Six queries are known, and every copy has five.
LARGER = replace(TINY, id="larger", title="Larger", names=("LARGER",), queries=6)
THIRD = replace(TINY, id="third", title="Third", names=("THIRD",))
NOWHERE = replace(TINY, id="nowhere", title="Nowhere", names=("NOWHERE-set",))
MADE = Spec("made", "Made", features=2, made=True, note="never published")
VERSION = replace(TINY, id="tiny_3", title="Tiny in 3 folds", files_of="tiny", folds=3, cut_anew=True)
TINY_SPECS = {spec.id: spec for spec in (TINY, LARGER, THIRD, NOWHERE, MADE, VERSION)}
NO_COPY = Source("nowhere", "https://example.org/nowhere", "for research use", why="no public copy is known")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project without data, and no data elsewhere."""
    monkeypatch.delenv("LETOR_HOME", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def sources(server, tmp_path):
    """Copies of three data sets, which are three equal files each."""
    path = publish(server, tmp_path / "sources.yaml", {name: [FILES] for name in ("tiny", "larger", "third")})
    return {**read_sources(path), "nowhere": NO_COPY}


@pytest.fixture
def stock(sources, root):
    return Stock(TINY_SPECS, sources, root)


def put(folder, files=FILES):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def contents(folder) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_data_in_the_projects_folder_is_found(root, sources):
    folder = put(root / "data/TINY")
    stock = Stock(TINY_SPECS, sources, root)
    assert stock.source("tiny") == folder
    assert stock.source("third") is None
    assert stock.status("tiny") == f"found: {folder}"


def test_another_version_of_a_data_set_has_its_files(root, sources):
    folder = put(root / "data/TINY")
    stock = Stock(TINY_SPECS, sources, root)
    assert (stock.files_of("tiny_3"), stock.source("tiny_3"), stock.folder("tiny_3")) == ("tiny", folder, folder)
    assert stock.public_copy("tiny_3") is sources["tiny"]


def test_a_path_for_a_data_set_holds_for_its_other_versions(root, sources):
    """config.yaml says where td2003 lies: td2003_4 has no other files."""
    elsewhere = put(root / "elsewhere")
    specs = {**TINY_SPECS, "tiny": replace(TINY, path=elsewhere)}
    stock = Stock(specs, sources, root)
    assert (stock.source("tiny"), stock.source("tiny_3"), stock.source("third")) == (elsewhere, elsewhere, None)


def test_without_looking_only_own_data_is_at_hand(root, sources):
    put(root / "data/TINY")
    mine = put(root / "elsewhere")
    specs = {**TINY_SPECS, "mine": Spec("mine", "Mine", features=None, path=mine)}
    stock = Stock(specs, sources, root, look=False)
    assert (stock.source("tiny"), stock.source("mine")) == (None, mine)
    assert Stock(specs, sources, root).source("tiny") == root / "data/TINY"
    assert stock.public_copy("mine") is None


def test_what_arrives_is_seen_only_after_looking_again(root, stock):
    """Where there was no folder data at first, too."""
    assert stock.source("tiny") is None
    assert not (root / "data").exists()
    put(root / "data/TINY")
    assert stock.source("tiny") is None
    stock.look_again()
    assert stock.source("tiny") == root / "data/TINY"


def test_what_can_be_fetched_says_how_much_from_where_and_into_which_folder(stock, root):
    assert stock.plan("tiny") == "Tiny: 3 files from github.com/owner1/tiny, into data/TINY"
    assert stock.folder("tiny") == root / "data/TINY"
    assert stock.status("tiny") == "can be fetched: 3 files from github.com/owner1/tiny"
    assert stock.remedy("tiny") == (
        "where there is a network, `replirank fetch tiny` fetches it (3 files from github.com/owner1/tiny); "
        "or get it from https://example.org/letor and unpack a copy into data/TINY"
    )
    # The files are those of the data set that it is a version of.
    assert "`replirank fetch tiny`" in stock.remedy("tiny_3")
    assert stock.plan("tiny_3") == "Tiny in 3 folds: 3 files from github.com/owner1/tiny, into data/TINY"


def test_what_cannot_be_fetched_says_where_its_makers_offer_it(stock, root, sources):
    assert stock.public_copy("nowhere") is None
    by_hand = "get it from https://example.org/nowhere and unpack a copy into data/NOWHERE-set"
    assert stock.remedy("nowhere") == f"no public copy is known: {by_hand}"
    assert stock.status("nowhere") == f"to be got by hand: no public copy is known: {by_hand}"
    unlisted = Stock(TINY_SPECS, {}, root)
    assert unlisted.remedy("nowhere") == "no public copy is known: unpack a copy into data/NOWHERE-set"


def test_what_is_made_here_is_never_looked_for(stock, root):
    put(root / "data/made")
    stock.look_again()
    assert stock.source("made") is None
    assert stock.public_copy("made") is None
    assert stock.status("made") == "made here: never published"
    assert stock.remedy("made") == "it was never published"


def test_every_known_data_set_has_a_status(root):
    stock = Stock(SPECS, read_sources(ROOT / "workflow/sources.yaml"), root)
    assert stock.files_of("td2003_4") == stock.files_of("td2003_4_14") == "td2003"
    assert stock.files_of("td2003") == "td2003"
    assert stock.folder("td2003_4") == root / "data/TD2003"
    megabytes = (4_541_288 + 1_743_137 + 1_667_895) / 1e6
    expected = f"OHSUMED: 3 files, {megabytes:.1f} MB, from github.com/JasonWyse/libfm_ranksvm, into data/OHSUMED"
    assert stock.plan("ohsumed") == expected
    begins = {name: stock.status(name).partition(":")[0] for name in SPECS}
    absent = {"hp2004", "np2004_30", "mq2008_list"}
    made = {"artificial_net", "artificial_poly", "web", "aol"}
    assert {name for name, start in begins.items() if start == "to be got by hand"} == absent
    assert {name for name, start in begins.items() if start == "made here"} == made
    assert {start for name, start in begins.items() if name not in absent | made} == {"can be fetched"}
    assert "https://www.microsoft.com" in stock.status("hp2004")


def test_one_is_fetched_one_refused_by_its_shape_and_one_has_no_copy(stock, root, server):
    said: list[str] = []
    outcomes = fetch_all(stock, ["tiny", "larger", "nowhere"], said.append)
    assert list(outcomes) == ["tiny", "larger", "nowhere"]
    assert outcomes["tiny"] == FETCHED
    assert contents(root / "data/TINY") == FILES
    refused = "what arrived from github.com/owner1/larger is not larger: Larger: 5 queries, expected 6"
    assert refused in outcomes["larger"]
    assert "https://example.org/letor" in outcomes["larger"]
    assert "Nowhere cannot be fetched" in outcomes["nowhere"]
    assert "https://example.org/nowhere" in outcomes["nowhere"]
    assert [path.name for path in (root / "data").iterdir()] == ["TINY"]
    # Each failure is said, with its remedy, and the terms once for all.
    assert sum(refused in line for line in said) == 1
    assert sum("Nowhere cannot be fetched" in line and "remedy:" in line for line in said) == 1
    assert said.count("for research use (https://example.org/letor)") == 1
    assert len(server.paths) == 6
    assert json.loads(json.dumps(outcomes)) == outcomes


def test_what_was_fetched_is_at_hand_and_is_the_data_set(stock, root):
    fetch_all(stock, ["tiny"], lambda line: None)
    assert stock.source("tiny") == root / "data/TINY"
    dataset, card = prepare(TINY, source=stock.source("tiny"), report=lambda line: None)
    assert (card["origin"], dataset.data.query_ids.tolist()) == ("real", [1, 2, 3, 4, 5])
    # Fold k has part k+4 for test, counted in a circle.
    assert [fold.test.tolist() for fold in dataset.folds] == [[4], [0], [1], [2], [3]]


def test_what_is_there_is_not_fetched_again(root, sources, server):
    folder = put(root / "data/TINY")
    said: list[str] = []
    assert fetch_all(Stock(TINY_SPECS, sources, root), ["tiny", "tiny_3"], said.append) == {
        "tiny": FETCHED,
        "tiny_3": FETCHED,
    }
    assert said == [f"Tiny is there: {folder}", f"Tiny in 3 folds is there: {folder}"]
    assert server.connections == 0


def test_two_versions_of_a_data_set_are_fetched_once(stock, root, server):
    said: list[str] = []
    assert fetch_all(stock, ["tiny_3", "tiny"], said.append) == {"tiny_3": FETCHED, "tiny": FETCHED}
    assert len(server.paths) == 3
    assert said[-1] == f"Tiny is there: {root / 'data/TINY'}"


def test_without_network_that_is_said_once_for_three_data_sets(root, sources, server, tmp_path):
    path = redirected(tmp_path / "sources.yaml", f"http://127.0.0.1:{closed_port()}", tmp_path / "offline.yaml")
    said: list[str] = []
    outcomes = fetch_all(Stock(TINY_SPECS, read_sources(path), root), ["tiny", "larger", "third"], said.append)
    why = "127.0.0.1 cannot be reached (Connection refused)"
    assert [line for line in said if "no network" in line] == [f"no network: {why}; going on with what is at hand"]
    assert sum("fetching" in line for line in said) == 1
    for name in ("tiny", "larger", "third"):
        assert outcomes[name].startswith(f"{name} is not fetched: no network ({why})"), name
    assert server.connections == 0
    assert not (root / "data").exists()
