"""Views of ranking data."""

from __future__ import annotations

import hashlib
import struct
import tracemalloc

import numpy as np
import pytest

from replirank.data import arrays
from replirank.data.arrays import Dataset, Fold, Judgements, RankingData, join_ids
from replirank.data.pairs import pair_counts

QUERIES, LENGTH, FEATURES = 40, 25, 200


@pytest.fixture(scope="module")
def dataset():
    random = np.random.default_rng(0)
    data = RankingData(
        features=random.normal(size=(QUERIES * LENGTH, FEATURES)).astype(np.float32),
        labels=random.integers(0, 3, QUERIES * LENGTH).astype(np.float32),
        offsets=np.arange(QUERIES + 1) * LENGTH,
        query_ids=random.permutation(QUERIES) + 100,
    )
    return Dataset(data, (Fold(*np.split(random.permutation(QUERIES), [24, 32])),))


@pytest.mark.parametrize("split", Fold._fields)
def test_judgements_are_those_of_the_split(dataset, split):
    judged, whole = dataset.judgements(0, split), dataset.split(0, split)
    for name in ("labels", "offsets", "query_ids", "lengths", "query_of"):
        np.testing.assert_array_equal(getattr(judged, name), getattr(whole, name))
    assert (judged.queries, judged.documents) == (whole.queries, whole.documents)
    np.testing.assert_array_equal(pair_counts(judged), pair_counts(whole))
    assert list(judged) == list(whole)
    assert isinstance(whole, Judgements)


def test_judgements_copy_no_features(dataset):
    """A split does: the training features are 24 x 25 x 200 x 4 bytes."""
    peaks = {}
    for view in (dataset.judgements, dataset.split):
        tracemalloc.start()
        view(0, "train")
        peaks[view.__name__] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["split"] > 24 * LENGTH * FEATURES * 4
    assert peaks["judgements"] < 24 * LENGTH * FEATURES * 4 / 10


def two_queries(*ids) -> RankingData:
    return RankingData(
        features=np.array([[0.5], [1], [2]], dtype=np.float32),
        labels=np.array([0, 1, 2], dtype=np.float32),
        offsets=np.array([0, 1, 3]),
        query_ids=np.array(ids),
    )


def test_the_checksum_of_numbered_queries_is_fixed():
    """SHA-256 of each array's shape and bytes, as the known checksums in specs.py were made."""
    content = b"(3, 1)" + struct.pack("<3f", 0.5, 1, 2) + b"(3,)" + struct.pack("<3f", 0, 1, 2)
    content += b"(3,)" + struct.pack("<3q", 0, 1, 3) + b"(2,)" + struct.pack("<2q", 7, 12)
    assert two_queries(7, 12).checksum() == hashlib.sha256(content).hexdigest()


def test_the_checksum_tells_text_ids_apart():
    ids = [("a", "bc"), ("ab", "c"), ("a", "b"), ("b", "a"), ('a", "b', ""), ("7", "12"), (7, 12), ("é", "b")]
    assert len({two_queries(*pair).checksum() for pair in ids}) == len(ids)


def test_the_checksum_of_text_ids_asks_for_the_ids_alone_not_for_the_width_they_are_kept_in():
    wide = two_queries("a", "b")
    wide = RankingData(wide.features, wide.labels, wide.offsets, wide.query_ids.astype("<U40"))
    assert wide.checksum() == two_queries("a", "b").checksum()


@pytest.mark.parametrize("ids", [(7, 12), ("WT04-132", "é")])
def test_query_ids_are_kept_in_the_file(tmp_path, ids):
    data = two_queries(*ids)
    arrays.save(tmp_path / "arrays.npz", Dataset(data, ()))
    back = arrays.load(tmp_path / "arrays.npz").data
    assert back.query_ids.tolist() == list(ids)
    assert (back.query_ids.dtype, back.text_ids) == (data.query_ids.dtype, isinstance(ids[0], str))
    assert back.checksum() == data.checksum()


def test_joined_ids_are_text_if_any_are():
    numbers, words = np.array([7, 2**63 - 1]), np.array(["WT04-132"])
    joined = join_ids([numbers, numbers])
    assert (joined.dtype, joined.tolist()) == (np.int64, [7, 2**63 - 1] * 2)
    assert join_ids([words, numbers]).tolist() == ["WT04-132", "7", "9223372036854775807"]
