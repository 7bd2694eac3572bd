# frank2007's smaller training sets: each job trains one method on one draw of them, on the stand-in for the web data.


rule training_size:
    input:
        arrays=lambda wildcards: f"results/data/{PROTOCOLS['frank2007'].datasets[0]}/arrays.npz",
    output:
        csv="results/frank2007/sizes/{method}_{draw}.csv",
    log:
        "results/logs/frank2007/sizes/{method}_{draw}.log",
    benchmark:
        "results/benchmarks/frank2007/sizes/{method}_{draw}.tsv"
    wildcard_constraints:
        draw=r"\d+",
    conda:
        ENVIRONMENT
    params:
        code=lambda wildcards: fingerprint("replirank.papers.frank2007.sizes", f"replirank.methods.{wildcards.method}"),
        dataset=lambda wildcards: PROTOCOLS["frank2007"].datasets[0],
        grid=lambda wildcards: config["methods"][wildcards.method]["grid"],
        convention=lambda wildcards: PROTOCOLS["frank2007"].conventions[PROTOCOLS["frank2007"].datasets[0]],
        select_by=lambda wildcards: PROTOCOLS["frank2007"].select_by,
        seed=config["seed"],
    script:
        "size_job.py"
