"""Names of metrics and conventions in the YAML files: the registries know them, the schemas do not repeat them."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml

from replirank.errors import ReplirankError
from replirank.metrics.conventions import CONVENTIONS
from replirank.metrics.registry import METRICS
from replirank.pipeline.protocol import check_metric_names

ROOT = Path(__file__).parents[2]
CONFIG = {
    "papers": {"p": {"select_by": "kendall_tau"}, "q": {"select_by": "err", "convention": "burges"}},
    "datasets": {"ohsumed": {"convention": "letor3"}},
}
PAPER = {
    "tables": {
        "one": {"kind": "comparison", "metrics": ["kendall_tau", "top10", "ndcg@15"]},
        "two": {"kind": "significance", "metric": "pairwise_correct"},
        "three": {"kind": "data"},
    },
    "published": [{"convention": "letor4", "values": {"p@1": 0.5, "err": 0.25}}],
}


def test_every_registered_name_passes():
    check_metric_names(CONFIG, {"p": PAPER, "bare": {}})


@pytest.mark.parametrize(
    ("keys", "wrong", "message"),
    [
        (("config", "papers", "p", "select_by"), "ndgc@10", "config.yaml: unknown metric 'ndgc@10'"),
        (("config", "papers", "q", "convention"), "trec", "config.yaml: unknown convention 'trec'"),
        (("config", "datasets", "ohsumed", "convention"), "trec", "config.yaml: unknown convention 'trec'"),
        (("paper", "tables", "one", "metrics"), ["map", "mrr"], "paper.yaml: unknown metric 'mrr'"),
        (("paper", "tables", "two", "metric"), "ndcg", "paper.yaml: unknown metric 'ndcg'"),
        (("paper", "published", 0, "convention"), "trec", "paper.yaml: unknown convention 'trec'"),
        (("paper", "published", 0, "values"), {"p@16": 0.5}, "paper.yaml: unknown metric 'p@16'"),
    ],
)
def test_a_wrong_name_is_refused_with_its_file(keys, wrong, message):
    given = copy.deepcopy({"config": CONFIG, "paper": PAPER})
    *path, last = keys
    place = given
    for key in path:
        place = place[key]
    place[last] = wrong
    with pytest.raises(ReplirankError, match=re.escape(message)) as caught:
        check_metric_names(given["config"], {"p": given["paper"]})
    assert caught.value.remedy.startswith("choose one of ")


@pytest.mark.parametrize("name", ["config", "paper"])
def test_the_schemas_are_no_second_list(name):
    def strings(node):
        if isinstance(node, dict):
            return [text for key, value in node.items() if key != "default" for text in strings(value)]
        if isinstance(node, list):
            return [text for value in node for text in strings(value)]
        return re.findall(r"\w+", str(node))

    schema = yaml.safe_load((ROOT / f"workflow/schemas/{name}.schema.yaml").read_text())
    assert not {*CONVENTIONS, *METRICS} & set(strings(schema))
