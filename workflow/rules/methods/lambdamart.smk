# LambdaMART through LightGBM: the worked example of a method that brings its own rule (docs/adding-a-method.md).
# It is found by being here; the only other place it is named in is config.yaml.


rule lambdamart:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        scores="results/scores/{paper}/{dataset}/lambdamart.parquet",
        choices="results/choices/{paper}/{dataset}/lambdamart.json",
        history="results/history/{paper}/{dataset}/lambdamart.csv",
    log:
        "results/logs/train/{paper}/{dataset}/lambdamart.log",
    benchmark:
        "results/benchmarks/train/{paper}/{dataset}/lambdamart.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=20),
        runtime=by_size(60, per_mb=5),
    params:
        code=fingerprint(ROOT / "workflow/rules/methods/lambdamart.py"),
        grid=config["methods"].get("lambdamart", {}).get("grid"),
        convention=lambda wildcards: convention_of(config, wildcards.paper, wildcards.dataset),
        select_by=lambda wildcards: config["papers"][wildcards.paper]["select_by"],
        splits=lambda wildcards: config["papers"][wildcards.paper]["splits"],
        seed=config["seed"],
    script:
        "lambdamart.py"
