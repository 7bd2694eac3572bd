"""Rule train: one method on one data set by one paper's protocol, all folds and grid points."""

from replirank import methods
from replirank.data import arrays
from replirank.pipeline.jobs import job
from replirank.training import save, train

paper, dataset_name, method_name = (snakemake.wildcards[name] for name in ("paper", "dataset", "method"))
params = snakemake.params
with job(f"{method_name} on {dataset_name} for {paper}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    method = methods.find(method_name)
    trained = train(
        dataset,
        method,
        grid=params.grid,
        convention=params.convention,
        select_by=params.select_by,
        seed=params.seed,
        names=(dataset_name, method_name),
        splits=params.splits,
        report=report,
    )
    save(dict(snakemake.output.items()), dataset, method.title, trained)
