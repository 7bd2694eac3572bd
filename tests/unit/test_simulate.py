"""Simulated sets have the shapes they stand for, and can be learned from, but not perfectly."""

import numpy as np
import pytest

from replirank.data import simulate
from replirank.data.columns import GOV, LETOR4, OHSUMED
from replirank.data.folds import rotation
from replirank.data.simulate import aol, click_levels, draw_clicks, gov, letor, mslr, strict_list, web
from replirank.errors import ReplirankError

OHSUMED_SHARES = {0: 0.70, 1: 0.16, 2: 0.14}
MQ2008_SHARES = {0: 0.807, 1: 0.132, 2: 0.061}

SMALL = {
    "letor": lambda seed: letor(20, 12, 46, OHSUMED_SHARES, seed=seed),
    "gov": lambda seed: gov(2, 10, 60, seed=seed),
    "web": lambda seed: web(24, 10, 30, seed=seed),
    "aol": lambda seed: aol(20, 8, 30, seed=seed),
    "strict_list": lambda seed: strict_list(10, (5, 30), seed=seed),
    "mslr": lambda seed: mslr(20, 20, seed=seed),
}


@pytest.fixture(scope="module")
def ohsumed():
    return letor(106, (35, 152, 320), 45, OHSUMED_SHARES, seed=1, columns=OHSUMED)


@pytest.fixture(scope="module")
def mq2008():
    lengths = (5, 15211 / 784, 121)
    return letor(784, lengths, 46, MQ2008_SHARES, seed=1, columns=LETOR4, barren=220 / 784)


@pytest.fixture(scope="module")
def web_set():
    return web(1200, 30, 120, seed=1)


@pytest.fixture(scope="module")
def clicks():
    return aol(1500, seed=1)


@pytest.fixture(scope="module")
def lists():
    return strict_list(40, (50, 300), seed=1)


def pairwise_accuracy(scores, data):
    """The share of pairs in the right order, over all queries; a tie is half right."""
    right = pairs = 0
    for query in data:
        better = data.labels[query][:, None] > data.labels[query]
        right += (np.sign(scores[query][:, None] - scores[query])[better] + 1).sum() / 2
        pairs += better.sum()
    return right / pairs


def column(data, name):
    return data.features[:, data.columns[name]]


def least_squares(dataset, prepare=lambda x: x.astype(float)):
    """Scores of the first fold's test documents by linear regression on its training documents."""
    train, test = dataset.split(0, "train"), dataset.split(0, "test")
    x = prepare(train.features)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    x = (x - mean) / spread
    # The normal equations, with a ridge that makes up for columns that are constant or repeat others.
    weights = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (train.labels - train.labels.mean()))
    return (prepare(test.features) - mean) / spread @ weights, test


def relevant_per_query(data):
    return np.add.reduceat(data.labels > data.labels.min(), data.offsets[:-1])


# All sets


@pytest.mark.parametrize("name", SMALL)
def test_arrays_and_ids(name):
    data = SMALL[name](3).data
    assert data.features.dtype == data.labels.dtype == np.float32
    assert data.offsets.dtype == data.query_ids.dtype == np.int64
    assert len(data.features) == len(data.labels) == len(data.document_ids) == data.offsets[-1]
    assert data.features.flags.c_contiguous
    assert np.isfinite(data.features).all()
    assert data.query_ids.tolist() == list(range(1, data.queries + 1))
    expected = [f"SIM-{q}-{row}" for q, n in enumerate(data.lengths, 1) for row in range(1, n + 1)]
    assert data.document_ids.tolist() == expected


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_every_byte(name):
    first, again, other = (SMALL[name](seed).data for seed in (1, 1, 2))
    for field in ("features", "labels", "offsets", "document_ids"):
        assert getattr(first, field).tobytes() == getattr(again, field).tobytes()
    assert first.checksum() != other.checksum()


@pytest.mark.parametrize("name", SMALL)
def test_folds_part_the_queries(name):
    dataset = SMALL[name](1)
    for fold in dataset.folds:
        assert sorted(np.concatenate(fold)) == list(range(dataset.data.queries))
    if len(dataset.folds) > 1:
        tested = np.concatenate([fold.test for fold in dataset.folds])
        assert sorted(tested) == list(range(dataset.data.queries))


def test_rotation_is_letors():
    one, two, *_, five = rotation(10, 5)
    assert [part.tolist() for part in one] == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]
    assert [part.tolist() for part in two] == [[2, 3, 4, 5, 6, 7], [8, 9], [0, 1]]
    assert [part.tolist() for part in five] == [[8, 9, 0, 1, 2, 3], [4, 5], [6, 7]]
    assert [[len(part) for part in fold] for fold in rotation(8, 4)] == [[4, 2, 2]] * 4


def test_blocks_change_nothing(monkeypatch):
    """Documents are made a few queries at a time; how many is a matter of memory alone."""
    whole = SMALL["web"](1).data.features
    monkeypatch.setattr(simulate, "blocks", lambda offsets, rows: (slice(q, q + 1) for q in range(len(offsets) - 1)))
    assert (SMALL["web"](1).data.features == whole).all()


