"""Rule evaluate: the metrics of every method's scores on one data set."""

import json
from pathlib import Path

from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.evaluation.per_dataset import metrics_of_files
from replirank.pipeline.jobs import job

paper, name = snakemake.wildcards.paper, snakemake.wildcards.dataset
with job(f"evaluate {name} for {paper}", snakemake.log[0]) as report:
    card = json.loads(Path(snakemake.input.card).read_text())
    keys = {"paper": paper, "dataset": name, "origin": card["origin"]}
    metrics = metrics_of_files(arrays.load(snakemake.input.arrays), snakemake.input.scores, keys, report)
    with atomic_write(snakemake.output.metrics) as temporary:
        metrics.to_parquet(temporary, index=False)
