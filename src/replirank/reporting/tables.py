"""A table as CSV for programs, Markdown for the screen, LaTeX for papers and JSON for the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike

import pandas as pd
from tabulate import tabulate

from replirank.atomic import write_text


@dataclass(frozen=True)
class Table:
    title: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()
    decimals: int = 4  # but 1 in columns of percent
    signed: Sequence[str] = field(default_factory=tuple)  # columns whose sign matters: differences

    def cells(self, missing: str) -> list[list[str]]:
        """The rows as text, with `missing` where there is no value."""
        return [
            [self._format(value, column, missing) for column, value in zip(self.frame.columns, row, strict=True)]
            for row in self.frame.itertuples(index=False)
        ]

    def alignments(self) -> list[str]:
        """For each column: "right" for numbers, else "left"."""
        return ["right" if pd.api.types.is_numeric_dtype(dtype) else "left" for dtype in self.frame.dtypes]

    def _format(self, value: object, column: str, missing: str) -> str:
        if value is None or (not isinstance(value, str) and pd.isna(value)):
            return missing
        if isinstance(value, float):
            decimals = 1 if column.endswith(" %") else self.decimals
            smallest = 10.0**-decimals
            if column.endswith(" p") and value < smallest:  # a small p is not 0
                return f"<{smallest:.{decimals}f}"
            return f"{value:{'+' if column in self.signed else ''}.{decimals}f}"
        return str(value)


def write_csv(path: str | PathLike, table: Table) -> None:
    """Ten significant digits: enough for any use, few enough to be the same on every machine."""
    write_text(path, table.frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def write_json(path: str | PathLike, table: Table) -> None:
    """The table as readers see it, for the page: every cell is the text to show."""
    shown = {
        "title": table.title,
        "columns": list(table.frame.columns),
        "alignments": table.alignments(),
        "rows": table.cells(missing="–"),
        "notes": list(table.notes),
    }
    write_text(path, json.dumps(shown, ensure_ascii=False, indent=1) + "\n")


def write_markdown(path: str | PathLike, table: Table) -> None:
    write_text(path, markdown(table))


def markdown(table: Table) -> str:
    # tabulate does not escape the character that separates the columns.
    header, *rows = [
        [cell.replace("|", "\\|") for cell in row] for row in [table.frame.columns, *table.cells(missing="–")]
    ]
    # Without disable_numparse tabulate would format the numbers once more, and drop the plus signs.
    grid = tabulate(rows, header, tablefmt="pipe", colalign=table.alignments(), disable_numparse=True)
    notes = [f"- {note}" for note in table.notes]
    return "\n".join([f"# {table.title}", "", grid, "", *notes]).rstrip("\n") + "\n"


# pandas can escape cells, but neither captions nor < and >, which TeX's default font encoding prints as ¡ and ¿.
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
    columns = [column.translate(_LATEX) for column in table.frame.columns]
    rows = [[cell.translate(_LATEX) for cell in row] for row in table.cells(missing="--")]
    tabular = pd.DataFrame(rows, columns=columns).to_latex(
        index=False, escape=False, column_format="".join(side[0] for side in table.alignments())
    )
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.title.translate(_LATEX)}}}",
        tabular.rstrip("\n"),
        *[rf"\par\footnotesize {note.translate(_LATEX)}" for note in table.notes],
        r"\end{table}",
    ]
    write_text(path, "\n".join(lines) + "\n")
