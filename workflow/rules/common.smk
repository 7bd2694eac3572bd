# What the rules share: where things are, and what the config means. No work is done here.

import itertools
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from replirank import methods
from replirank.data.find import Catalogue, find_source, homes
from replirank.data.specs import SPECS
from replirank.errors import ReplirankError
from replirank.pipeline.jobs import release_stale_locks, set_environment
from replirank.reporting.protocol import alternatives, check_metric_names, resolve
from replirank.pipeline.fingerprint import fingerprint

set_environment(ROOT)

if workflow.is_main_process and release_stale_locks():
    logger.info("An earlier run was killed: its locks are removed and its unfinished jobs are done again.")


ENVIRONMENT = str(ROOT / "environment.yml")
# For rules that call the command from a shell, whatever is on the PATH there.
REPLIRANK = f"{sys.executable} -m replirank.cli"
METHOD_RULES = {path.stem: str(path) for path in sorted((ROOT / "workflow/rules/methods").glob("*.smk"))}
PAPER_RULES = [str(path) for path in sorted((ROOT / "src/replirank/papers").glob("*/rules.smk"))]
PAPERS = {
    path.parent.name: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / "src/replirank/papers").glob("*/paper.yaml"))
}
for name, paper in PAPERS.items():
    try:
        validate(paper, str(ROOT / "workflow/schemas/paper.schema.yaml"))
    except WorkflowError as error:
        raise ReplirankError(str(error), path=f"src/replirank/papers/{name}/paper.yaml", remedy="correct this entry")


def check_names(kind, used, known, remedy):
    for name in used:
        if name not in known:
            raise ReplirankError(
                f"unknown {kind} {name!r}", path="config.yaml", remedy=f"{remedy}; known are {', '.join(sorted(known))}"
            )


ALL_METHODS = {*methods.ids(), *METHOD_RULES}
check_names("data set", config["datasets"], SPECS, "see src/replirank/data/specs.py")
check_names("method", config["methods"], ALL_METHODS, "see docs/adding-a-method.md")
check_names("paper", config["papers"], PAPERS, "see src/replirank/papers")
check_metric_names(config, PAPERS)
check_names("paper", config["run"], config["papers"], "give it an entry under papers")
for entry in config["papers"].values():
    for datasets in alternatives(entry).values():
        check_names("data set", datasets, config["datasets"], "give it an entry under datasets")
    check_names("method", entry["methods"], config["methods"], "give it an entry under methods")
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


PROTOCOLS = {paper: resolve(config, paper, lambda name: bool(source_of(name))) for paper in config["papers"]}
RUN_DATASETS = list(dict.fromkeys(dataset for paper in config["run"] for dataset in PROTOCOLS[paper].datasets))


def by_size(least, per_mb):
    """A resource of a job on one data set: what a full run took, and some, with the size of the features in MB."""

    def amount(wildcards):
        spec = SPECS[wildcards.dataset]
        return round(least + per_mb * (spec.documents or 100_000) * spec.features * 4 / 1e6)

    return amount


def outputs_of(paper, part):
    """The paper's tables or figures that can be made: not those whose role has no data set."""
    entries = PAPERS[paper].get(part, {}).items()
    return [name for name, entry in entries if entry.get("role") in (None, *PROTOCOLS[paper].roles)]


def paper_outputs():
    """Every table and figure of the papers to run."""
    outputs = []
    for paper in config["run"]:
        tables, figures = outputs_of(paper, "tables"), outputs_of(paper, "figures")
        outputs += expand(
            "results/tables/{paper}/{name}.{form}", paper=paper, name=tables, form=["csv", "md", "tex", "json"]
        )
        outputs += expand("figures/{paper}/{name}.{form}", paper=paper, name=figures, form=["pdf", "png"])
    return outputs


def kept_by_training(paper, output):
    """The files that training keeps under this name (choices, history), of all methods on all data sets.

    A method's own rule, which has the method's name, may have such an output or not.
    """
    protocol, files = PROTOCOLS[paper], []
    for dataset, method in itertools.product(protocol.datasets, protocol.methods):
        trained_by = getattr(rules, method if method in METHOD_RULES else "train")
        if pattern := trained_by.output.get(output):
            files += expand(pattern, paper=paper, dataset=dataset, method=method)
    return files


def titles_of(paper):
    """The titles that config.yaml gives to the paper's methods."""
    settings = {method: config["methods"][method] for method in PROTOCOLS[paper].methods}
    return {method: setting["title"] for method, setting in settings.items() if "title" in setting}


def evidence(part):
    """What a paper's tables or figures are made from."""

    def files(wildcards):
        paper, protocol = wildcards.paper, PROTOCOLS[wildcards.paper]
        stated = {"paper": str(ROOT / f"src/replirank/papers/{paper}/paper.yaml")}
        entry = PAPERS[paper][part][wildcards.name]
        if "needs" in entry:
            stated["needs"] = expand(entry["needs"], draw=range(1, protocol.draws + 1))
            if not entry.get("and_results"):
                return stated
        return {
            **stated,
            "metrics": f"results/metrics/{paper}.parquet",
            "cards": expand("results/data/{dataset}/card.json", dataset=protocol.datasets),
            "choices": kept_by_training(paper, "choices"),
            "history": kept_by_training(paper, "history"),
        }

    return files


wildcard_constraints:
    dataset="|".join(SPECS),
    method=r"[a-z0-9_]+",
    paper="|".join(PAPERS),
    name=r"[a-z0-9_]+",
