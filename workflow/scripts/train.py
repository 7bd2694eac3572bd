"""Rule train: one method on one data set by one paper's protocol, all folds and grid points."""

import json

from replirank import methods
from replirank.atomic import atomic_write, write_text
from replirank.data import arrays
from replirank.evaluation import scores
from replirank.models import base as models
from replirank.pipeline.jobs import job
from replirank.training import train

paper, dataset_name, method_name = (snakemake.wildcards[name] for name in ("paper", "dataset", "method"))
output, params = snakemake.output, snakemake.params
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
    scores.write(output.scores, scores.frame(dataset, trained.scored))
    models.save(output.models, trained.models)
    write_text(output.choices, json.dumps({"title": method.title, "folds": trained.choices}, indent=2) + "\n")
    with atomic_write(output.history) as temporary:
        trained.history.to_csv(temporary, index=False, lineterminator="\n")
