# diffrank2011's training on the first documents of each list, and DiffRank's two readings.

from replirank.papers.diffrank2011.lists import EXPERIMENTS as PARTS_OF_LISTS


rule parts_of_lists:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        metrics="results/diffrank2011/{dataset}/{experiment}_metrics.parquet",
        history="results/diffrank2011/{dataset}/{experiment}_history.parquet",
    log:
        "results/logs/diffrank2011/{dataset}/{experiment}.log",
    benchmark:
        "results/benchmarks/diffrank2011/{dataset}/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(PARTS_OF_LISTS),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=20),
        runtime=by_size(60, per_mb=5),
    params:
        code=lambda wildcards: fingerprint(
            "replirank.papers.diffrank2011.lists", f"replirank.methods.{wildcards.experiment}"
        ),
        grid=lambda wildcards: grid_of(wildcards.experiment, wildcards.dataset),
        convention=lambda wildcards: convention_of(config, "diffrank2011", wildcards.dataset),
        select_by=config["papers"].get("diffrank2011", {}).get("select_by"),
        seed=config["seed"],
    script:
        "list_job.py"


rule random_lists:
    output:
        parquet="results/diffrank2011/random_lists.parquet",
    log:
        "results/logs/diffrank2011/random_lists.log",
    benchmark:
        "results/benchmarks/diffrank2011/random_lists.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=fingerprint("replirank.papers.diffrank2011.random_lists"),
        seed=config["seed"],
    script:
        "random_job.py"
