"""The page of all results, read back by an HTML parser."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import jinja2
import pandas as pd
import pytest

from replirank.reporting.page import page
from replirank.reporting.tables import Table, write_json

# Elements that HTML never closes.
VOID = {"meta", "img"}
NASTY = "<b>\"1\" & '2' | {{ 3 }}</b>"
PNG = b"\x89PNG\r\n\x1a\n not really a picture"


class Reader(HTMLParser):
    """The text in each element, by tag; the attributes of each tag. Fails on tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.attributes: dict[str, list[dict[str, str]]] = {}
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag, attrs):
        self.attributes.setdefault(tag, []).append(dict(attrs))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]][-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def provenance(**origins: str) -> dict:
    return {"seed": 7, "commit": "abc", "data": {name: {"origin": origin} for name, origin in origins.items()}}


@pytest.fixture
def results(tmp_path):
    """Two papers with a table each, one of them with two figures."""
    frames = {"first": {"method": [NASTY, "plain"], "NDCG@5": [0.5, 0.25]}, "second": {NASTY: ["x"]}}
    for name, columns in frames.items():
        write_json(tmp_path / name / "t.json", Table(f"Table of {name} {NASTY}", pd.DataFrame(columns), notes=[NASTY]))
    for name in ("one", "two"):
        (tmp_path / "first" / f"{name}.png").write_bytes(PNG + name.encode())
    return {
        "papers": {
            "first": {
                "title": f"First {NASTY}",
                "about": NASTY,
            },
            "second": {"title": "Second"},
        },
        "tables": [tmp_path / "second" / "t.json", tmp_path / "first" / "t.json"],
        "figures": {tmp_path / "first" / "one.png": f"One {NASTY}", tmp_path / "first" / "two.png": "Two"},
        "provenance": provenance(mq2008="real"),
    }


def test_every_table_stands_under_its_paper_with_its_cells_and_notes(results):
    html = page(**results)
    seen = read(html)
    assert seen.texts["h2"] == [f"First {NASTY}", "Second"]
    assert seen.texts["th"] == ["method", "NDCG@5", NASTY]
    assert seen.texts["td"] == [NASTY, "0.5000", "plain", "0.2500", "x"]
    assert seen.texts["li"] == [NASTY, NASTY]
    assert [cell["class"] for cell in seen.attributes["td"]] == ["left", "right", "left", "right", "left"]
    assert [cell["class"] for cell in seen.attributes["th"]] == ["left", "right", "left"]
    assert len(seen.attributes["tr"]) == 2 + 3
    assert html.index("Table of first") < html.index("<h2>Second") < html.index("Table of second")


def test_what_could_be_taken_for_html_is_escaped(results):
    html = page(**results)
    assert "<b>" not in html  # the warning, which has one, is not on this page
    # Title and about of the paper; title, cell and note of its table; title and alt of its figure; of the other
    # table title, column and note.
    assert html.count("&lt;b&gt;&#34;1&#34; &amp; &#39;2&#39; | {{ 3 }}&lt;/b&gt;") == 2 + 3 + 2 + 3


def test_every_figure_is_in_the_page_itself_with_a_text_for_those_who_cannot_see_it(results):
    seen = read(page(**results))
    assert [image["alt"] for image in seen.attributes["img"]] == [f"One {NASTY}", "Two"]
    contents = [image["src"].removeprefix("data:image/png;base64,") for image in seen.attributes["img"]]
    assert [base64.b64decode(content, validate=True) for content in contents] == [PNG + b"one", PNG + b"two"]


def test_nothing_is_fetched_from_elsewhere(results):
    seen = read(page(**results))
    assert not {"link", "script", "iframe"} & seen.attributes.keys()
    sources = [value for tags in seen.attributes.values() for tag in tags for value in map(tag.get, ("src", "href"))]
    assert [source for source in sources if source and not source.startswith("data:")] == []
    assert "url(" not in seen.texts["style"][0]
    assert "@import" not in seen.texts["style"][0]


def test_simulated_data_is_warned_of_and_named(results):
    seen = read(page(**{**results, "provenance": provenance(mq2008="real", toy="simulated", web="simulated")}))
    assert [tag["class"] for tag in seen.attributes["p"] if tag] == ["warning"]
    assert seen.texts["b"] == ["SIMULATED data:"]
    assert any(text.lstrip().startswith("toy, web. The real data was not at hand") for text in seen.texts["p"])


@pytest.mark.parametrize("origin", ["real", "rebuilt", "artificial"])
def test_there_is_no_warning_where_nothing_is_simulated(results, origin):
    html = page(**{**results, "provenance": provenance(toy=origin)})
    assert "SIMULATED" not in html
    assert f"toy {origin}." in html


def test_seed_and_commit_are_named(results):
    first = read(page(**results)).texts["p"][0]
    assert " ".join(first.split()) == "Seed 7; code abc; data: mq2008 real. More in results/provenance.json."
    without = provenance(a="real", b="simulated") | {"commit": None}
    first = read(page(**{**results, "provenance": without})).texts["p"][0]
    assert " ".join(first.split()).startswith("Seed 7; code not a checkout; data: a real, b simulated. More")


def test_a_table_that_lacks_something_is_an_error_and_no_gap(results, tmp_path):
    (tmp_path / "first" / "t.json").write_text('{"title": "t", "columns": [], "alignments": [], "rows": []}')
    with pytest.raises(jinja2.UndefinedError, match="notes"):
        page(**results)
