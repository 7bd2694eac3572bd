"""A table as CSV for programs, Markdown for the screen and LaTeX for papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike

import pandas as pd

from replirank.atomic import write_text


@dataclass(frozen=True)
class Table:
    title: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()
    decimals: int = 4  # but 1 in columns of percent
    signed: Sequence[str] = field(default_factory=tuple)  # columns whose sign matters: differences

    def cells(self, missing: str) -> list[list[str]]:
        return [
            [self._show(value, column, missing) for column, value in zip(self.frame.columns, row, strict=True)]
            for row in self.frame.itertuples(index=False)
        ]

    def _show(self, value: object, column: str, missing: str) -> str:
        if value is None or (not isinstance(value, str) and pd.isna(value)):
            return missing
        if isinstance(value, float):
            decimals = 1 if column.endswith(" %") else self.decimals
            least = 10.0**-decimals
            if column.endswith(" p") and value < least:  # a small p is not 0
                return f"<{least:.{decimals}f}"
            return f"{value:{'+' if column in self.signed else ''}.{decimals}f}"
        return str(value)


def write_csv(path: str | PathLike, table: Table) -> None:
    """Ten significant digits: enough for any use, few enough to be the same on every machine."""
    write_text(path, table.frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def write_markdown(path: str | PathLike, table: Table) -> None:
    write_text(path, markdown(table))


def markdown(table: Table) -> str:
    """Columns padded to one width, so that the source reads as a table too."""
    rows = [list(map(str, table.frame.columns)), *table.cells(missing="–")]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numeric = [pd.api.types.is_numeric_dtype(table.frame[column]) for column in table.frame.columns]
    lines = [
        "| "
        + " | ".join(
            f"{cell:>{width}}" if right else f"{cell:<{width}}"
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        + " |"
        for row in rows
    ]
    rule = (
        "|" + "|".join("-" * (w + 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True)) + "|"
    )
    notes = [f"- {note}" for note in table.notes]
    return "\n".join([f"# {table.title}", "", lines[0], rule, *lines[1:], "", *notes]).rstrip("\n") + "\n"


_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)


def write_latex(path: str | PathLike, table: Table) -> None:
    """For \\input in a paper; needs the package booktabs."""
    numeric = [pd.api.types.is_numeric_dtype(table.frame[column]) for column in table.frame.columns]
    head = " & ".join(str(column).translate(_LATEX) for column in table.frame.columns)
    body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in table.cells(missing="--")]
    notes = [rf"\par\footnotesize {note.translate(_LATEX)}" for note in table.notes]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.title.translate(_LATEX)}}}",
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        head + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]
    write_text(path, "\n".join(lines) + "\n")
