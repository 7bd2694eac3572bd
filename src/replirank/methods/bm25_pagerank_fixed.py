"""frank2007's own combination, 0.8 BM25 + 0.2 PageRank: beside the one that validation chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replirank.methods.bm25_pagerank import BM25PageRank


@dataclass(frozen=True)
class BM25PageRankFixed(BM25PageRank):
    title = "BM25 + PageRank, .8/.2"
    grid: ClassVar = {}
