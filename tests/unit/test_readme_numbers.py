"""README's numbers are those of the tables in docs/reference."""

from __future__ import annotations

import importlib.util

import pandas as pd
import pytest
from helpers import ROOT

spec = importlib.util.spec_from_file_location("readme_numbers", ROOT / "tools/readme_numbers.py")
readme_numbers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readme_numbers)

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", readme_numbers.BLOCKS)
def test_each_block_is_what_the_tool_makes(name):
    """Where this fails: python tools/readme_numbers.py"""
    said = README.partition(f"<!-- {name}:begin -->\n")[2].partition(f"<!-- {name}:end -->")[0]
    assert said.rstrip(" ") == readme_numbers.block(name) + "\n"


def test_the_blocks_are_renewed_and_nothing_else(monkeypatch):
    monkeypatch.setattr(readme_numbers, "BLOCKS", {"x": lambda: ["one two", "- " + "word " * 40]})
    text = "a\n  <!-- x:begin -->\n  old\n  <!-- x:end -->\nb\n"
    lines = readme_numbers.renewed(text).splitlines()
    assert lines[:3] == ["a", "  <!-- x:begin -->", "  one two"]
    assert lines[3].startswith("  - word")
    assert lines[4].startswith("    word")
    assert max(map(len, lines)) <= 120
    assert lines[-2:] == ["  <!-- x:end -->", "b"]
    assert readme_numbers.renewed("\n".join(lines)) == "\n".join(lines)


def test_a_missing_block_is_told():
    with pytest.raises(SystemExit, match="one block letor"):
        readme_numbers.renewed("nothing")


def test_cells_beyond_are_listed_by_method_with_their_signs():
    rows = [("A", "MAP", -0.0201, "yes"), ("B", "MAP", 0.1, "yes"), ("A", "NDCG@1", 0.016, "yes")]
    cells = pd.DataFrame(
        [*rows, ("B", "NDCG@1", 0.001, "no")], columns=["method", "metric", "difference", "beyond .015"]
    )
    assert readme_numbers.far(cells) == "A MAP -.0201, NDCG@1 +.0160; B MAP +.1000."
    assert readme_numbers.far(cells[3:]) == "none."
