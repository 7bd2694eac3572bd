"""One metric name, several definitions: a convention is a named object that every table states.

The same scores of least squares on MQ2008 have an NDCG@10 of .220 in letor4, .487 in burges and .677 in standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import Literal

import numpy as np

from replirank.errors import ReplirankError


@dataclass(frozen=True)
class Convention:
    """How NDCG, P and MAP are to be understood. Gains are 2^label - 1 in all; ties in the scores keep file order."""

    name: str
    description: str
    discount: Literal["letor", "log"]
    short_ndcg: Literal["zero", "available"]  # a list shorter than k, at NDCG@k: 0, or what there is
    short_precision: Literal["zero", "padded"]  # at P@k: 0, or the missing places count as irrelevant
    no_relevant: Literal["zero", "left out"]  # a query without a relevant document: 0 in the mean, or not in it

    def discounts(self, count: int) -> np.ndarray:
        """The weight of ranks 1..count."""
        ranks = np.arange(1, count + 1)
        if self.discount == "letor":  # LETOR's scripts discount from rank 3 on
            return 1 / np.log2(np.maximum(ranks, 2))
        return 1 / np.log2(1 + ranks)


CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        convention.name: convention
        for convention in (
            Convention(
                "letor3",
                "LETOR 3.0's evaluator: ranks 1 and 2 undiscounted, then 1/log2(rank); a list shorter than k scores 0 "
                "at NDCG@k and P@k; a query without relevant documents scores 0",
                discount="letor",
                short_ndcg="zero",
                short_precision="zero",
                no_relevant="zero",
            ),
            Convention(
                "letor4",
                "LETOR 4.0's evaluator: as letor3, but P@k counts the missing places of a short list as irrelevant",
                discount="letor",
                short_ndcg="zero",
                short_precision="padded",
                no_relevant="zero",
            ),
            Convention(
                "burges",
                "ranknet2005, Eq. 16: discount log(1 + rank), a short list uses what it has; a query without relevant "
                "documents scores 0",
                discount="log",
                short_ndcg="available",
                short_precision="padded",
                no_relevant="zero",
            ),
            Convention(
                "standard",
                "discount log(1 + rank), a short list uses what it has; queries without relevant documents are left "
                "out",
                discount="log",
                short_ndcg="available",
                short_precision="padded",
                no_relevant="left out",
            ),
        )
    }
)


def convention(name: str, *, path: str | PathLike | None = None) -> Convention:
    """The convention of this name. `path` is the file in which the name stands, for the message."""
    try:
        return CONVENTIONS[name]
    except KeyError:
        raise ReplirankError(
            f"unknown convention {name!r}", path=path, remedy=f"choose one of {', '.join(CONVENTIONS)}"
        ) from None