# LETOR's shape


def test_label_shares(ohsumed, mq2008):
    for dataset, shares in ((ohsumed, OHSUMED_SHARES), (mq2008, MQ2008_SHARES)):
        for level, share in shares.items():
            assert abs((dataset.data.labels == level).mean() - share) < 1e-3


def test_lengths(ohsumed, mq2008):
    assert mq2008.data.documents == 15_211
    assert ohsumed.data.documents == 106 * 152
    assert 35 <= ohsumed.data.lengths.min() < 80
    assert 250 < ohsumed.data.lengths.max() <= 320
    # Half of the real set's queries (403 of 784) have fewer than 9 documents.
    assert 0.35 < (mq2008.data.lengths < 9).mean() < 0.65
    even = letor(40, 20, 5, OHSUMED_SHARES, seed=1).data.lengths
    assert (even.min() >= 10, even.max() <= 30, even.mean()) == (True, True, 20)


def test_barren_queries_and_no_others_have_no_relevant_document(ohsumed, mq2008):
    assert (relevant_per_query(mq2008.data) == 0).sum() == 220
    assert (relevant_per_query(ohsumed.data) > 0).all()


@pytest.mark.parametrize("name", ["ohsumed", "mq2008", "clicks", "lists"])
def test_features_are_scaled_in_each_query(name, request):
    data = request.getfixturevalue(name).data
    low = np.minimum.reduceat(data.features, data.offsets[:-1])
    high = np.maximum.reduceat(data.features, data.offsets[:-1])
    assert (low == 0).all()
    assert np.isin(high, (0, 1)).all()
    assert (high == 1).mean() > 0.6


def test_features_are_like_an_indexs(ohsumed):
    x = ohsumed.data.features
    assert 0.2 < (x == 0).mean() < 0.6
    alive = x.std(axis=0) > 0
    assert 3 <= (~alive).sum() <= 12
    skew = ((x[:, alive] - x[:, alive].mean(axis=0)) ** 3).mean(axis=0) / x[:, alive].std(axis=0) ** 3
    assert np.median(skew) > 0.3
    labels = ohsumed.data.labels
    useless = [k for k in np.flatnonzero(alive) if abs(np.corrcoef(x[:, k], labels)[0, 1]) < 0.03]
    assert len(useless) >= 3
    # Copies follow their originals in everything but shape.
    places = np.argsort(np.argsort(x[:, alive], axis=0), axis=0)
    assert (np.corrcoef(places.T) - np.eye(alive.sum()) > 0.8).any()


@pytest.mark.parametrize("name", ["ohsumed", "mq2008", "web_set", "clicks", "lists"])
def test_bm25_is_good_and_regression_better_but_not_perfect(name, request):
    dataset = request.getfixturevalue(name)
    prepare = np.log1p if name == "web_set" else lambda x: x.astype(float)  # ranknet2005 takes logs of the counts, too
    scores, test = least_squares(dataset, prepare)
    bm25 = pairwise_accuracy(column(test, "bm25"), test)
    learned = pairwise_accuracy(scores, test)
    assert 0.6 < bm25 < 0.8
    assert bm25 + 0.02 < learned < 0.9


@pytest.mark.parametrize("name", ["mq2008", "web_set", "clicks", "lists"])
def test_pagerank_is_weak_but_not_useless(name, request):
    data = request.getfixturevalue(name).data
    assert 0.53 < pairwise_accuracy(column(data, "pagerank"), data) < 0.63


# .Gov


def test_gov_home_pages_have_one_relevant_document_each():
    data = gov(1, 15, 984, seed=2).data
    assert data.features.shape == (15 * 984, 64)
    assert (relevant_per_query(data) == 1).all()
    assert data.lengths.max() <= 1004
    assert data.columns == GOV


def test_gov_topics_have_several():
    dataset = gov(8, 20, 981, seed=2)
    counts = relevant_per_query(dataset.data)
    assert set(np.unique(dataset.data.labels)) == {0, 1}
    assert counts.mean() == 8
    assert counts.min() >= 1
    assert counts.std() > 2
    assert len(dataset.folds) == 5


# Web


def test_web_has_five_ratings_and_unlabelled_documents(web_set):
    data = web_set.data
    assert np.unique(data.labels).tolist() == [0, 1, 2, 3, 4, 5]
    assert abs((data.labels == 0).mean() - 0.2) < 1e-3
    judged = np.add.reduceat(data.labels > 0, data.offsets[:-1])
    assert judged.min() >= 1
    assert data.lengths.mean() == 30
    assert [len(part) for part in web_set.folds[0]] == [800, 200, 200]
    assert (web(12, 10, 20, seed=1, unlabelled=0).data.labels > 0).all()


