"""Rule evaluate: the metrics of every method's scores on one data set."""

import json
from pathlib import Path

import pandas as pd

from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.evaluation import scores
from replirank.evaluation.per_dataset import metrics_of
from replirank.pipeline.jobs import job

paper, name = snakemake.wildcards.paper, snakemake.wildcards.dataset
with job(f"evaluate {name} for {paper}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    card = json.loads(Path(snakemake.input.card).read_text())
    pieces = []
    for path in snakemake.input.scores:
        report(path)
        scored = scores.read(path, dataset)
        keys = {"paper": paper, "dataset": name, "origin": card["origin"], "method": Path(path).stem}
        pieces.append(metrics_of(dataset, scored, keys))
    with atomic_write(snakemake.output.metrics) as temporary:
        pd.concat(pieces, ignore_index=True).to_parquet(temporary, index=False)
