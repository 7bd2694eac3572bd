# Where everything came from, and one page to look at.

from snakemake.iocontainers import Wildcards

from replirank.pipeline.provenance import current_commit


def code_behind(targets):
    """The fingerprint of the code that made each of these files, and each file that they are made from.

    It is the parameter `code` of the rule that makes the file; a rule without one (`metrics`) only joins files.
    """
    codes, pending, seen = {}, list(targets), set()
    while pending:
        path = str(pending.pop())
        if path in seen:
            continue
        seen.add(path)
        for rule in workflow.rules:
            if not rule.is_producer(path):
                continue
            wildcards = Wildcards(fromdict=rule.get_wildcards(path))
            pending += rule.expand_input(wildcards)[0]
            if code := rule.params.get("code"):
                codes[path] = code(wildcards) if callable(code) else code
    return codes


rule provenance:
    input:
        cards=expand("results/data/{dataset}/card.json", dataset=RUN_DATASETS),
        metrics="results/metrics.parquet",
    output:
        json="results/provenance.json",
    log:
        "results/logs/provenance.log",
    benchmark:
        "results/benchmarks/provenance.tsv"
    conda:
        ENVIRONMENT
    params:
        config=config,
        commit=lambda wildcards: current_commit(),
        code=lambda wildcards: code_behind(["results/metrics.parquet", *paper_outputs()]),
    script:
        "../scripts/provenance.py"


rule report:
    input:
        outputs=paper_outputs(),
        provenance="results/provenance.json",
        papers=[str(ROOT / f"src/replirank/papers/{paper}/paper.yaml") for paper in config["run"]],
    output:
        html="results/report.html",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        ENVIRONMENT
    params:
        code=fingerprint("replirank.reporting.page"),
    script:
        "../scripts/report.py"
