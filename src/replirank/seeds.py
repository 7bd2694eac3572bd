"""Every random choice has a seed, and every seed comes from the one in config.yaml."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: object) -> int:
    """A seed for the thing with these names: the same whatever else runs, and in whatever order.

    >>> derive(1, "ohsumed", "frank", 0) == derive(1, "ohsumed", "frank", 0) != derive(1, "ohsumed", "frank", 1)
    True
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
