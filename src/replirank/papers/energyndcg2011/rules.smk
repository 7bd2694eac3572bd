# energyndcg2011's methods that start at random: each job trains one of them with one seed, EnergyNDCG for all widths.

from replirank.papers.energyndcg2011.seeds import EXPERIMENTS


rule random_start:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        parquet="results/energyndcg2011/seeds/{dataset}/{experiment}_{draw}.parquet",
    log:
        "results/logs/energyndcg2011/seeds/{dataset}/{experiment}_{draw}.log",
    benchmark:
        "results/benchmarks/energyndcg2011/seeds/{dataset}/{experiment}_{draw}.tsv"
    wildcard_constraints:
        experiment="|".join(EXPERIMENTS),
        draw=r"\d+",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        code=lambda wildcards: fingerprint(
            "replirank.papers.energyndcg2011.seeds", f"replirank.methods.{EXPERIMENTS[wildcards.experiment].method}"
        ),
        grid=lambda wildcards: config["methods"][EXPERIMENTS[wildcards.experiment].method]["grid"],
        convention=lambda wildcards: convention_of(config, "energyndcg2011", wildcards.dataset),
        select_by=config["papers"].get("energyndcg2011", {}).get("select_by"),
        seed=config["seed"],
    script:
        "seed_job.py"
