"""tools/compare_results.py says what differs between two folders of results, and nothing else."""

from __future__ import annotations

import importlib.util

import pandas as pd
import pytest
from helpers import ROOT

spec = importlib.util.spec_from_file_location("compare_results", ROOT / "tools/compare_results.py")
compare_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_results)

TABLE = "data set,data,method,MAP\nOHSUMED,real,BM25,0.40\nOHSUMED,real,ListNet,0.45\nMQ2008,real,BM25,0.41\n"


@pytest.fixture
def compare(tmp_path, capsys):
    """A function of the text of one table before and after (None: not there): the exit code and the lines printed."""

    def run(before: str | None, after: str | None, name: str = "letor/all.csv") -> tuple[int, list[str]]:
        for side, text in (("a", before), ("b", after)):
            put(tmp_path / side / "same.csv", TABLE)
            if text is not None:
                put(tmp_path / side / name, text)
        code = compare_results.main([str(tmp_path / "a"), str(tmp_path / "b")])
        lines = capsys.readouterr().out.splitlines()
        assert "same: identical" in lines
        lines.remove("same: identical")
        return code, lines

    return run


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_identical(compare):
    assert compare(TABLE, TABLE) == (0, ["letor/all: identical"])


def test_a_cell_is_named_by_the_columns_that_tell_its_row_apart(compare):
    code, lines = compare(TABLE, TABLE.replace("0.45", "0.46"))
    assert code == 1
    assert lines == ["letor/all: differs", "  data set OHSUMED, method ListNet: MAP: 0.45 -> 0.46"]


def test_cells_are_compared_as_text(compare):
    code, lines = compare(TABLE, TABLE.replace("0.45", "0.450"))
    assert (code, lines[1:]) == (1, ["  data set OHSUMED, method ListNet: MAP: 0.45 -> 0.450"])


def test_data_that_became_real_is_a_change_of_cells_not_of_rows(compare):
    code, lines = compare(TABLE.replace("MQ2008,real", "MQ2008,simulated"), TABLE)
    assert (code, lines[1:]) == (1, ["  data set MQ2008, method BM25: data: simulated -> real"])


def test_added_rows_are_listed_and_no_fault(compare):
    code, lines = compare(TABLE, TABLE.replace("MQ2008", "OHSUMED,real,LambdaRank,0.46\nMQ2008"))
    assert (code, lines) == (0, ["letor/all: differs", "  row added: data set OHSUMED, method LambdaRank"])


def test_an_added_row_does_not_hide_a_cell_that_differs(compare):
    code, lines = compare(TABLE, TABLE.replace("0.41", "0.42") + "MQ2008,real,ListNet,0.47\n")
    assert code == 1
    assert lines[1:] == [
        "  data set MQ2008, method BM25: MAP: 0.41 -> 0.42",
        "  row added: data set MQ2008, method ListNet",
    ]


def test_removed_rows_are_a_fault(compare):
    code, lines = compare(TABLE, TABLE.replace("OHSUMED,real,BM25,0.40\n", ""))
    assert (code, lines[1:]) == (1, ["  row removed: data set OHSUMED, method BM25"])


def test_rows_in_another_order_are_a_fault(compare):
    head, *rows = TABLE.splitlines(keepends=True)
    code, lines = compare(TABLE, "".join([head, *reversed(rows)]))
    assert (code, lines[1:]) == (1, ["  rows that both have stand in another order"])


def test_columns_of_one_side_and_columns_in_another_order_are_a_fault(compare):
    code, lines = compare("a,b,c\n1,2,3\n", "a,c,b\n1,3,2\n")
    assert (code, lines[1:]) == (1, ["  columns stand in another order"])
    code, lines = compare("a,b,c\n1,2,3\n", "a,b,d\n1,2,3\n")
    assert (code, lines[1:]) == (1, ["  column only in A: c", "  column only in B: d"])
    code, lines = compare("a\n1\n", "b\n1\n")
    assert (code, lines[1:]) == (1, ["  column only in A: a", "  column only in B: b"])


def test_rows_that_nothing_tells_apart_are_counted(compare):
    assert compare("a,b\n1,2\n1,2\n", "a,b\n1,2\n1,2\n1,2\n")[0] == 0
    code, lines = compare("a,b\n1,2\n1,2\n", "a,b\n1,2\n")
    assert (code, lines[1:]) == (1, ["  row removed: a 1, b 2"])


def test_other_bytes_of_the_same_cells_are_a_fault(compare):
    code, lines = compare(TABLE, TABLE.replace("\n", "\r\n"))
    assert (code, lines[1:]) == (1, ["  the cells are the same, the bytes are not: quotes or line ends"])


def test_times_are_left_out(compare):
    assert compare("method,seconds\nBM25,1.0\n", "method,seconds\nBM25,2.0\n", "letor/table6_times.csv") == (0, [])
    code, lines = compare("method,seconds,MAP\nBM25,1.0,.4\n", "method,seconds,MAP\nBM25,2.0,.4\n")
    assert (code, lines) == (0, ["letor/all: identical"])


def test_tables_of_one_side(compare):
    assert compare(None, TABLE) == (0, ["letor/all: only in B"])


def test_a_table_that_is_gone_is_a_fault(compare):
    assert compare(TABLE, None) == (1, ["letor/all: only in A"])


def test_long_lists_are_cut(compare):
    rows = range(compare_results.MOST_LINES + 5)
    before, after = ("row,value\n" + "".join(f"{row},{sign}{row + 1}\n" for row in rows) for sign in ("", "-"))
    code, lines = compare(before, after)
    assert code == 1
    assert len(lines) == 1 + compare_results.MOST_LINES + 1
    assert lines[-1] == f"  ... {len(rows)} cells that differ in all"


def test_a_folder_without_tables_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        compare_results.main([str(tmp_path), str(tmp_path)])
    assert caught.value.code == 2
    assert "has no CSV tables" in capsys.readouterr().err


def test_scores_are_compared_as_numbers_whatever_the_format(tmp_path, capsys):
    scores = pd.DataFrame(
        {"fold": 1, "split": "test", "query": [7, 7, 8], "document": [1, 2, 1], "score": [0.1 + 0.2, 1e-17, 2.0]}
    )
    changed = scores.assign(score=scores["score"] + [0.25, 0, 0])
    for side in ("a", "b"):
        (tmp_path / side / "letor").mkdir(parents=True)
    scores.to_csv(tmp_path / "a/letor/bm25.csv", index=False)
    scores.iloc[[2, 0, 1]].to_parquet(tmp_path / "b/letor/bm25.parquet", index=False)
    arguments = [str(tmp_path / "a"), str(tmp_path / "b"), "--scores"]
    assert compare_results.main(arguments) == 0
    assert capsys.readouterr().out == "letor/bm25: identical\n"
    changed.iloc[:2].to_parquet(tmp_path / "b/letor/bm25.parquet", index=False)
    assert compare_results.main(arguments) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  1 documents only in A",
        "  1 of 2 scores differ, the most by 0.25",
    ]
