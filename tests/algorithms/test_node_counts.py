"""Noisy counts of forests: nothing is lost without noise, and errors are as large as stated."""

from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.forest import best_forest
from nolook.algorithms.node_counts import pooled, release_forests
from nolook.privacy.guarantee import GaussianEvent, PureEvent
from nolook.privacy.noise import SeededSource

EVENTS = {"laplace": PureEvent("counts", 1.0), "gaussian": GaussianEvent("counts", 1.0)}
NO_NOISE = {"laplace": PureEvent("counts", 1e6), "gaussian": GaussianEvent("counts", 1e6)}


def cells_of(*sizes, rows=5000):
    rng = np.random.default_rng(0)
    return [np.bincount(rng.integers(0, size, rows), minlength=size) for size in sizes]


@pytest.mark.parametrize("noise", EVENTS)
def test_without_noise_everything_is_exact(noise):
    cells = cells_of(1, 7, 100, 1000)
    for own, found in zip(
        cells, release_forests(cells, NO_NOISE[noise], 12, SeededSource(0)), strict=True
    ):
        assert found.forest == best_forest(len(own), noise)
        np.testing.assert_allclose(found.cells[: len(own)], own, atol=1e-6)
        assert found.rows == pytest.approx(5000)
        points = np.arange(float(len(own)))
        counts = found.distribution(points, 5000.0, 0.0).counts
        np.testing.assert_allclose(counts, np.cumsum(own), atol=1e-6)


@pytest.mark.parametrize("noise", EVENTS)
def test_stated_variances_are_those_of_repeated_releases(noise):
    cells = cells_of(60, 300)
    sensitivity = sum(best_forest(len(own), noise).levels for own in cells)
    found = [
        release_forests(cells, EVENTS[noise], sensitivity, SeededSource(seed))
        for seed in range(1500)
    ]
    for place in range(2):
        rows = np.array([each[place].rows for each in found])
        assert rows.mean() == pytest.approx(5000, abs=5 * rows.std() / np.sqrt(1500))
        assert rows.var() == pytest.approx(found[0][place].rows_variance, rel=0.25)
    totals, variances = zip(*(pooled(each) for each in found), strict=True)
    assert np.var(totals) == pytest.approx(variances[0], rel=0.25)
    assert variances[0] < min(each.rows_variance for each in found[0])


def test_pooled_totals_are_weighted_by_their_precision():
    first, second = release_forests(cells_of(60, 300), EVENTS["laplace"], 6, SeededSource(0))
    weights = 1 / np.array([first.rows_variance, second.rows_variance])
    rows, variance = pooled([first, second])
    assert rows == pytest.approx(np.average([first.rows, second.rows], weights=weights))
    assert variance == pytest.approx(1 / weights.sum())
    assert pooled([first, first])[0] == first.rows
    assert pooled([first])[1] == pytest.approx(first.rows_variance)


def test_the_last_count_is_the_number_of_rows_given():
    (found,) = release_forests(cells_of(100), EVENTS["laplace"], 2, SeededSource(0))
    for rows in (-5.0, 0.2, 1.0, 5000.0):
        counts = found.distribution(np.arange(100.0), rows, 1.0).counts
        assert counts[-1] == max(1.0, rows)
        assert (np.diff(counts) >= 0).all()
        assert counts[0] >= 0
