"""Mechanisms under Google's dp_auditorium: samples on two neighbours, and what divides them.

Its histogram tester bounds the delta at an epsilon from below, with 200,000 samples by about 0.1
below the truth: it finds noise that is clearly too small.
"""

from __future__ import annotations

import numpy as np
import pytest

from nolook.privacy.accounting import gaussian_delta
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import SeededSource

auditorium = pytest.importorskip("dp_auditorium")

SAMPLES = 200_000
EPSILON = 1.0
SCORES = (np.array([0, 2]), np.array([1, 1]))  # each moves by the sensitivity


def _numbers(release):
    """Return a mechanism for the auditor: samples of a noisy number, in 41 cells."""

    def sample(data, n, source, sensitivity):
        noisy = release(np.full(n, data), sensitivity, 1.0, source)
        return np.clip(noisy // 10 + 20, 0, 40)

    return sample


def _choices(choose):
    def sample(data, n, source, sensitivity):
        return np.array([choose(data, sensitivity, EPSILON, source) for _ in range(n)])

    return sample


#: How to sample, two neighbours, their distance, delta at the epsilon, and the noise too small.
MECHANISMS = {
    "laplace": (_numbers(laplace_release), (0, 20), 20, 0.0, 0.7),
    "gaussian": (_numbers(gaussian_release), (0, 20), 20, gaussian_delta(1.0, EPSILON), 0.7),
    "exponential": (_choices(exponential_choice), SCORES, 1.0, 0.0, 0.25),
    "permute-and-flip": (_choices(permute_and_flip), SCORES, 1.0, 0.0, 0.25),
}


def found(name, factor):
    """Return whether the auditor finds a fault in a mechanism told a part of its sensitivity."""
    from dp_auditorium.configs import (
        privacy_property,
        privacy_test_runner_config,
        property_tester_config,
    )
    from dp_auditorium.privacy_test_runner import PrivacyTestRunner
    from dp_auditorium.testers.histogram_tester import HistogramTester

    sample, pair, sensitivity, delta, _ = MECHANISMS[name]
    source = SeededSource(1)
    tester = HistogramTester(
        property_tester_config.HistogramPropertyTesterConfig(
            test_discrete_mechanism=True, histogram_size=41, min_value=0, max_value=40,
            approximate_dp=privacy_property.ApproximateDp(epsilon=EPSILON, delta=delta),
        )
    )  # fmt: skip
    runner = PrivacyTestRunner(
        privacy_test_runner_config.PrivacyTestRunnerConfig(
            property_tester=privacy_test_runner_config.PropertyTester.HISTOGRAM_TESTER,
            max_num_trials=1, failure_probability=1e-3, num_samples=SAMPLES,
            post_processing=privacy_test_runner_config.PostProcessing.NONE,
        ),
        lambda _: pair,
        tester,
    )  # fmt: skip
    results = runner.test_privacy(
        lambda data, n: sample(data, n, source, type(sensitivity)(sensitivity * factor)), name
    )
    return results.found_privacy_violation is not None


@pytest.mark.parametrize("name", MECHANISMS)
def test_nothing_is_found(name):
    assert not found(name, 1)


@pytest.mark.parametrize("name", MECHANISMS)
def test_too_little_noise_is_found(name):
    assert found(name, MECHANISMS[name][-1])
