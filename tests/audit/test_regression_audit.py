"""How well the worst neighbouring tables can be told apart from each release of the regression.

Adding a fixed row to a table shifts the released integers by a fixed vector; the best test is
the noisy vector's projection on that shift. The shift over the projection's standard deviation
estimates mu from below for that pair, and for the worst row it must come close to the claim.
"""

from __future__ import annotations

import numpy as np
import pytest

from nolook.kernels.histogram import magnitude_counts
from nolook.kernels.moments import UNIT
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import SeededSource
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
from nolook.statistics.histograms import Histograms, histograms_sensitivity

RUNS = 20_000
MU = 0.3
# Of a standard deviation estimated from RUNS draws, the relative error is 1/sqrt(2 RUNS) = 0.5 %:
# 5 % is ten times as much.
TOLERANCE = 0.05


def mu_of(shift, noise):
    """Estimate mu from draws of the noise, shape (RUNS, entries), and the shift of a row."""
    direction = shift / np.linalg.norm(shift)
    return np.linalg.norm(shift) / (noise @ direction).std()


def moments_noise(claimed):
    """Return the best test's shift and noise for the worst row of the moment matrix."""
    squared_radius = 13 * UNIT**2
    row = np.array([[1.0], [2.0], [-2.0], [2.0]]) * UNIT
    exact = DesignMoments(4, squared_radius).update(row).value
    sensitivity = gram_sensitivity(squared_radius)
    source = SeededSource(0)
    upper = np.triu_indices(4)
    # Off-diagonal entries appear twice in a symmetric matrix but are released once; their noise
    # is smaller by sqrt(2), so weighting by sqrt(2) makes the noise equal everywhere.
    weight = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    empty = np.zeros((4, 4), dtype=np.int64)
    draws = np.array(
        [
            symmetric_gaussian_release(empty, claimed * sensitivity, MU, source)[upper]
            for _ in range(RUNS)
        ],
        dtype=float,
    )
    return exact[upper].astype(float) * weight, draws * weight


def histogram_noise(claimed):
    exact = Histograms(magnitude_counts).update(np.array([[3.0], [-1e9]])).value(2)
    places = exact > 0
    sensitivity = histograms_sensitivity(2, "add-remove")
    # Only the two bins the row is in say anything: noise on the others is independent.
    draws = gaussian_release(
        np.zeros((RUNS, 2), dtype=np.int64), claimed * sensitivity, MU, SeededSource(1)
    )
    return exact[places].astype(float), draws.astype(float)


@pytest.mark.parametrize(
    "release", [pytest.param(moments_noise, marks=pytest.mark.slow), histogram_noise]
)
def test_the_worst_row_comes_close_to_the_claim_and_never_beyond(release):
    assert mu_of(*release(1.0)) == pytest.approx(MU, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("release", [moments_noise, histogram_noise])
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_the_audit_notices_noise_that_is_30_percent_off(release, factor):
    assert mu_of(*release(factor)) != pytest.approx(MU, rel=4 * TOLERANCE)
