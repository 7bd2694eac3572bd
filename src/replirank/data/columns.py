"""Which feature means what, for the features that a method or a table asks for by name.

LETOR numbers its features from 1, and so do the tables below; in memory columns count from 0.
"""

from __future__ import annotations

from collections.abc import Mapping


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


# frank2007's 14 features, as near as LETOR's 64 come to them, by LETOR's numbers; papers/frank2007 says what they are.
FRANK_FEATURES = {
    "BM25": (25,),
    "MSRA1000": (61,),
    "PageRank": (51,),
    "HostRank": (52,),
    "Relevance Propagation": (*range(41, 49), 53, 54),
}
FRANK_COLUMNS = tuple(number - 1 for numbers in FRANK_FEATURES.values() for number in numbers)

# The .Gov sets' rankers on the whole document, by LETOR's numbers.
RANKERS = {25: "BM25", 30: "LMIR.ABS", 35: "LMIR.DIR", 40: "LMIR.JM"}
WHOLE_DOCUMENT = tuple(RANKERS)
