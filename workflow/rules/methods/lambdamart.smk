# LambdaMART through LightGBM: the worked example of a method that brings its own rule (docs/adding-a-method.md).
# It is found by being here; the only other place it is named in is config.yaml.


rule lambdamart:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        scores="results/scores/{paper}/{dataset}/lambdamart.csv",
    log:
        "results/logs/train/{paper}/{dataset}/lambdamart.log",
    benchmark:
        "results/benchmarks/train/{paper}/{dataset}/lambdamart.tsv"
    conda:
        ENVIRONMENT
    params:
        grid=config["methods"].get("lambdamart", {}).get("grid"),
        convention=lambda wildcards: PROTOCOLS[wildcards.paper].conventions[wildcards.dataset],
        select_by=lambda wildcards: PROTOCOLS[wildcards.paper].select_by,
        splits=lambda wildcards: PROTOCOLS[wildcards.paper].splits,
        seed=config["seed"],
    script:
        "lambdamart.py"
