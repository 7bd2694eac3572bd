# What the rules share: where things are, and what the config means. No work is done here.

import sys
from pathlib import Path

import yaml
from snakemake.utils import validate

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from replirank import methods
from replirank.data.find import Catalogue, find_source, homes
from replirank.data.specs import SPECS
from replirank.errors import ReplirankError
from replirank.jobs import release_stale_locks, set_environment
from replirank.sources import fingerprint

set_environment(ROOT)

if workflow.is_main_process and release_stale_locks():
    logger.info("An earlier run was killed: its locks are removed and its unfinished jobs are done again.")


ENVIRONMENT = str(ROOT / "environment.yml")
# For rules that call the command from a shell, whatever is on the PATH there.
REPLIRANK = f"{sys.executable} -m replirank.cli"
METHOD_RULES = {path.stem: str(path) for path in sorted((ROOT / "workflow/rules/methods").glob("*.smk"))}
PAPERS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "workflow/papers").glob("*.yaml"))}
for paper in PAPERS.values():
    validate(paper, str(ROOT / "workflow/schemas/paper.schema.yaml"))


def check_names(kind, used, known, remedy):
    for name in used:
        if name not in known:
            raise ReplirankError(
                f"unknown {kind} {name!r}", path="config.yaml", remedy=f"{remedy}; known are {', '.join(sorted(known))}"
            )


ALL_METHODS = {*methods.ids(), *METHOD_RULES}
check_names("data set", [*config["datasets"], *config["run"]["datasets"]], SPECS, "see src/replirank/data/specs.py")
check_names("data set", config["run"]["datasets"], config["datasets"], "give it an entry under datasets")
check_names("method", [*config["methods"], *config["run"]["methods"]], ALL_METHODS, "see docs/adding-a-method.md")
check_names("method", config["run"]["methods"], config["methods"], "give it an entry under methods")
check_names("paper", config["run"]["papers"], PAPERS, "see workflow/papers")
for method in METHOD_RULES:
    if method in config["methods"] and "title" not in config["methods"][method]:
        raise ReplirankError(f"method {method!r} has no title", path="config.yaml", remedy="give it one under methods")

_catalogue = Catalogue()
_homes = [] if config["always_simulate"] else homes(root=ROOT)


def source_of(dataset):
    """The folder or archive that holds this data set, as the job's input: when it changes, so does what follows."""
    spec = SPECS[dataset]
    found = None if spec.made else find_source(spec.names, _homes, spec.bundles, catalogue=_catalogue)
    return [] if found is None else [str(found)]


def wanted(entry):
    return entry.get("dataset") in (None, *config["run"]["datasets"])


def paper_outputs():
    """Every table and figure of the papers to run, but for those of a data set that is not run."""
    outputs = []
    for paper in config["run"]["papers"]:
        tables, figures = (
            [name for name, entry in PAPERS[paper].get(part, {}).items() if wanted(entry)]
            for part in ("tables", "figures")
        )
        outputs += expand("results/tables/{paper}/{name}.{form}", paper=paper, name=tables, form=["csv", "md", "tex"])
        outputs += expand("figures/{paper}/{name}.{form}", paper=paper, name=figures, form=["pdf", "png"])
    return outputs


def evidence(wildcards):
    """What a paper's tables and figures are made from."""
    trained = [method for method in config["run"]["methods"] if method not in METHOD_RULES]
    runs = expand("{dataset}/{method}", dataset=config["run"]["datasets"], method=trained)
    return {
        "metrics": "results/metrics.parquet",
        "cards": expand("results/data/{dataset}/card.json", dataset=config["run"]["datasets"]),
        "choices": expand("results/choices/{run}.json", run=runs),
        "history": expand("results/history/{run}.csv", run=runs),
        "paper": str(ROOT / f"workflow/papers/{wildcards.paper}.yaml"),
    }


wildcard_constraints:
    dataset="|".join(SPECS),
    method=r"[a-z0-9_]+",
    paper=r"[a-z0-9]+",
    name=r"[a-z0-9_]+",
