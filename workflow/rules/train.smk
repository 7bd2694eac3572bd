# One job trains one method on one data set by one paper's protocol, all folds and grid points inside: one import, one
# compilation.


rule train:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        scores="results/scores/{paper}/{dataset}/{method}.parquet",
        models="results/models/{paper}/{dataset}/{method}.npz",
        choices="results/choices/{paper}/{dataset}/{method}.json",
        history="results/history/{paper}/{dataset}/{method}.csv",
    log:
        "results/logs/train/{paper}/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/train/{paper}/{dataset}/{method}.tsv"
    wildcard_constraints:
        method="|".join(methods.ids()),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=20),
        runtime=by_size(60, per_mb=5),
    params:
        code=lambda wildcards: fingerprint("replirank.training", f"replirank.methods.{wildcards.method}"),
        grid=lambda wildcards: grid_of(wildcards.method, wildcards.dataset),
        convention=lambda wildcards: convention_of(config, wildcards.paper, wildcards.dataset),
        select_by=lambda wildcards: config["papers"][wildcards.paper]["select_by"],
        splits=lambda wildcards: config["papers"][wildcards.paper]["splits"],
        seed=config["seed"],
    script:
        "../scripts/train.py"
