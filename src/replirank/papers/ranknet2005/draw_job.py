"""Rule artificial_draw: RankNet on one draw of one artificial task."""

from replirank.atomic import atomic_write
from replirank.papers.ranknet2005.draws import draw, pair_trials, trials
from replirank.pipeline.jobs import job

task, number = snakemake.wildcards.task, int(snakemake.wildcards.draw)
with job(f"draw {number} of {task}", snakemake.log[0]) as report:
    vectors = snakemake.params.vectors
    tried = [*trials(task, vectors), *pair_trials(number, vectors)]
    frame = draw(task, number, tried, seed=snakemake.params.seed, report=report)
    with atomic_write(snakemake.output.csv) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")
