"""The command `replirank`: LETOR's evaluators replaced, and scores of other programs collected."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from replirank import __version__
from replirank.data import arrays, letor_text
from replirank.errors import ReplirankError
from replirank.evaluation.scores import Scored, frame, read_csv, write
from replirank.metrics.conventions import CONVENTIONS, convention
from replirank.metrics.per_query import evaluate
from replirank.metrics.registry import display_name

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
