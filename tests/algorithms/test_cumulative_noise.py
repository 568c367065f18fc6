"""Variances of what is read off noisy counts, against the covariance of least squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.algorithms.cumulative_noise import ForestNoise, rising, settled
from nolook.algorithms.forest import Forest
from nolook.algorithms.roc_curve import fitted
from tests.algorithms.test_forest import FORESTS, covariance

V, W = 7.0, 11.0


def forest_counts(noise):
    """Return the covariance of the noise of all counts; the last is that of all rows."""
    forest = noise.forest
    size, whole = forest.padded, np.full(forest.padded, 1.0 / forest.padded)
    # What the cells say of the total is replaced by a number of rows of its own.
    centre = np.eye(size) - np.outer(whole, np.ones(size))
    cells = centre @ covariance(forest) @ centre.T * noise.block_variance
    cells += np.outer(whole, whole) * noise.rows_variance
    prefixes = np.tri(forest.cells, size)
    prefixes[-1] = 1.0
    return prefixes @ cells @ prefixes.T


NOISES = [ForestNoise(Forest(n, tuple(b)), V, W) for n, b in FORESTS]


@pytest.mark.parametrize("noise", NOISES)
def test_variances_are_those_of_the_counts(noise):
    total = forest_counts(noise)
    places = len(total)
    total = np.pad(total, ((1, 0), (1, 0)))  # no rows up to place 0
    rng = np.random.default_rng(0)
    first, last = np.triu_indices(places + 1)
    for share in (0.0, 0.3, 1.0):
        weights = np.zeros((len(first), places + 1))
        np.add.at(weights, (np.arange(len(first)), last), 1.0)
        np.add.at(weights, (np.arange(len(first)), first), -1.0)
        weights[:, -1] -= share
        expected = np.einsum("ij,jk,ik->i", weights, total, weights)
        shares = np.full(len(first), share)
        np.testing.assert_allclose(noise.between(first, last, shares), expected, atol=1e-9)
        own = rng.normal(size=places)
        less = np.append(0.0, own)
        less[-1] -= share
        assert noise.weighted(own, share) == pytest.approx(less @ total @ less, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_draws_have_the_covariance(noise):
    rng = np.random.default_rng(0)
    draws = noise.draws(rng.normal(0, np.sqrt(W), 4000), rng)
    scale = np.sqrt(np.diag(forest_counts(noise)))
    off = (np.cov(draws.T).reshape(len(scale), -1) - forest_counts(noise)) / np.outer(scale, scale)
    # A correlation from 4000 draws with Laplace's tails is off by .02 to .04.
    assert np.abs(off).max() < 0.2


@pytest.mark.parametrize("noise", NOISES)
def test_smoothed_counts_are_possible(noise):
    rng = np.random.default_rng(0)
    places = len(forest_counts(noise))
    for rows in (1.0, 50.0):
        noisy = np.append(rng.normal(rows / 2, 30, places - 1), rows)
        for known in (False, True):
            other = np.append(rng.normal(rows / 2, 30, places - 1), -rows / 4)
            for found in fitted((noisy, other), rows_known=known):
                assert (np.diff(found) >= 0).all()
                assert found[0] >= 0
                assert found[-1] >= 1


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=7), st.integers(1, 9))
def test_rising_counts_are_the_nearest_possible_ones(noisy, rows):
    noisy = np.array(noisy, dtype=float)
    found = rising(noisy, float(rows))
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= rows
    # The nearest point of a convex set: no feasible direction leads closer.
    steps = [rows * (np.arange(len(noisy)) >= place) for place in range(len(noisy) + 1)]
    assert all((noisy - found) @ (step - found) <= 1e-9 for step in steps)


def test_a_settled_total_is_spread_over_all_cells():
    forest = Forest(5, (2, 1))
    cells = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 3.0])
    np.testing.assert_allclose(settled(cells, forest, 18.0), np.cumsum(cells)[[0, 1, 2, 3, 5]])
    np.testing.assert_allclose(settled(cells, forest, 24.0), [2, 5, 9, 14, 24])
