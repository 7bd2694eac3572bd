# Fetch what is missing; find or simulate a data set; check it; write arrays and the data card.


# One job for all data sets, so that a missing network is noticed once. After it Snakemake works out what can be run.
checkpoint fetch:
    input:
        sources=str(ROOT / config["sources"]),
    output:
        fetched=FETCHED,
    log:
        "results/logs/fetch.log",
    benchmark:
        "results/benchmarks/fetch.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        datasets=TO_FETCH,
        plan="\n".join(f"  {STOCK.plan(name)}" for name in TO_FETCH),
        root=lambda wildcards: str(ROOT),  # a folder to write to, not a prefix of the sources
    message:
        "Fetching data sets that are not on this machine:\n{params.plan}"
    script:
        "../scripts/fetch.py"


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
        root=str(ROOT),
        on_missing=config["on_missing"],
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


# All data sets of config.yaml that are at hand, whether or not anything is trained on them: `snakemake data`.
rule data:
    input:
        lambda wildcards: expand(
            "results/data/{dataset}/card.json", dataset=[name for name in config["datasets"] if source_of(name)]
        ),
