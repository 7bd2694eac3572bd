# LambdaMART through LightGBM: the worked example of a method that brings its own rule (docs/adding-a-method.md).
# It is found by being here; the only other place it is named in is config.yaml.


rule lambdamart:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        scores="results/scores/{dataset}/lambdamart.csv",
    log:
        "results/logs/train/{dataset}/lambdamart.log",
    benchmark:
        "results/benchmarks/train/{dataset}/lambdamart.tsv"
    conda:
        ENVIRONMENT
    params:
        settings=config["methods"].get("lambdamart", {}),
        convention=lambda wildcards: config["datasets"][wildcards.dataset]["convention"],
        splits=config["splits"],
        seed=config["seed"],
    script:
        "lambdamart.py"
