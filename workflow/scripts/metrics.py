"""Rule metrics: all evaluations in one tidy frame."""

import pandas as pd

from replirank.atomic import atomic_write
from replirank.evaluation.per_dataset import join
from replirank.pipeline.jobs import job

with job("metrics", snakemake.log[0]):
    metrics = join([pd.read_parquet(path) for path in snakemake.input.pieces])
    with atomic_write(snakemake.output.metrics) as temporary:
        metrics.to_parquet(temporary, index=False)
