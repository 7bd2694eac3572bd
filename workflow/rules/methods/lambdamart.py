"""LambdaMART (Burges 2010) as LightGBM has it; leaves, learning rate and number of trees chosen by validation."""

import itertools

import lightgbm
import numpy as np

from replirank.data import arrays
from replirank.evaluation import scores
from replirank.metrics.registry import column_of, parse
from replirank.pipeline.jobs import job
from replirank.seeds import derive
from replirank.training import validator

TREES, STEP = 300, 10

dataset_name, grid = snakemake.wildcards.dataset, snakemake.params.grid
metric = column_of(snakemake.params.select_by, snakemake.params.convention)
sign = parse(snakemake.params.select_by)[0].sign


def boost(train, point, seed):
    levels, labels = np.unique(train.labels, return_inverse=True)  # LightGBM wants levels 0, 1, 2 ...
    fixed = {
        "objective": "lambdarank",
        "label_gain": list(np.exp2(levels) - 1),
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": seed,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(train.features, labels, group=train.lengths)
    return lightgbm.train({**fixed, **point}, data, num_boost_round=TREES)


with job(f"lambdamart on {dataset_name}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    scored = []
    for fold in range(len(dataset.folds)):
        train, vali = dataset.split(fold, "train"), dataset.split(fold, "vali")
        seed = derive(snakemake.params.seed, dataset_name, "lambdamart", fold)
        validate = validator(vali, metric, dataset.best_label)
        best = (-np.inf, None, None)
        for point in points:
            booster = boost(train, point, seed)
            for trees in range(STEP, TREES + 1, STEP):
                value = validate(booster.predict(vali.features, num_iteration=trees, num_threads=1))
                if value > best[0]:
                    best = (value, booster, trees)
            report(f"fold {fold + 1}/{len(dataset.folds)}: {point}, best validation so far {sign * best[0]:.4f}")
        for split in snakemake.params.splits:
            data = dataset.split(fold, split)
            predicted = best[1].predict(data.features, num_iteration=best[2], num_threads=1)
            scored.append(scores.Scored(fold, split, predicted))
    scores.write(snakemake.output.scores, scores.frame(dataset, scored))
