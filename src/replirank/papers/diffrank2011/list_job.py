"""Rule parts_of_lists: one experiment of diffrank2011 on one data set."""

from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.papers.diffrank2011.lists import run
from replirank.pipeline.jobs import job

wildcards, params = snakemake.wildcards, snakemake.params
with job(f"{wildcards.experiment} on parts of {wildcards.dataset}", snakemake.log[0]) as report:
    frames = run(
        arrays.load(snakemake.input.arrays),
        wildcards.experiment,
        name=wildcards.dataset,
        grid=params.grid,
        convention=params.convention,
        select_by=params.select_by,
        seed=params.seed,
        report=report,
    )
    for path, frame in zip((snakemake.output.metrics, snakemake.output.history), frames, strict=True):
        with atomic_write(path) as temporary:
            frame.to_parquet(temporary, index=False)
