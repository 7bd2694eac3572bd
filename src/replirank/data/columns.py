"""Which feature means what, for the features that a method or a table asks for by name.

LETOR numbers its features from 1, and so do the tables below; in memory columns count from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


def columns(**numbers: int) -> Mapping[str, int]:
    """LETOR's feature numbers as columns in memory.

    >>> columns(bm25=25)
    {'bm25': 24}
    """
    return {name: number - 1 for name, number in numbers.items()}


# bm25 is that of the whole document, bm25_<field> that of one field.
FIRST_TWO = columns(bm25=1, pagerank=2)
OHSUMED = columns(bm25=41)
GOV = columns(bm25=25, bm25_body=21, bm25_anchor=22, bm25_title=23, bm25_url=24, pagerank=51)
LETOR4 = columns(bm25=37, bm25_body=21, bm25_anchor=25, bm25_title=29, bm25_url=33, pagerank=41)
MSLR = columns(bm25=110, pagerank=130)


class Chosen(NamedTuple):
    """Some of frank2007's 14 features, and the features of LETOR's 64 (numbered from 1) that stand for them."""

    feature: str
    numbers: tuple[int, ...]
    what: str
    same: str  # whether these are the paper's


FRANK_FEATURES = (
    Chosen("BM25", (25,), "BM25 of the whole document", "yes"),
    Chosen(
        "MSRA1000", (61,), "BM25 of the extracted title", "no: the score of MSRA's TREC 2004 system is not in LETOR"
    ),
    Chosen("PageRank", (51,), "PageRank", "yes"),
    Chosen("HostRank", (52,), "HostRank", "yes"),
    Chosen(
        "Relevance Propagation",
        (*range(41, 49), 53, 54),
        "two by sitemap, six by hyperlinks; topical PageRank, topical HITS authority",
        "eight of ten; the last two spread topics over links, and take the place of what LETOR does not have",
    ),
)
FRANK_COLUMNS = tuple(number - 1 for chosen in FRANK_FEATURES for number in chosen.numbers)
