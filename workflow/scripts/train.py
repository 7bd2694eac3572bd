"""Rule train: one method on one data set, all folds and grid points."""

import json

from replirank import methods, scores
from replirank.atomic import whole, write_text
from replirank.data import arrays
from replirank.jobs import job
from replirank.models import base as models
from replirank.training import train

dataset_name, method_name = snakemake.wildcards.dataset, snakemake.wildcards.method
output, params = snakemake.output, snakemake.params
with job(f"{method_name} on {dataset_name}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    trained = train(
        dataset,
        methods.find(method_name),
        grid=params.settings["grid"],
        convention=params.convention,
        select_by=params.settings["select_by"],
        seed=params.seed,
        names=(dataset_name, method_name),
        splits=params.splits,
        report=report,
    )
    scores.write(output.scores, scores.frame(dataset, trained.scored))
    models.save(output.models, trained.models)
    write_text(output.choices, json.dumps({"folds": trained.choices}, indent=2) + "\n")
    with whole(output.history) as temporary:
        trained.history.to_csv(temporary, index=False, lineterminator="\n")
