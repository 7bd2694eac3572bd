# Where everything came from, and one page to look at.


rule provenance:
    input:
        cards=lambda wildcards: expand("results/data/{dataset}/card.json", dataset=run_datasets()),
        # It names the code of these, so it is written when they are there.
        metrics="results/metrics.parquet",
        outputs=lambda wildcards: paper_outputs(),
    output:
        json="results/provenance.json",
    log:
        "results/logs/provenance.log",
    benchmark:
        "results/benchmarks/provenance.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=config,
        commit=lambda wildcards: current_commit(),
        packages=package_versions(),
        own=fingerprint("replirank.pipeline.provenance"),
        code=lambda wildcards: code_behind(["results/metrics.parquet", *paper_outputs()]),
    script:
        "../scripts/provenance.py"


rule report:
    input:
        outputs=lambda wildcards: paper_outputs(),
        provenance="results/provenance.json",
        papers=[str(ROOT / f"src/replirank/papers/{paper}/paper.yaml") for paper in config["run"]],
        # The fingerprint below covers Python only.
        template=str(ROOT / "src/replirank/reporting/page.html.jinja"),
    output:
        html="results/report.html",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=fingerprint("replirank.reporting.page"),
        figures=lambda wildcards: figure_titles(),
    script:
        "../scripts/report.py"
