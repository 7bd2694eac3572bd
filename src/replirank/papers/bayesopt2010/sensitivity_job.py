"""Rule sensitivity: bayesopt2010's open choices, for one loss on one data set."""

from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.papers.bayesopt2010.sensitivity import run
from replirank.pipeline.jobs import job

wildcards, params = snakemake.wildcards, snakemake.params
with job(f"open choices with the loss {wildcards.loss} on {wildcards.dataset}", snakemake.log[0]) as report:
    frames = run(
        arrays.load(snakemake.input.arrays),
        wildcards.loss,
        name=wildcards.dataset,
        grid=params.grid,
        convention=params.convention,
        select_by=params.select_by,
        report=report,
    )
    for path, frame in zip((snakemake.output.metrics, snakemake.output.descents), frames, strict=True):
        with atomic_write(path) as temporary:
            frame.to_parquet(temporary, index=False)
