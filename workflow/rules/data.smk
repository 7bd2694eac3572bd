# Find, download or simulate a data set; check it; write arrays and the data card.


rule prepare:
    input:
        source=lambda wildcards: source_of(wildcards.dataset),
    output:
        arrays="results/data/{dataset}/arrays.npz",
        card="results/data/{dataset}/card.json",
    log:
        "results/logs/prepare/{dataset}.log",
    benchmark:
        "results/benchmarks/prepare/{dataset}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=10),
        runtime=by_size(30, per_mb=0.1),
    params:
        code=fingerprint("replirank.data.prepare"),
        settings=lambda wildcards: config["datasets"][wildcards.dataset],
        on_missing=config["on_missing"],
        always_simulate=config["always_simulate"],
        downloads=str(ROOT / "data"),
        seed=config["seed"],
    script:
        "../scripts/prepare.py"


# For methods in other programs: the folds as LETOR text.
rule letor_text:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        folder=directory("results/data/{dataset}/letor"),
    log:
        "results/logs/letor_text/{dataset}.log",
    benchmark:
        "results/benchmarks/letor_text/{dataset}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=10),
        runtime=by_size(30, per_mb=0.1),
    params:
        code=fingerprint("replirank.data.letor_text"),
    script:
        "../scripts/letor_text.py"


# All data sets of config.yaml, whether or not anything is trained on them: `snakemake data`.
rule data:
    input:
        expand("results/data/{dataset}/card.json", dataset=config["datasets"]),
