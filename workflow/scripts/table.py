"""Rule table: one table of a paper, in four forms."""

from replirank import papers
from replirank.papers.common.tables import not_at_hand_table
from replirank.pipeline.jobs import job
from replirank.reporting import tables
from replirank.reporting.evidence import Evidence

paper, name, entry = snakemake.wildcards.paper, snakemake.wildcards.name, snakemake.params.entry
with job(f"table {paper}/{name}", snakemake.log[0]):
    evidence = Evidence.of_rule(snakemake.input, snakemake.params)
    missing = entry.get("role") in evidence.missing
    make = not_at_hand_table if missing else papers.maker(paper, "tables", entry["kind"])
    table = make(entry, evidence)
    tables.write_csv(snakemake.output.csv, table)
    tables.write_markdown(snakemake.output.md, table)
    tables.write_latex(snakemake.output.tex, table)
    tables.write_json(snakemake.output.json, table)
