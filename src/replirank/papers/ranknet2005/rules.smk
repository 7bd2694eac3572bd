# ranknet2005's artificial tasks: each job draws one task anew and trains all nets of Tables 1 and 2 on it, and
# Table 1's again with an update after each pair.


rule artificial_draw:
    output:
        csv="results/ranknet2005/draws/{task}_{draw}.csv",
    log:
        "results/logs/ranknet2005/draws/{task}_{draw}.log",
    benchmark:
        "results/benchmarks/ranknet2005/draws/{task}_{draw}.tsv"
    wildcard_constraints:
        task="net|poly|poly_variance",
        draw=r"\d+",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=fingerprint("replirank.papers.ranknet2005.draws"),
        vectors={name: PAPERS["ranknet2005"]["printed"][name]["vectors"] for name in ("table1", "table2", "capacity")},
        seed=config["seed"],
    script:
        "draw_job.py"
