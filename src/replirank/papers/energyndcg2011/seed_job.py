"""Rule random_start: one experiment of energyndcg2011 with one seed."""

from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.papers.energyndcg2011.seeds import run
from replirank.pipeline.jobs import job

wildcards, params = snakemake.wildcards, snakemake.params
with job(f"{wildcards.experiment} on {wildcards.dataset}, seed {wildcards.draw}", snakemake.log[0]) as report:
    frame = run(
        arrays.load(snakemake.input.arrays),
        wildcards.experiment,
        int(wildcards.draw),
        name=wildcards.dataset,
        grid=params.grid,
        convention=params.convention,
        select_by=params.select_by,
        seed=params.seed,
        report=report,
    )
    with atomic_write(snakemake.output.parquet) as temporary:
        frame.to_parquet(temporary, index=False)
