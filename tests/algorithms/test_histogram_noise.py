"""What sums of noise over bins hardly ever pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nolook.algorithms.histogram_noise import BinNoise

BINS = np.array([1, 2, 5, 12, 40])


@pytest.mark.parametrize("sure", [2.0, 3.0])
def test_sums_of_laplace_noise_pass_it_as_rarely_as_normal_ones(sure):
    generator = np.random.default_rng(0)
    bounds = BinNoise(7.0, laplace=True).surely(BINS, sure)
    for bins, bound in zip(BINS, bounds, strict=True):
        # Scale b has a standard deviation of b times the root of two.
        sums = generator.laplace(scale=7.0 / np.sqrt(2), size=(200_000, bins)).sum(axis=1)
        passed = np.mean(sums > bound)
        assert norm.sf(sure) / 20 < passed < norm.sf(sure)


def test_normal_noise_adds_up_by_its_squares():
    assert BinNoise(7.0).surely(BINS, 3.0) == pytest.approx(21.0 * np.sqrt(BINS))


@pytest.mark.parametrize("laplace", [True, False])
def test_what_is_not_sure_at_all_is_above_nothing(laplace):
    assert BinNoise(1.0, laplace=laplace).surely(BINS, 0.0) == pytest.approx(0.0, abs=0.05)
