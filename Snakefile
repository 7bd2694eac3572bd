# The way of the data, one way only: data -> train -> evaluate -> papers -> report.
# What is run is said in config.yaml; the rules are in workflow/rules.

from snakemake.utils import min_version, validate

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


validate(config, f"{workflow.basedir}/workflow/schemas/config.schema.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/papers.smk"
include: "workflow/rules/code.smk"
include: "workflow/rules/report.smk"


# Methods and papers that bring their own rules are found by being there.
for rule_file in [*METHOD_RULES.values(), *PAPER_RULES]:

    include: rule_file


rule all:
    default_target: True
    input:
        "results/metrics.parquet",
        "results/provenance.json",
        "results/report.html",
        lambda wildcards: paper_outputs(),
