"""Rule prepare: read or simulate a data set and check it."""

import json
from pathlib import Path

from replirank.atomic import write_text
from replirank.data import arrays
from replirank.data.prepare import prepare
from replirank.data.specs import own_spec, spec
from replirank.pipeline.jobs import job
from replirank.seeds import derive

name, params = snakemake.wildcards.dataset, snakemake.params
with job(f"prepare {name}", snakemake.log[0], every=0) as report:
    settings = params.settings
    prepared = prepare(
        own_spec(name, settings, Path(params.root)) if "path" in settings else spec(name),
        source=Path(snakemake.input.source[0]) if snakemake.input.source else None,
        on_missing=params.on_missing,
        size=settings.get("simulate"),
        seed=derive(params.seed, "data", name),
        report=report,
    )
    arrays.save(snakemake.output.arrays, prepared.dataset)
    write_text(snakemake.output.card, json.dumps(prepared.card, indent=2) + "\n")
