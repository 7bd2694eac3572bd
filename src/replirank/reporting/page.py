"""All tables and figures on one self-contained page, which needs no network and no server."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #444; }
.wide { overflow-x: auto; }
img { max-width: 100%; }
.warning { background: #fff3cd; border-left: 4px solid #b58900; padding: .5rem 1rem; }
li { font-size: 13px; color: #555; }
"""


def page(
    papers: Iterable[Mapping[str, Any]],
    tables: Mapping[str, list[Path]],
    figures: Mapping[str, list[Path]],
    provenance: Mapping,
) -> str:
    simulated = [name for name, data in provenance["data"].items() if data["origin"] == "simulated"]
    parts = ["<h1>replirank</h1>", f"<p>{_origin_line(provenance)}</p>"]
    if simulated:
        parts.append(
            f'<p class="warning"><b>SIMULATED data:</b> {", ".join(simulated)}. The real data was not at hand; these '
            "numbers say that the pipeline works, and nothing about the papers.</p>"
        )
    for paper in papers:
        parts.append(f"<h2>{html.escape(paper['title'])}</h2><p>{html.escape(paper.get('about', ''))}</p>")
        parts += [_table(path.read_text(encoding="utf-8")) for path in tables[paper["id"]]]
        for path in figures[paper["id"]]:
            data = base64.b64encode(path.read_bytes()).decode()
            caption = paper["figures"][path.stem]["title"]
            parts.append(
                f'<h3>{html.escape(caption)}</h3><img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
            )
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>replirank</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _origin_line(provenance: Mapping[str, Any]) -> str:
    origins = ", ".join(f"{name} {data['origin']}" for name, data in provenance["data"].items())
    commit = provenance["commit"] or "not a checkout"
    return html.escape(f"Seed {provenance['seed']}; code {commit}; data: {origins}. More in results/provenance.json.")


def _table(markdown: str) -> str:
    """HTML of one of our own Markdown tables."""
    lines = markdown.splitlines()
    title = lines[0].removeprefix("# ")
    rows = [_cells(line) for line in lines if line.startswith("|") and not re.fullmatch(r"[|:\-]+", line)]
    head, *body = rows
    notes = [html.escape(line.removeprefix("- ")) for line in lines if line.startswith("- ")]
    cells = ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return (
        f'<h3>{html.escape(title)}</h3><div class="wide"><table><thead><tr>'
        + "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        + "</tr></thead><tbody>"
        + "".join(cells)
        + "</tbody></table></div><ul>"
        + "".join(f"<li>{note}</li>" for note in notes)
        + "</ul>"
    )


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