def test_web_scales_are_mixed(web_set):
    x = web_set.data.features
    top = x.max(axis=0)
    whole = (x == np.floor(x)).all(axis=0)
    assert (x >= 0).all()
    assert top.max() > 1000
    assert (whole & (top == 1)).any(), "flags"
    assert (whole & (top > 100)).any(), "counts"
    assert (~whole & (top > 1)).any(), "scores"


def test_web_rewards_a_hidden_layer(web_set):
    """Least squares on random tanh units, on top of the features, ranks better than on the features alone."""
    scores, test = least_squares(web_set, np.log1p)
    x = np.log1p(web_set.data.features)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    # Units that look at two features each: products are what the hidden utility has beyond a linear function.
    rng = np.random.default_rng(0)
    first = np.zeros((x.shape[1], 600), dtype=np.float32)
    for _ in range(2):
        first[rng.integers(0, x.shape[1], 600), np.arange(600)] = rng.choice([-1, 1], 600)
    hidden, _ = least_squares(
        web_set, lambda x: np.c_[np.log1p(x), np.tanh((np.log1p(x) - mean) / spread @ first - 0.5)]
    )
    assert pairwise_accuracy(hidden, test) > pairwise_accuracy(scores, test) + 0.005


def test_mslr_shape():
    data = mslr(60, 100, seed=1).data
    assert data.features.shape == (6000, 136)
    assert np.unique(data.labels).tolist() == [0, 1, 2, 3, 4]
    for level, share in simulate.MSLR_SHARES.items():
        assert abs((data.labels == level).mean() - share) < 1e-3
    assert data.features.max() > 1000
    assert data.columns == {"bm25": 109, "pagerank": 129}


# Clicks


def test_click_levels(clicks):
    levels, counts = np.unique(clicks.data.labels, return_counts=True)
    assert levels.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    assert counts.min() > 100
    assert clicks.data.features.shape == (1500 * 14, 140)
    assert [len(part) for part in clicks.folds[0]] == [600, 300, 600]


def test_click_levels_rise_with_the_rate_in_equal_steps():
    rates = np.linspace(0, 1, 7001)
    levels = click_levels(rates)
    assert (np.diff(levels) >= 0).all()
    counts = np.unique(levels, return_counts=True)[1]
    assert (abs(counts - 1000) <= 1).all()


def test_better_documents_have_higher_levels(clicks):
    bm25 = column(clicks.data, "bm25")
    means = [bm25[clicks.data.labels == level].mean() for level in (0, 0.5, 1, 1.5)]
    means.append(bm25[clicks.data.labels >= 2].mean())
    assert (np.diff(means) > 0).all()


def test_users_click_less_further_down_and_on_what_attracts_less():
    places = np.tile(np.arange(1, 11), (2, 1))
    attraction = np.repeat([[0.9], [0.3]], 10, axis=1)
    rates = draw_clicks(np.random.default_rng(0), attraction, places, np.full((2, 10), 100_000)) / 100_000
    assert (np.diff(rates, axis=1) < 0).all()
    assert (rates[0] > rates[1]).all()
    np.testing.assert_allclose(rates[:, 0], [0.9, 0.3], atol=0.01)
    assert draw_clicks(np.random.default_rng(0), np.zeros(3), np.ones(3), np.full(3, 40)).tolist() == [1, 1, 1]


# Strict orders


def test_strict_orders_are_permutations(lists):
    data = lists.data
    for query in data:
        assert sorted(data.labels[query]) == list(range(query.stop - query.start))
    assert 50 <= data.lengths.min() < data.lengths.max() <= 300
    assert data.documents == 40 * 175
    assert data.features.shape[1] == 46


# Errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: letor(10, 5, 8, {0: 0.9, 1: 0.05}, seed=1), "do not add up to 1"),
        (lambda: letor(10, 5, 8, {0: 0.98, 1: 0.02}, seed=1), "1 relevant documents cannot be had from 10 of 10"),
        (lambda: letor(10, 5, 8, {0: 0.2, 1: 0.8}, seed=1, barren=0.5), "cannot be had from 5 of 10"),
        (lambda: letor(10, 5, 8, OHSUMED_SHARES, seed=1, columns={"bm25": 8}), "not all among 8 features"),
        (lambda: letor(10, (5, 5.5, 5.9), 8, OHSUMED_SHARES, seed=1), "no query can have"),
        (lambda: letor(10, 5, 8, OHSUMED_SHARES, 11, seed=1), "10 queries cannot make 11 folds"),
        (lambda: letor(10, 5, 8, OHSUMED_SHARES, 2, seed=1), "cannot make 2 folds"),
    ],
)
def test_impossible_wishes_are_refused(make, message):
    with pytest.raises(ReplirankError, match=message):
        make()


def test_smallest_sets():
    tiny = letor(3, (1, 1), 1, {0: 1 / 3, 1: 2 / 3}, 3, seed=0, columns={}, barren=1 / 3).data
    assert tiny.features.tolist() == [[0], [0], [0]]
    assert sorted(tiny.labels) == [0, 1, 1]
