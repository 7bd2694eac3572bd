"""Rule provenance: where the results came from."""

import json
from pathlib import Path

from replirank.atomic import write_text
from replirank.pipeline.jobs import job
from replirank.pipeline.provenance import provenance

with job("provenance", snakemake.log[0]):
    cards = [json.loads(Path(path).read_text()) for path in snakemake.input.cards]
    params = snakemake.params
    found = provenance(params.config, cards, params.commit, params.packages, params.code)
    write_text(snakemake.output.json, json.dumps(found, indent=2) + "\n")
