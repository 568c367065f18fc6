"""Flower's own simulation: a server's app, owners' apps in processes of Ray's, on loopback."""

from __future__ import annotations

import numpy as np

from nolook.algorithms.grids import LinearGrid
from nolook.privacy.noise import SeededSource
from nolook_flower import FlowerSum, owner_app, simulate
from nolook_flower.secure_sum import InProcessSum
from nolook_flower.summed_ecdf import SummedQuery, release_summed_ecdf

GRID = LinearGrid(0.0, 10.0, 0.01)


def values_of(owners):
    rng = np.random.default_rng(owners)
    return [rng.normal(5.0, 2.0, size) for size in rng.integers(1, 50, owners)]


def test_ten_owners_of_whom_one_drops_out():
    query = SummedQuery(GRID, 1.0, "owners", 2)
    source = SeededSource(0)
    vectors = [query.vector(values, i, source) for i, values in enumerate(values_of(10))]

    def vector(place):
        if place == 7:
            raise RuntimeError("gone")
        return vectors[place]

    total = simulate(owner_app(vector), 10, query.needed, 3, 120.0)
    left = [i for i in range(10) if i != 7]
    expected = InProcessSum().sum([vectors[i] for i in left], query.needed)
    assert total.owners == tuple(left)
    np.testing.assert_array_equal(total.numbers, expected.numbers)
    found = query.distribution(total, source)
    same = query.distribution(expected, source)
    np.testing.assert_array_equal(found.counts, same.counts)
    assert found.rows == sum(len(values_of(10)[i]) for i in left)


def test_a_release_by_flower_is_that_of_one_process():
    query, owners = SummedQuery(GRID, 1.0, "aggregator"), values_of(4)
    found = [
        release_summed_ecdf(owners, query, summing, SeededSource(5)).counts
        for summing in (FlowerSum(1, 120.0), InProcessSum())
    ]
    np.testing.assert_array_equal(*found)
