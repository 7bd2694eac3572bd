"""Rule table: one table of a paper, in three forms."""

from replirank import papers, tables
from replirank.evidence import Evidence
from replirank.jobs import job

paper, name = snakemake.wildcards.paper, snakemake.wildcards.name
with job(f"table {paper}/{name}", snakemake.log[0]):
    files = {key: snakemake.input[key] for key in ("metrics", "cards", "choices", "history", "paper")}
    evidence = Evidence.read(**files, config=snakemake.params.config)
    entry = evidence.paper["tables"][name]
    table = papers.maker(paper, "TABLES", entry["kind"])(entry, evidence)
    tables.write_csv(snakemake.output.csv, table)
    tables.write_markdown(snakemake.output.md, table)
    tables.write_latex(snakemake.output.tex, table)
