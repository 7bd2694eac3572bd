# From scores to the one tidy frame: a row for each (paper, dataset, fold, split, method, query), a column for each metric.


rule evaluate:
    input:
        arrays="results/data/{dataset}/arrays.npz",
        card="results/data/{dataset}/card.json",
        scores=lambda wildcards: expand(
            "results/scores/{{paper}}/{{dataset}}/{method}.parquet",
            method=config["papers"][wildcards.paper]["methods"],
        ),
    output:
        metrics="results/metrics/{paper}/{dataset}.parquet",
    log:
        "results/logs/evaluate/{paper}/{dataset}.log",
    benchmark:
        "results/benchmarks/evaluate/{paper}/{dataset}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=10),
        runtime=by_size(30, per_mb=0.1),
    params:
        code=fingerprint("replirank.evaluation.per_dataset"),
    script:
        "../scripts/evaluate.py"


rule paper_metrics:
    input:
        pieces=lambda wildcards: expand(
            "results/metrics/{{paper}}/{dataset}.parquet", dataset=PROTOCOLS[wildcards.paper].datasets
        ),
    output:
        metrics="results/metrics/{paper}.parquet",
    log:
        "results/logs/metrics/{paper}.log",
    benchmark:
        "results/benchmarks/metrics/{paper}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=fingerprint("replirank.evaluation.per_dataset"),
    script:
        "../scripts/metrics.py"


rule metrics:
    input:
        pieces=expand("results/metrics/{paper}.parquet", paper=config["run"]),
    output:
        metrics="results/metrics.parquet",
    log:
        "results/logs/metrics.log",
    benchmark:
        "results/benchmarks/metrics.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        code=fingerprint("replirank.evaluation.per_dataset"),
    script:
        "../scripts/metrics.py"
