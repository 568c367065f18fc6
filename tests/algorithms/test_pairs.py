"""Tables of all pairs: what is counted again, and estimates that shrink what noise hides."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nolook.algorithms.margins import NoisyTable, margins
from nolook.algorithms.pairs import shrunk, strongest

SIZES = (3, 4, 2, 6)


def tables(association, deviation, rows=5000, seed=0):
    """Return noisy tables, the first two columns associated, and the exact ones."""
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, size, rows) for size in SIZES]
    codes[1] = np.where(generator.random(rows) < association, codes[0], codes[1])
    exact, noisy = {}, []
    for own in (*((d,) for d in range(4)), *combinations(range(4), 2)):
        table = np.zeros([SIZES[d] for d in own])
        np.add.at(table, tuple(codes[d] for d in own), 1)
        exact[own] = table
        noisy.append(
            NoisyTable(own, table + deviation * generator.normal(size=table.shape), deviation**2)
        )
    return noisy, exact


def test_the_pair_that_is_associated_is_counted_again():
    noisy, _ = tables(0.2, 20.0)
    assert [noisy[place].dimensions for place in strongest(noisy, 1)] == [(0, 1)]
    assert len(strongest(noisy, 3)) == 3


@pytest.mark.parametrize("association", [0.0, 0.3])
@pytest.mark.parametrize("deviation", [1e-6, 30.0, 1e5])
def test_estimates_are_possible_and_agree(association, deviation):
    noisy, _ = tables(association, deviation)
    found = shrunk(noisy, margins(noisy))
    for i, j in combinations(range(4), 2):
        values = found[i, j].values
        assert values.min() >= 0.0
        np.testing.assert_allclose(values.sum(axis=1), found[i,].values, atol=1e-6)
        np.testing.assert_allclose(values.sum(axis=0), found[j,].values, atol=1e-6)
        np.testing.assert_allclose(values.sum(), found[()].values)


def test_estimates_are_nearer_than_counts_and_with_little_noise_the_same():
    for association in (0.0, 0.3):
        noisy, exact = tables(association, 40.0)
        plain = margins(noisy)
        off = [
            np.mean([np.abs(one[own].values - exact[own]).mean() for own in exact])
            for one in (shrunk(noisy, plain), plain)
        ]
        assert off[0] < 0.8 * off[1]
    noisy, exact = tables(0.3, 0.01)
    for own, margin in shrunk(noisy, margins(noisy)).items():
        if own:
            np.testing.assert_allclose(margin.values, exact[own], atol=1.0)
