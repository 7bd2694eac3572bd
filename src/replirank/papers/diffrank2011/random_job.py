"""Rule random_lists: diffrank2011's Theorem 1 on random lists."""

from replirank.atomic import atomic_write
from replirank.papers.diffrank2011.random_lists import LISTS, random_lists
from replirank.pipeline.jobs import job

with job("Theorem 1 on random lists", snakemake.log[0]) as report:
    report(f"{LISTS} lists")
    with atomic_write(snakemake.output.parquet) as temporary:
        random_lists(snakemake.params.seed).to_parquet(temporary, index=False)
