# bayesopt2010's open choices: how far descent goes, what is kept of it, where it starts, how levels are counted.


rule sensitivity:
    input:
        arrays="results/data/{dataset}/arrays.npz",
    output:
        metrics="results/bayesopt2010/{dataset}/{loss}_metrics.parquet",
        descents="results/bayesopt2010/{dataset}/{loss}_descents.parquet",
    log:
        "results/logs/bayesopt2010/{dataset}/{loss}.log",
    benchmark:
        "results/benchmarks/bayesopt2010/{dataset}/{loss}.tsv"
    wildcard_constraints:
        loss="cosine|cross_entropy|squared",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=by_size(1000, per_mb=20),
        runtime=by_size(60, per_mb=5),
    params:
        code=lambda wildcards: fingerprint(
            "replirank.papers.bayesopt2010.sensitivity", f"replirank.methods.{wildcards.loss}_bayes"
        ),
        grid=lambda wildcards: grid_of(f"{wildcards.loss}_bayes", wildcards.dataset),
        convention=lambda wildcards: convention_of(config, "bayesopt2010", wildcards.dataset),
        select_by=config["papers"].get("bayesopt2010", {}).get("select_by"),
    script:
        "sensitivity_job.py"
