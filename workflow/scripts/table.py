"""Rule table: one table of a paper, in four forms."""

from replirank import papers
from replirank.pipeline.jobs import job
from replirank.pipeline.protocol import Protocol
from replirank.reporting import tables
from replirank.reporting.evidence import Evidence

paper, name = snakemake.wildcards.paper, snakemake.wildcards.name
with job(f"table {paper}/{name}", snakemake.log[0]):
    protocol = Protocol(**snakemake.params.protocol)
    evidence = Evidence.read(dict(snakemake.input.items()), protocol=protocol, config=snakemake.params.config)
    entry = evidence.paper["tables"][name]
    table = papers.maker(paper, "TABLES", entry["kind"])(entry, evidence)
    tables.write_csv(snakemake.output.csv, table)
    tables.write_markdown(snakemake.output.md, table)
    tables.write_latex(snakemake.output.tex, table)
    tables.write_json(snakemake.output.json, table)
