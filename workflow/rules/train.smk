# One job trains one method on one data set, all folds and grid points inside: one import, one compilation.


rule train:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        scores="results/scores/{dataset}/{method}.csv",
        models="results/models/{dataset}/{method}.npz",
        choices="results/choices/{dataset}/{method}.json",
        history="results/history/{dataset}/{method}.csv",
    log:
        "results/logs/train/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/train/{dataset}/{method}.tsv"
    wildcard_constraints:
        method="|".join(methods.ids()),
    conda:
        ENVIRONMENT
    params:
        code=lambda wildcards: fingerprint("replirank.training", f"replirank.methods.{wildcards.method}"),
        settings=lambda wildcards: config["methods"][wildcards.method],
        convention=lambda wildcards: config["datasets"][wildcards.dataset]["convention"],
        splits=config["splits"],
        seed=config["seed"],
    script:
        "../scripts/train.py"
