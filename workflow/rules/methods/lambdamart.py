"""LambdaMART (Burges 2010) as LightGBM has it; leaves, learning rate and number of trees chosen by validation."""

import time

import lightgbm
import numpy as np
import pandas as pd

from replirank.data import arrays
from replirank.evaluation.scores import Scored
from replirank.metrics.registry import column_of
from replirank.pipeline.jobs import job
from replirank.seeds import derive
from replirank.training import Trained, combinations, save, validator

TREES, STEP = 300, 10

dataset_name, params = snakemake.wildcards.dataset, snakemake.params


def boost(train, point, seed):
    """A booster, and the training NDCG@10 after each tree."""
    levels, labels = np.unique(train.labels, return_inverse=True)  # LightGBM wants levels 0, 1, 2 ...
    fixed = {
        "objective": "lambdarank",
        "label_gain": list(np.exp2(levels) - 1),
        "eval_at": [10],
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": seed,
        "verbosity": -1,
    }
    data, evaluated = lightgbm.Dataset(train.features, labels, group=train.lengths), {}
    watch = {"valid_sets": [data], "callbacks": [lightgbm.record_evaluation(evaluated)]}
    booster = lightgbm.train({**fixed, **point}, data, num_boost_round=TREES, **watch)
    return booster, np.array(evaluated["training"]["ndcg@10"])


def score(booster, data, trees):
    return booster.predict(data.features, num_iteration=trees, num_threads=1)


def train_all(dataset, report):
    points, trained = combinations(params.grid or {}), Trained([], {}, [], [])
    if dataset.data.labels.max() > 1000:  # a strict order of long lists
        return trained._replace(unsupported=f"gains of 2^{dataset.data.labels.max():g} are beyond LightGBM's numbers")
    rounds = np.arange(STEP, TREES + 1, STEP)
    for fold in range(len(dataset.folds)):
        started = time.perf_counter()
        train, vali = dataset.split(fold, "train"), dataset.split(fold, "vali")
        seed = derive(params.seed, dataset_name, "lambdamart", fold)
        validate = validator(vali, column_of(params.select_by, params.convention), dataset.best_label)
        boosters, histories = [], []
        for point in points:
            booster, ndcg = boost(train, point, seed)
            values = [validate(score(booster, vali, trees)) for trees in rounds]
            boosters.append(booster)
            # Lambdas are the slopes of no function; what they are made to lower is 1 - NDCG.
            histories.append(pd.DataFrame({"round": rounds, "loss": 1 - ndcg[rounds - 1], "validation": values}))
            report(f"fold {fold + 1}/{len(dataset.folds)}: {point}, best validation {max(values):.4f}")
        best = trained.choose(fold, points, [max(h["validation"]) for h in histories], histories, params.select_by)
        trees = int(rounds[np.argmax(histories[best]["validation"])])
        for split in params.splits:
            trained.scored.append(Scored(fold, split, score(boosters[best], dataset.split(fold, split), trees)))
        trained.choices[-1] |= {"seconds": time.perf_counter() - started, "at_once": False}
    return trained


with job(f"lambdamart on {dataset_name}", snakemake.log[0]) as report:
    dataset = arrays.load(snakemake.input.arrays)
    save(dict(snakemake.output.items()), dataset, "LambdaMART", train_all(dataset, report))
