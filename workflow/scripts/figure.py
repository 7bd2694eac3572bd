"""Rule figure: one figure of a paper, as PDF and PNG."""

from replirank import papers
from replirank.atomic import atomic_write
from replirank.pipeline.jobs import job
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol

paper, name, params = snakemake.wildcards.paper, snakemake.wildcards.name, snakemake.params
with job(f"figure {paper}/{name}", snakemake.log[0]):
    evidence = Evidence.read(
        dict(snakemake.input.items()),
        protocol=Protocol(**params.protocol),
        titles=params.titles,
        seed=params.seed,
        flips=params.flips,
    )
    entry = evidence.paper["figures"][name]
    figure = papers.maker(paper, "figures", entry.get("kind", name))(entry, evidence)
    figure.suptitle(entry["title"])
    with atomic_write(snakemake.output.pdf) as temporary:
        # Without a date, so that the same results give the same file.
        figure.savefig(temporary, metadata={"CreationDate": None})
    with atomic_write(snakemake.output.png) as temporary:
        figure.savefig(temporary)
