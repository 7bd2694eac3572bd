# From scores to the one tidy frame: a row for each (dataset, fold, split, method, query), a column for each metric.


rule evaluate:
    input:
        arrays="results/data/{dataset}/arrays.npz",
        card="results/data/{dataset}/card.json",
        scores=expand("results/scores/{{dataset}}/{method}.csv", method=config["run"]["methods"]),
    output:
        metrics="results/metrics/{dataset}.parquet",
    log:
        "results/logs/evaluate/{dataset}.log",
    benchmark:
        "results/benchmarks/evaluate/{dataset}.tsv"
    conda:
        ENVIRONMENT
    params:
        code=fingerprint("replirank.evaluation"),
    script:
        "../scripts/evaluate.py"


rule metrics:
    input:
        pieces=expand("results/metrics/{dataset}.parquet", dataset=config["run"]["datasets"]),
    output:
        metrics="results/metrics.parquet",
    log:
        "results/logs/metrics.log",
    benchmark:
        "results/benchmarks/metrics.tsv"
    conda:
        ENVIRONMENT
    script:
        "../scripts/metrics.py"
