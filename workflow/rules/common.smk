# What the rules share: where things are, and what the config means. No work is done here.

import functools
import itertools
import json
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from replirank import methods
from replirank.data.sources import read_sources
from replirank.data.specs import SPECS, own_spec
from replirank.data.stock import Stock
from replirank.errors import ReplirankError
from replirank.pipeline.jobs import release_stale_locks, set_environment
from replirank.reporting import protocol
from replirank.reporting.protocol import alternatives, check_metric_names, convention_of
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
OWN = {name: own_spec(name, entry, ROOT) for name, entry in config["datasets"].items() if "path" in entry}
DATASETS = {**SPECS, **OWN}
check_names("data set", config["datasets"], DATASETS, "give a data set of your own a path, see docs/your-own-data.md")
check_names("method", config["methods"], ALL_METHODS, "see docs/adding-a-method.md")
check_names("paper", config["papers"], PAPERS, "see src/replirank/papers")
check_metric_names(config, PAPERS)
check_names("paper", config["run"], config["papers"], "give it an entry under papers")
for entry in config["papers"].values():
    for datasets in alternatives(entry).values():
        check_names("data set", datasets, config["datasets"], "give it an entry under datasets")
    check_names("method", entry["methods"], config["methods"], "give it an entry under methods")
for entry in config["datasets"].values():
    check_names("method", entry.get("grids", {}), config["methods"], "give it an entry under methods")
for paper, entry in config["papers"].items():
    check_names("role", entry.get("simulate_missing", []), alternatives(entry), f"see papers: {paper}: datasets")
for method in METHOD_RULES:
    if method in config["methods"] and "title" not in config["methods"][method]:
        raise ReplirankError(f"method {method!r} has no title", path="config.yaml", remedy="give it one under methods")

STOCK = Stock(DATASETS, read_sources(ROOT / config["sources"]), ROOT, look=not config["always_simulate"])
FETCHED = "results/data/fetched.json"


def to_fetch():
    """The data sets of the papers to run that are not on this machine, where a public copy is known."""
    if config["always_simulate"] or not config["fetch"]:
        return []
    wanted = []
    for paper in config["run"]:
        for names in alternatives(config["papers"][paper]).values():
            wanted += itertools.takewhile(lambda name: not STOCK.source(name), names)
    return [name for name in dict.fromkeys(map(STOCK.files_of, wanted)) if STOCK.public_copy(name)]


def tried_before():
    """The data sets that the last run tried to fetch."""
    return json.loads(Path(FETCHED).read_text()) if Path(FETCHED).exists() else {}


TO_FETCH = to_fetch()
# What could not be fetched the last time is tried again. A dry run takes it for missing, else it could not say what
# else is to be done. (workflow.dryrun is not set yet when this is read.)
if TO_FETCH and workflow.is_main_process:
    if not workflow.output_settings.dryrun:
        Path(FETCHED).unlink(missing_ok=True)
    elif set(TO_FETCH) <= tried_before().keys():
        again = "\n".join(f"  {STOCK.plan(name)}" for name in TO_FETCH)
        logger.info(f"These could not be fetched the last time. A run tries again:\n{again}")
        TO_FETCH = []


def wait_for_fetch():
    """What is at hand is known when the checkpoint is past."""
    if TO_FETCH:
        checkpoints.fetch.get()  # until then this raises what tells Snakemake to ask again later
        look_again_once()


@functools.cache
def look_again_once():
    STOCK.look_again()


def source_of(dataset):
    """The folder, archive or file that holds this data set, as the job's input: when it changes, so does what follows."""
    if STOCK.files_of(dataset) in TO_FETCH:
        wait_for_fetch()
    source = STOCK.source(dataset)
    return [] if source is None else [str(source)]


class Protocols(dict):
    """Of each paper, worked out when it is first asked for: the data may have to be fetched before."""

    def __missing__(self, paper):
        wait_for_fetch()
        self[paper] = protocol.resolve(config, paper, lambda name: STOCK.source(name) is not None)
        return self[paper]


PROTOCOLS = Protocols()


def run_datasets():
    return list(dict.fromkeys(dataset for paper in config["run"] for dataset in PROTOCOLS[paper].datasets))


def by_size(least, per_mb):
    """A resource of a job on one data set: what a full run took, and some, with the size of the features in MB."""

    def amount(wildcards):
        spec = DATASETS[wildcards.dataset]
        return round(least + per_mb * (spec.documents or 100_000) * (spec.features or 100) * 4 / 1e6)

    return amount


def grid_of(method, dataset):
    """config.yaml's grid of a method, with what it says of this data set."""
    return {**config["methods"][method]["grid"], **config["datasets"][dataset].get("grids", {}).get(method, {})}


def outputs_of(paper, part):
    """The paper's tables or figures by name: what each is, and of which data sets."""
    return protocol.outputs(PAPERS[paper].get(part, {}), PROTOCOLS[paper], of_missing=part == "tables")


def is_missing(output):
    """Is this the table of a data set that is not at hand?"""
    return output.entry.get("role") in output.protocol.missing


def how_to_get(wildcards, part):
    """Of the data sets that this table or figure is without: title and remedy."""
    missing = outputs_of(wildcards.paper, part)[wildcards.name].protocol.missing
    return {role: {"title": DATASETS[name].title, "remedy": STOCK.remedy(name)} for role, name in missing.items()}


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


def figure_titles():
    return {
        f"figures/{paper}/{name}.png": output.entry["title"]
        for paper in config["run"]
        for name, output in outputs_of(paper, "figures").items()
    }


def kept_by_training(paper, datasets, output):
    """The files that training keeps under this name (choices, history), of all methods on these data sets.

    A method's own rule, which has the method's name, may have such an output or not.
    """
    files = []
    for dataset, method in itertools.product(datasets, config["papers"][paper]["methods"]):
        trained_by = getattr(rules, method if method in METHOD_RULES else "train")
        if pattern := trained_by.output.get(output):
            files += expand(pattern, paper=paper, dataset=dataset, method=method)
    return files


def titles_of(paper):
    """The titles that config.yaml gives to the paper's methods."""
    settings = {method: config["methods"][method] for method in config["papers"][paper]["methods"]}
    return {method: setting["title"] for method, setting in settings.items() if "title" in setting}


def evidence(part):
    """What a paper's tables or figures are made from."""

    def files(wildcards):
        paper, room = wildcards.paper, ROOT / f"src/replirank/papers/{wildcards.paper}"
        output = outputs_of(paper, part)[wildcards.name]
        sheets = [str(room / sheet["file"]) for sheet in PAPERS[paper].get("sheets", [])]
        stated = {"paper": str(room / "paper.yaml"), "sheets": sheets}
        if is_missing(output):
            return stated
        entry, datasets = output.entry, output.protocol.datasets
        if "needs" in entry:
            draws = range(1, output.protocol.draws + 1)
            stated["needs"] = list(dict.fromkeys(expand(entry["needs"], draw=draws, dataset=datasets)))
            if not entry.get("and_results"):
                return stated
        return {
            **stated,
            "metrics": f"results/metrics/{paper}.parquet",
            "cards": expand("results/data/{dataset}/card.json", dataset=datasets),
            "choices": kept_by_training(paper, datasets, "choices"),
            "history": kept_by_training(paper, datasets, "history"),
        }

    return files


wildcard_constraints:
    dataset="|".join(DATASETS),
    method=r"[a-z0-9_]+",
    paper="|".join(PAPERS),
    name=r"[a-z0-9_]+",
