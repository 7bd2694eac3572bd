"""Rule figure: one figure of a paper, as PDF and PNG."""

from replirank import papers
from replirank.atomic import atomic_write
from replirank.pipeline.jobs import job
from replirank.reporting.evidence import Evidence

paper, name, entry = snakemake.wildcards.paper, snakemake.wildcards.name, snakemake.params.entry
with job(f"figure {paper}/{name}", snakemake.log[0]):
    evidence = Evidence.of_rule(snakemake.input, snakemake.params)
    figure = papers.maker(paper, "figures", entry["kind"])(entry, evidence)
    figure.suptitle(entry["title"])
    with atomic_write(snakemake.output.pdf) as temporary:
        # Without a date, so that the same results give the same file.
        figure.savefig(temporary, metadata={"CreationDate": None})
    with atomic_write(snakemake.output.png) as temporary:
        figure.savefig(temporary)
