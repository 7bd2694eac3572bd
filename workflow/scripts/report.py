"""Rule report: all tables and figures on one page."""

import json
from pathlib import Path

import yaml

from replirank.atomic import write_text
from replirank.pipeline.jobs import job
from replirank.reporting.page import page

with job("report", snakemake.log[0]):
    outputs = [Path(path) for path in snakemake.input.outputs]
    html = page(
        papers={Path(path).parent.name: yaml.safe_load(Path(path).read_text()) for path in snakemake.input.papers},
        tables=[path for path in outputs if path.suffix == ".json"],
        figures={Path(path): title for path, title in snakemake.params.figures.items()},
        provenance=json.loads(Path(snakemake.input.provenance).read_text()),
    )
    write_text(snakemake.output.html, html)
