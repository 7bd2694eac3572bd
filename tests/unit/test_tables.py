"""Tables in three forms, and the page made from them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from replirank.reporting.page import page
from replirank.reporting.tables import Table, markdown, write_csv, write_latex

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
        "| method |  n | NDCG@5 |    diff |\n"
        "|--------|---:|-------:|--------:|\n"
        "| a\\|b   |  1 | 0.5123 | -0.1000 |\n"
        "| c      | 20 |      – | +0.1000 |\n"
        "\n"
        "- 50% of <all>\n"
    )


def test_latex_escapes_what_latex_would_choke_on(tmp_path):
    write_latex(tmp_path / "t.tex", TABLE)
    text = (tmp_path / "t.tex").read_text()
    assert r"\caption{Loss \& gain\_1}" in text
    assert r"\begin{tabular}{lrrr}" in text
    assert r"c & 20 & -- & +0.1000 \\" in text
    assert r"50\% of \textless{}all\textgreater{}" in text


def test_csv_keeps_ten_digits_and_leaves_missing_empty(tmp_path):
    write_csv(tmp_path / "t.csv", Table("t", pd.DataFrame({"x": [1 / 3, np.nan], "y": [2, 3]})))
    assert (tmp_path / "t.csv").read_text() == "x,y\n0.3333333333,2\n,3\n"


def test_a_small_p_is_not_zero():
    table = Table("t", pd.DataFrame({"t-test p": [0.00001, 0.2], "x": [0.00001, 0.0]}))
    assert table.cells(missing="") == [["<0.0001", "0.0000"], ["0.2000", "0.0000"]]


def test_a_table_without_rows_still_has_its_head():
    assert markdown(Table("None", pd.DataFrame(columns=["a", "b"]))) == "# None\n\n| a | b |\n|---|---|\n"


def test_the_page_has_the_tables_cells_and_warns_of_simulated_data(tmp_path):
    (tmp_path / "t.md").write_text(markdown(TABLE))
    paper = {"id": "p", "title": "A <paper>", "figures": {}}
    data = {"toy": {"origin": "simulated"}}
    text = page([paper], {"p": [tmp_path / "t.md"]}, {"p": []}, {"data": data, "seed": 1, "commit": None})
    assert "<h2>A &lt;paper&gt;</h2>" in text
    assert "<td>a|b</td><td>1</td><td>0.5123</td><td>-0.1000</td>" in text
    assert "<b>SIMULATED data:</b> toy" in text
    real = page([paper], {"p": []}, {"p": []}, {"data": {"toy": {"origin": "real"}}, "seed": 1, "commit": "c"})
    assert "SIMULATED" not in real


def test_percents_have_one_decimal():
    table = Table("t", pd.DataFrame({"NDCG@1": [0.25], "change %": [33.33333]}), signed=["change %"])
    assert table.cells("–") == [["0.2500", "+33.3"]]
