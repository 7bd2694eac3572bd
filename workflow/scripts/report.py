"""Rule report: all tables and figures on one page."""

import json
from pathlib import Path

import yaml

from replirank.atomic import write_text
from replirank.pipeline.jobs import job
from replirank.reporting.page import page

with job("report", snakemake.log[0]):
    outputs = [Path(path) for path in snakemake.input.outputs]
    files = [Path(path) for path in snakemake.input.papers]
    papers = [{"id": file.parent.name, **yaml.safe_load(file.read_text())} for file in files]
    write_text(
        snakemake.output.html,
        page(
            papers,
            {p["id"]: [o for o in outputs if o.suffix == ".md" and o.parent.name == p["id"]] for p in papers},
            {p["id"]: [o for o in outputs if o.suffix == ".png" and o.parent.name == p["id"]] for p in papers},
            json.loads(Path(snakemake.input.provenance).read_text()),
        ),
    )
