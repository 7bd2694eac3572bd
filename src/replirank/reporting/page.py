"""All tables and figures on one self-contained page, which needs no network and no server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2

TEMPLATE = Path(__file__).with_name("page.html.jinja")


def page(
    papers: Mapping[str, Mapping[str, Any]],
    tables: Iterable[Path],
    figures: Mapping[Path, str],
    provenance: Mapping[str, Any],
) -> str:
    """The HTML of the page.

    `papers` maps each paper's name to what its paper.yaml says. `tables` (JSON, by tables.write_json) and `figures`
    (PNG, with their titles) are files in a folder of their paper's name.
    """
    sections = {name: {**paper, "tables": [], "figures": []} for name, paper in papers.items()}
    for path in tables:
        sections[path.parent.name]["tables"].append(json.loads(path.read_text(encoding="utf-8")))
    for path, title in figures.items():
        png = base64.b64encode(path.read_bytes()).decode()
        sections[path.parent.name]["figures"].append({"title": title, "png": png})
    simulated = [name for name, data in provenance["data"].items() if data["origin"] == "simulated"]
    # Autoescape: titles, cells and notes are text, whatever characters they hold.
    # StrictUndefined: a misspelt name in the template is an error, not a gap on the page.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(papers=sections.values(), provenance=provenance, simulated=simulated) + "\n"
