"""The one exception that people are meant to read."""

from __future__ import annotations

from os import PathLike


class ReplirankError(Exception):
    """Bad input: what is wrong, where (file and line), and what to do about it.

    >>> print(ReplirankError("feature 7 appears twice", path="train.txt", line=3, remedy="keep one of them"))
    train.txt:3: feature 7 appears twice
      remedy: keep one of them
    """

    def __init__(
        self,
        what: str,
        *,
        path: str | PathLike | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ):
        self.what, self.path, self.line, self.remedy = what, path, line, remedy
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        advice = "" if remedy is None else f"\n  remedy: {remedy}"
        super().__init__(f"{place}{what}{advice}")
