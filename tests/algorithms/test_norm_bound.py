from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from nolook.algorithms.norm_bound import likely_counts, smallest_bound

EDGES = 2.0 ** np.arange(-4.0, 4.1, 0.5)
ROWS = 4_000.0


def counts_of(median, width):
    """Return how many of the rows are between the edges, of lognormal sizes."""
    below = ndtr(np.log(EDGES / median) / width)
    return ROWS * np.diff(below, prepend=0.0, append=1.0)


def test_counts_without_noise_are_believed():
    counts = np.zeros(EDGES.size + 1)
    counts[[0, 5, -1]] = 1_000.0, 2_500.0, 500.0
    np.testing.assert_allclose(likely_counts(counts, EDGES, 1.0, ROWS, 1.0), counts, atol=5.0)


@pytest.mark.parametrize("median", [0.2, 1.0, 3.0])
def test_counts_that_noise_hides_are_close_to_the_truth(median):
    generator, sigma = np.random.default_rng(0), ROWS / 5.0
    true, errors = counts_of(median, 0.7), []
    for _ in range(50):
        noisy = true + generator.normal(scale=sigma, size=true.size)
        likely = likely_counts(noisy, EDGES, sigma, ROWS, 1.0)
        errors.append(((likely - true) ** 2).sum() / ((noisy - true) ** 2).sum())
    assert np.mean(errors) < 0.3


def test_an_edge_is_as_far_out_as_the_rows_and_not_the_noise():
    generator, sigma = np.random.default_rng(0), ROWS / 5.0
    bounds = []
    for _ in range(50):
        noisy = counts_of(1.0, 0.7) + generator.normal(scale=sigma, size=EDGES.size + 1)
        bounds.append(
            smallest_bound(likely_counts(noisy, EDGES, sigma, ROWS, 1.0), EDGES, ROWS / 2)
        )
    assert np.quantile(bounds, 0.1) >= 0.4  # of the counts alone: .06 and 5.7
    assert np.quantile(bounds, 0.9) <= 2.0


def test_rows_without_features_have_no_size():
    likely = likely_counts(np.array([50.0, 3.0, -2.0]), np.zeros(2), 5.0, 60.0, 1.0)
    assert np.isfinite(likely).all()
    assert smallest_bound(likely, np.zeros(2), 10.0) == 0.0
