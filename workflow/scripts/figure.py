"""Rule figure: one figure of a paper, as PDF and PNG."""

from replirank import papers
from replirank.atomic import atomic_write
from replirank.pipeline.jobs import job
from replirank.pipeline.protocol import Protocol
from replirank.reporting.evidence import Evidence

paper, name = snakemake.wildcards.paper, snakemake.wildcards.name
with job(f"figure {paper}/{name}", snakemake.log[0]):
    protocol = Protocol(**snakemake.params.protocol)
    evidence = Evidence.read(dict(snakemake.input.items()), protocol=protocol, config=snakemake.params.config)
    entry = evidence.paper["figures"][name]
    figure = papers.maker(paper, "FIGURES", entry["kind"])(entry, evidence)
    figure.suptitle(entry["title"])
    with atomic_write(snakemake.output.pdf) as temporary:
        # Without a date, so that the same results give the same file.
        figure.savefig(temporary, metadata={"CreationDate": None})
    with atomic_write(snakemake.output.png) as temporary:
        figure.savefig(temporary)
