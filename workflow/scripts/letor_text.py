"""Rule letor_text: the folds as LETOR text, for methods in other programs."""

from pathlib import Path

from replirank.data import arrays, letor_text
from replirank.pipeline.jobs import job

with job(f"letor_text {snakemake.wildcards.dataset}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    for fold in range(len(dataset.folds)):
        for split in ("train", "vali", "test"):
            report(f"fold {fold + 1}, {split}")
            letor_text.write(
                Path(snakemake.output.folder) / f"Fold{fold + 1}" / f"{split}.txt", dataset.split(fold, split)
            )
