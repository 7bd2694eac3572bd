"""OAP-BPM (Harrington 2003), ranknet2005's "large margin PRank": the average of PRanks that each see part of the data.

Each perceptron sees a document with probability tau, by a coin of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from replirank.methods.families.online import Online


@dataclass(frozen=True)
class OAPBPM(Online):
    perceptrons: int = 100
    tau: float = 0.3

    title = "OAP-BPM"
    # As in ranknet2005, section 6.2, which does not say between which numbers of perceptrons it chose.
    grid = {"tau": (0.3, 0.5, 0.7), "perceptrons": (10, 30, 100)}
