"""Rule fetch: public copies of the data sets that are not on this machine, as far as they can be had."""

import json

from replirank.atomic import write_text
from replirank.data.sources import read_sources
from replirank.data.specs import SPECS
from replirank.data.stock import Stock, fetch_all
from replirank.pipeline.jobs import job

with job("fetch", snakemake.log[0], every=0) as report:
    stock = Stock(SPECS, read_sources(snakemake.input.sources), snakemake.params.root)
    # A data set that could not be fetched is not at hand: the run goes on without it, and the tables say so.
    outcomes = fetch_all(stock, snakemake.params.datasets, report)
    write_text(snakemake.output.fetched, json.dumps(outcomes, indent=2) + "\n")
