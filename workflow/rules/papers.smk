# The tables and figures of each paper, from the tidy frame. What there is to make stands in the paper's own
# src/replirank/papers/<paper>/paper.yaml. A change in config.yaml makes again only what it concerns.


rule table:
    input:
        unpack(evidence("tables")),
    output:
        csv="results/tables/{paper}/{name}.csv",
        md="results/tables/{paper}/{name}.md",
        tex="results/tables/{paper}/{name}.tex",
        json="results/tables/{paper}/{name}.json",
    log:
        "results/logs/tables/{paper}/{name}.log",
    benchmark:
        "results/benchmarks/tables/{paper}/{name}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=lambda wildcards: fingerprint(
            f"replirank.papers.{wildcards.paper}.tables", "replirank.papers.common.tables"
        ),
        entry=lambda wildcards: outputs_of(wildcards.paper, "tables")[wildcards.name].entry,
        protocol=lambda wildcards: vars(outputs_of(wildcards.paper, "tables")[wildcards.name].protocol),
        missing=lambda wildcards: how_to_get(wildcards, "tables"),
        titles=lambda wildcards: titles_of(wildcards.paper),
        seed=config["seed"],
        flips=config["flips"],
    script:
        "../scripts/table.py"


rule figure:
    input:
        unpack(evidence("figures")),
        look=str(ROOT / "workflow/matplotlibrc"),
    output:
        pdf="figures/{paper}/{name}.pdf",
        png="figures/{paper}/{name}.png",
    log:
        "results/logs/figures/{paper}/{name}.log",
    benchmark:
        "results/benchmarks/figures/{paper}/{name}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=lambda wildcards: fingerprint(
            f"replirank.papers.{wildcards.paper}.figures", "replirank.papers.common.figures"
        ),
        entry=lambda wildcards: outputs_of(wildcards.paper, "figures")[wildcards.name].entry,
        protocol=lambda wildcards: vars(outputs_of(wildcards.paper, "figures")[wildcards.name].protocol),
        missing=lambda wildcards: how_to_get(wildcards, "figures"),
        titles=lambda wildcards: titles_of(wildcards.paper),
        seed=config["seed"],
        flips=config["flips"],
    script:
        "../scripts/figure.py"
