"""Tables in four forms."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from replirank.reporting.tables import Table, markdown, write_csv, write_json, write_latex

TABLE = Table(
    "Loss & gain_1",
    pd.DataFrame({"method": ["a|b", "c"], "n": [1, 20], "NDCG@5": [0.51234, np.nan], "diff": [-0.1, 0.1]}),
    notes=["50% of <all>"],
    signed=["diff"],
)


def test_markdown_is_aligned_signed_and_escaped():
    assert markdown(TABLE) == (
        "# Loss & gain_1\n"
        "\n"
        "| method   |   n |   NDCG@5 |    diff |\n"
        "|:---------|----:|---------:|--------:|\n"
        "| a\\|b     |   1 |   0.5123 | -0.1000 |\n"
        "| c        |  20 |        – | +0.1000 |\n"
        "\n"
        "- 50% of <all>\n"
    )


def test_markdown_keeps_numbers_as_they_are_written():
    # tabulate would read these texts as numbers and write them as 1e5 and 10.
    table = Table("t", pd.DataFrame({"value": ["100000", "010"]}))
    assert markdown(table).splitlines()[-2:] == ["| 100000  |", "| 010     |"]


def test_latex_is_a_booktabs_table_with_every_special_character_escaped(tmp_path):
    write_latex(tmp_path / "t.tex", TABLE)
    assert (tmp_path / "t.tex").read_text() == (
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{Loss \\& gain\\_1}\n"
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        "method & n & NDCG@5 & diff \\\\\n"
        "\\midrule\n"
        "a|b & 1 & 0.5123 & -0.1000 \\\\\n"
        "c & 20 & -- & +0.1000 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par\\footnotesize 50\\% of \\textless{}all\\textgreater{}\n"
        "\\end{table}\n"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("R&D", r"R\&D"),
        ("$5 #1 {x}", r"\$5 \#1 \{x\}"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
        ("a\\b", r"a\textbackslash{}b"),
        ("<0.0001", r"\textless{}0.0001"),
    ],
)
def test_latex_escapes_cells_and_column_names(tmp_path, text, escaped):
    write_latex(tmp_path / "t.tex", Table("t", pd.DataFrame({text: [text]})))
    assert rf"{escaped} \\" + "\n\\midrule\n" + rf"{escaped} \\" in (tmp_path / "t.tex").read_text()


def test_latex_without_rows_still_declares_its_columns(tmp_path):
    write_latex(tmp_path / "t.tex", Table("None", pd.DataFrame({"a": pd.Series(dtype=str), "b": pd.Series(dtype=int)})))
    assert "\\begin{tabular}{lr}\n\\toprule\na & b \\\\\n\\midrule\n\\bottomrule\n" in (tmp_path / "t.tex").read_text()


def test_json_has_the_cells_as_they_are_shown(tmp_path):
    write_json(tmp_path / "t.json", TABLE)
    assert json.loads((tmp_path / "t.json").read_text()) == {
        "title": "Loss & gain_1",
        "columns": ["method", "n", "NDCG@5", "diff"],
        "alignments": ["left", "right", "right", "right"],
        "rows": [["a|b", "1", "0.5123", "-0.1000"], ["c", "20", "–", "+0.1000"]],
        "notes": ["50% of <all>"],
    }


def test_csv_keeps_ten_digits_and_leaves_missing_empty(tmp_path):
    write_csv(tmp_path / "t.csv", Table("t", pd.DataFrame({"x": [1 / 3, np.nan], "y": [2, 3]})))
    assert (tmp_path / "t.csv").read_text() == "x,y\n0.3333333333,2\n,3\n"


def test_a_small_p_is_not_zero():
    table = Table("t", pd.DataFrame({"t-test p": [0.00001, 0.2], "x": [0.00001, 0.0]}))
    assert table.cells(missing="") == [["<0.0001", "0.0000"], ["0.2000", "0.0000"]]


def test_a_table_without_rows_still_has_its_head():
    assert markdown(Table("None", pd.DataFrame(columns=["a", "b"]))) == "# None\n\n| a   | b   |\n|-----|-----|\n"


def test_percents_have_one_decimal():
    table = Table("t", pd.DataFrame({"NDCG@1": [0.25], "change %": [33.33333]}), signed=["change %"])
    assert table.cells("–") == [["0.2500", "+33.3"]]
