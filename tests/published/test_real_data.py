"""The real archives, read and checked against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from helpers import ROOT
from sklearn.datasets import load_svmlight_file

from replirank.data import letor_text
from replirank.data.arrays import Fold
from replirank.data.layouts import Layout, find_layout
from replirank.data.normalize import is_normalized_by_query, normalize_by_query
from replirank.data.prepare import prepare, read_layout
from replirank.data.specs import SPECS, spec
from replirank.data.unpack import unpack


@pytest.mark.parametrize(
    ("name", "origin", "original", "barren", "folds"),
    [
        ("ohsumed", "real", True, 1, [22, 21, 21, 21, 21]),
        ("mq2008", "real", True, 220, [156, 157, 157, 157, 157]),
        ("mq2007", "rebuilt", False, 237, [336, 339, 339, 339, 339]),
        ("td2003", "rebuilt", False, 1, [10, 10, 10, 10, 10]),
        ("td2003_4", "rebuilt", False, 1, [12, 13, 13, 12]),
        ("td2003_list", "derived", False, 0, [10, 10, 10, 10, 10]),
        ("np2004_30", "real", False, 1, [6, 6, 6, 6, 6]),
    ],
)
def test_counts_labels_and_folds_are_as_known(real_data, name, origin, original, barren, folds):
    known, source = spec(name), real_data(name)
    card = prepare(known, source=source, report=lambda text: None).card
    assert (card["origin"], card["original_bytes"]) == (origin, original)
    assert (card["queries"], card["documents"], card["features"]) == (known.queries, known.documents, known.features)
    assert {int(label): count for label, count in card["labels"].items()} == (known.labels or {})
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


@pytest.mark.parametrize("name", ["ohsumed", "mq2007", "mq2008"])
def test_the_first_fold_alone_gives_the_same_arrays_and_folds(real_data, tmp_path, name):
    known = spec(name)
    files = find_layout(unpack(real_data(name), tmp_path / "unpacked"), known.names)
    assert len(files.folds) == 5
    whole, first = (read_layout(known, Layout(files.folder, folds=folds)) for folds in (files.folds, files.folds[:1]))
    for array in ("features", "labels", "offsets", "query_ids", "document_ids"):
        one, other = getattr(whole.data, array), getattr(first.data, array)
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
    assert len(first.folds) == 5
    for one, other in zip(whole.folds, first.folds, strict=True):
        for split in Fold._fields:
            np.testing.assert_array_equal(getattr(one, split), getattr(other, split))


@pytest.fixture(scope="module")
def np2004_30(tmp_path_factory):
    archive = ROOT / "../shared/data/NP2004-30.tar.xz"
    if not archive.exists():
        pytest.skip("NP2004-30 is not at hand")
    return unpack(archive, tmp_path_factory.mktemp("np2004") / "unpacked") / "NP2004-30"


@pytest.mark.parametrize("part", ["S4", "S5"])
def test_query_level_norm_of_np2004_is_made_from_the_original(np2004_30, part):
    original = letor_text.read(np2004_30 / f"Original/{part}.txt", dtype=np.float64)
    scaled = letor_text.read(np2004_30 / f"QueryLevelNorm/{part}.txt")
    assert original.query_ids.dtype.kind == "U"
    assert all(query.startswith("WT04-") for query in original.query_ids)
    np.testing.assert_array_equal(original.query_ids, scaled.query_ids)
    np.testing.assert_array_equal(original.labels, scaled.labels)
    assert not is_normalized_by_query(original)
    made = normalize_by_query(original).features.astype(np.float64)
    # The archive has six decimals; 2**-25 is what float32 adds to each of the two numbers.
    np.testing.assert_allclose(made, scaled.features.astype(np.float64), rtol=0, atol=0.5e-6 + 2 * 2**-25)


def test_parts_4_and_5_of_np2004_in_five_folds(np2004_30):
    known = spec("np2004_30")
    dataset = read_layout(known, find_layout(np2004_30, parts=known.part_numbers))
    assert (dataset.data.queries, dataset.data.documents) == (30, 29_181)
    assert [fold.test.tolist() for fold in dataset.folds] == [[*range(a, a + 6)] for a in (24, 0, 6, 12, 18)]


@pytest.mark.parametrize("name", ["ohsumed", "mq2007", "mq2008", "td2003"])
def test_letors_own_files_are_normalized_by_query_and_stay_as_they_are(real_data, tmp_path, name):
    known = spec(name)
    files = find_layout(unpack(real_data(name), tmp_path / "unpacked"), known.names)
    as_it_is, scaled = (read_layout(known, files, normalize=normalize).data for normalize in (False, True))
    assert is_normalized_by_query(as_it_is)
    assert as_it_is.features.tobytes() == scaled.features.tobytes()


def test_every_known_data_set_has_an_entry_in_the_config():
    assert set(yaml.safe_load((ROOT / "config.yaml").read_text())["datasets"]) == set(SPECS)
