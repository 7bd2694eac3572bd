# frank2007's smaller training sets: each job trains one method on one draw of them, on the stand-in for the web data.


rule training_size:
    input:
        arrays=lambda wildcards: f"results/data/{PROTOCOLS['frank2007'].roles['web']}/arrays.npz",
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
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        code=lambda wildcards: fingerprint("replirank.papers.frank2007.sizes", f"replirank.methods.{wildcards.method}"),
        queries=[size["queries"] for size in PAPERS["frank2007"]["printed"]["table5"]],
        dataset=lambda wildcards: PROTOCOLS["frank2007"].roles["web"],
        grid=lambda wildcards: config["methods"][wildcards.method]["grid"],
        convention=lambda wildcards: PROTOCOLS["frank2007"].conventions[PROTOCOLS["frank2007"].roles["web"]],
        select_by=lambda wildcards: PROTOCOLS["frank2007"].select_by,
        seed=config["seed"],
    script:
        "size_job.py"
