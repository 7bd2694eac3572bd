"""The real archives, read and checked against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from helpers import ROOT
from sklearn.datasets import load_svmlight_file

from replirank.data import letor_text
from replirank.data.prepare import prepare
from replirank.data.specs import SPECS, spec
from replirank.data.unpack import unpack


@pytest.mark.parametrize(
    ("name", "origin", "original", "barren", "folds"),
    [
        ("ohsumed", "real", True, 1, [22, 21, 21, 21, 21]),
        ("mq2008", "real", True, 220, [156, 157, 157, 157, 157]),
        ("mq2007", "rebuilt", False, 237, [336, 339, 339, 339, 339]),
        ("td2003_30", "rebuilt", False, 0, [7, 8, 8, 7]),
    ],
)
def test_counts_labels_and_folds_are_as_known(real_data, tmp_path, name, origin, original, barren, folds):
    known, source = spec(name), real_data(name)
    card = prepare(known, source=source, downloads=tmp_path, report=lambda text: None).card
    assert (card["origin"], card["original_bytes"]) == (origin, original)
    assert (card["queries"], card["documents"], card["features"]) == (known.queries, known.documents, known.features)
    assert {int(label): count for label, count in card["labels"].items()} == known.labels
    assert card["queries_without_relevant"] == barren
    assert [fold["test"]["queries"] for fold in card["folds"]] == folds


def test_a_real_file_reads_as_sklearn_reads_it(real_data, tmp_path):
    folder = unpack(real_data("mq2008"), tmp_path / "unpacked")
    path = folder / "MQ2008/Fold1/test.txt"
    data = letor_text.read(path)
    features, labels, qids = load_svmlight_file(str(path), query_id=True, dtype=np.float64)
    np.testing.assert_array_equal(data.features, features.toarray().astype(np.float32))
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(np.repeat(data.query_ids, data.lengths), qids)
    assert data.document_ids[0] == "GX004-93-7097963"


def test_five_levels_and_crlf_of_mslr(tmp_path):
    archive = ROOT / "../shared/data/MSLR-fragment.tar.xz"
    if not archive.exists():
        pytest.skip("the fragment of MSLR-WEB10K is not at hand")
    data = letor_text.read(unpack(archive, tmp_path / "unpacked") / "MSLR-fragment/train.txt")
    assert data.features.shape == (5000, 136)
    assert data.queries == 43
    assert set(data.labels) == {0, 1, 2, 3, 4}


def test_every_known_data_set_has_an_entry_in_the_config():
    assert set(yaml.safe_load((ROOT / "config.yaml").read_text())["datasets"]) == set(SPECS)
