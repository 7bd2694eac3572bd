"""Rule table: one table of a paper, in four forms."""

from replirank import papers
from replirank.pipeline.jobs import job
from replirank.reporting import tables
from replirank.reporting.evidence import Evidence
from replirank.reporting.protocol import Protocol

paper, name, params = snakemake.wildcards.paper, snakemake.wildcards.name, snakemake.params
with job(f"table {paper}/{name}", snakemake.log[0]):
    evidence = Evidence.read(
        dict(snakemake.input.items()),
        protocol=Protocol(**params.protocol),
        titles=params.titles,
        seed=params.seed,
        flips=params.flips,
    )
    entry = evidence.paper["tables"][name]
    table = papers.maker(paper, "tables", entry.get("kind", name))(entry, evidence)
    tables.write_csv(snakemake.output.csv, table)
    tables.write_markdown(snakemake.output.md, table)
    tables.write_latex(snakemake.output.tex, table)
    tables.write_json(snakemake.output.json, table)
