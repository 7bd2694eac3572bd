"""Seeds: known, different, and independent of what else runs."""

import hashlib
import itertools

import jax
import numpy as np
import pytest

from replirank.seeds import derive


def test_is_what_sha256_says():
    """By arithmetic: a seed that changed with a version would change every result."""
    # printf 1/ohsumed/frank/0 | sha256sum
    digest = "47ec88283b016226d5fc1b50c2477bd32debb67b29be87ac1380359a47b5347d"
    assert hashlib.sha256(b"1/ohsumed/frank/0").hexdigest() == digest
    assert derive(1, "ohsumed", "frank", 0) == 0x47EC8828 // 2


def test_everything_counts():
    names = itertools.product((1, 2), ("ohsumed", "mq2008", "mq2007"), ("frank", "ranknet_linear"), range(5))
    seeds = [derive(*each) for each in names]
    assert len(set(seeds)) == 2 * 3 * 2 * 5


def test_order_of_names_counts():
    assert derive(1, "a", "b") != derive(1, "b", "a")
    assert derive(1, 2) != derive(2, 1)


def test_neighbouring_seeds_and_folds_do_not_share():
    """seed + fold would give fold 1 of seed 1 what fold 0 of seed 2 has."""
    assert len({derive(seed, "ohsumed", "frank", fold) for seed in range(20) for fold in range(20)}) == 400


def test_order_of_work_does_not_count():
    names = [("ohsumed", fold) for fold in range(5)]
    forwards = {name: derive(1, *name) for name in names}
    np.random.default_rng(0).shuffle(names)
    np.random.seed(7)  # noqa: NPY002 - nor does anybody's global state
    assert {name: derive(1, *name) for name in names} == forwards


@pytest.mark.parametrize("seed", [0, -1, 2**40])
def test_fits_every_generator(seed):
    seeds = [derive(seed, number) for number in range(200)]
    assert all(0 <= each < 2**31 for each in seeds)
    assert max(seeds) > 2**30 > min(seeds)  # all of the range
    np.random.default_rng(seeds[0])
    jax.random.key(seeds[0])
