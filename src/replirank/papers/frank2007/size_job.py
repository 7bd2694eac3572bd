"""Rule training_size: one method on one draw of smaller training sets."""

from replirank import methods
from replirank.atomic import atomic_write
from replirank.data import arrays
from replirank.papers.frank2007.sizes import draw, smaller_sizes
from replirank.pipeline.jobs import job

wildcards, params = snakemake.wildcards, snakemake.params
with job(f"{wildcards.method}, draw {wildcards.draw} of training sizes", snakemake.log[0]) as report:
    frame = draw(
        arrays.load(snakemake.input.arrays),
        methods.find(wildcards.method),
        int(wildcards.draw),
        smaller_sizes(params.queries),
        grid=params.grid,
        convention=params.convention,
        select_by=params.select_by,
        seed=params.seed,
        names=(params.dataset, wildcards.method),
        report=report,
    )
    with atomic_write(snakemake.output.csv) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")
