"""The command `replirank`: LETOR's evaluators replaced, data listed and fetched, scores of other programs collected."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from replirank import __version__
from replirank.data import arrays, letor_text
from replirank.data.sources import read_sources
from replirank.data.specs import SPECS, own_spec
from replirank.data.stock import FETCHED, Stock, fetch_all
from replirank.errors import ReplirankError
from replirank.evaluation.scores import Scored, frame, read_csv, write
from replirank.metrics.conventions import CONVENTIONS, convention
from replirank.metrics.per_query import evaluate
from replirank.metrics.registry import display_name

SOURCES = Path(__file__).parents[2] / "workflow/sources.yaml"
CUTS = range(1, 11)
PRECISION = [*(f"p@{k}" for k in CUTS), "map"]
NDCG = [*(f"ndcg@{k}" for k in CUTS), "mean_ndcg"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except ReplirankError as error:
        print(f"replirank: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"replirank: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="replirank", description=__doc__)
    parser.add_argument("--version", action="version", version=f"replirank {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser(
        "evaluate",
        help="P@1..10, MAP, NDCG@1..10 and MeanNDCG of a score file, as LETOR's scripts print them",
        description="Replaces LETOR's Eval-Score-3.0.pl and Eval-Score-4.0.pl.",
    )
    command.add_argument("test", metavar="TEST_FILE", help="LETOR text")
    command.add_argument("scores", metavar="SCORE_FILE", help="one number on each line, in the order of TEST_FILE")
    command.add_argument("--convention", default="letor4", help=f"one of {', '.join(CONVENTIONS)} (letor4)")
    command.add_argument("--per-query", action="store_true", help="a line for each query, then the mean")
    command.set_defaults(run=_evaluate)

    command = commands.add_parser(
        "list",
        help="the data sets: found where, fetchable from where, or not to be had",
        description="Run it in the project's folder: it looks where the workflow looks.",
    )
    command.set_defaults(run=_list)

    command = commands.add_parser(
        "fetch",
        help="fetch public copies of data sets into data/",
        description="Run it in the project's folder. What is there already is not fetched again.",
    )
    command.add_argument("names", metavar="DATASET", nargs="+", help="as `replirank list` names them")
    command.set_defaults(run=_fetch)

    command = commands.add_parser(
        "collect",
        help="make a scores file of the workflow from the score files of another program",
        description="For a method as a rule. The patterns hold {fold}, as in out/fold{fold}.txt; each file has one "
        "number on each line, in the order of Fold{fold}/test.txt in results/data/<dataset>/letor. Or give one CSV "
        "file with the columns fold, split, query, document, score.",
    )
    command.add_argument("arrays", metavar="ARRAYS", help="results/data/<dataset>/arrays.npz")
    command.add_argument("output", metavar="SCORES", help="results/scores/<paper>/<dataset>/<method>.parquet")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--test", metavar="PATTERN", help="score files of the test splits")
    source.add_argument("--csv", metavar="FILE", help="scores of all splits in one file")
    command.add_argument("--vali", metavar="PATTERN", help="score files of the validation splits, beside --test")
    command.set_defaults(run=_collect)
    return parser


def _evaluate(options: argparse.Namespace) -> None:
    name = convention(options.convention).name
    data = letor_text.read(options.test)
    scores = read_numbers(options.scores, data.documents, options.test)
    metrics = evaluate(scores, data.labels, data.offsets, conventions=[name])
    metrics.columns = metrics.columns.str.removeprefix(f"{name}.")
    metrics.index = pd.Index(data.query_ids)
    mean = metrics.mean()
    if not options.per_query:
        for block in (PRECISION, NDCG):
            print(_header(block), _line(mean[block]), sep="\n")
        return
    print("qid", _header(PRECISION + NDCG), sep="\t")
    for query, values in metrics[PRECISION + NDCG].iterrows():
        print(query, _line(values), sep="\t")
    print("mean", _line(mean[PRECISION + NDCG]), sep="\t")


def _stock() -> Stock:
    """What the workflow would find: with the config.yaml of this folder, if it has one."""
    root, config = Path.cwd(), _config(Path("config.yaml"))
    defaults = {"folds": 5, "normalize": "none"}
    own = {name: {**defaults, **entry} for name, entry in config["datasets"].items() if "path" in entry}
    specs = {name: own_spec(name, entry, root) for name, entry in own.items()}
    return Stock({**SPECS, **specs}, read_sources(root / config["sources"]), root)


def _config(path: Path) -> dict[str, Any]:
    """The data sets and sources in a config.yaml. Snakemake checks the rest of it."""
    defaults: dict[str, Any] = {"datasets": {}, "sources": SOURCES}
    if not path.is_file():
        return defaults
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ReplirankError(f"cannot be read: {error}", path=path, remedy="correct the file") from error
    config = {**defaults, **content} if isinstance(content, dict) else {}
    datasets = config.get("datasets")
    if not isinstance(datasets, dict) or not all(isinstance(entry, dict) for entry in datasets.values()):
        raise ReplirankError(
            "datasets: expected names with settings", path=path, remedy="run this in the project's folder"
        )
    return config


def _list(options: argparse.Namespace) -> None:
    stock = _stock()
    for name in stock.specs:
        print(f"{name:<16}{stock.status(name)}")


def _fetch(options: argparse.Namespace) -> None:
    stock = _stock()
    for name in options.names:
        if name not in stock.specs:
            raise ReplirankError(f"unknown data set {name!r}", remedy=f"known are {', '.join(stock.specs)}")
    outcomes = fetch_all(stock, options.names, report=print)
    if failed := [name for name, outcome in outcomes.items() if outcome != FETCHED]:
        raise ReplirankError(f"not fetched: {', '.join(failed)}", remedy="the lines above say why")


def _header(columns: Sequence[str]) -> str:
    return "\t".join(map(display_name, columns))


def _line(values: pd.Series) -> str:
    """Four decimals; a dash for a query that the convention leaves out."""
    return "\t".join("-" if np.isnan(value) else f"{value:.4f}" for value in values)


def _collect(options: argparse.Namespace) -> None:
    dataset = arrays.load(options.arrays)
    if options.csv and options.vali:
        raise ReplirankError(
            "--csv and --vali exclude each other", remedy="put the validation scores into the CSV file"
        )
    scored = read_csv(options.csv, dataset) if options.csv else []
    for split, pattern in (("vali", options.vali), ("test", options.test)):
        if pattern is None:
            continue
        for fold in range(len(dataset.folds)):
            path = Path(pattern.replace("{fold}", str(fold + 1)))
            documents = dataset.judgements(fold, split).documents
            scored.append(Scored(fold, split, read_numbers(path, documents, f"fold {fold + 1}'s {split} split")))
    write(options.output, frame(dataset, scored))


def read_numbers(path: str | PathLike, expected: int, of: str | PathLike) -> np.ndarray:
    """One finite number on each line; blank lines at the end do not count."""
    lines = Path(path).read_text(encoding="utf-8", errors="backslashreplace").rstrip().splitlines()
    numbers = np.empty(len(lines))
    for place, line in enumerate(lines):
        try:
            numbers[place] = float(line)
        except ValueError:
            raise ReplirankError(
                f"{line.strip()[:40]!r} is not a number",
                path=path,
                line=place + 1,
                remedy="write one score on each line",
            ) from None
        if not np.isfinite(numbers[place]):
            raise ReplirankError(
                f"the score is {numbers[place]}", path=path, line=place + 1, remedy="scores must be finite"
            )
    if len(numbers) != expected:
        raise ReplirankError(
            f"{len(numbers)} scores for the {expected} documents of {of}",
            path=path,
            remedy="give one score for each document, in the same order",
        )
    return numbers


if __name__ == "__main__":
    sys.exit(main())
