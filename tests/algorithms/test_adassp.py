from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.algorithms.adassp import AdaSSP
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.amin2023.adassp import BoundedAdaSSP


def no_stage(name):
    pass


def data(rows=4000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-0.5, 0.5, size=(rows, 3))
    return X, X @ [0.6, -0.4, 0.2] + 0.1 + 0.05 * generator.normal(size=rows).clip(-2, 2)


def run(X, y, mu, seed=0):
    release = BoundedAdaSSP(mu, (1.0, 1.0))
    return release.run(table_from_arrays(X, y), SeededSource(seed), no_stage)


@pytest.mark.parametrize(
    ("release", "number"), [(AdaSSP(0.3), 11), (BoundedAdaSSP(0.3, (1.0, 1.0)), 3)]
)
def test_events_add_up_to_mu_and_the_three_statistics_share_alike(release, number):
    events = release.events()
    assert math.sqrt(sum(event.mu**2 for event in events)) == pytest.approx(0.3, rel=1e-12)
    assert len({event.mu for event in events[-3:]}) == 1
    assert len(events) == number


def test_with_hardly_any_noise_it_is_least_squares():
    X, y = data()
    Z = np.column_stack([np.ones(len(X)), X])
    np.testing.assert_allclose(
        run(X, y, 1e6).theta, np.linalg.lstsq(Z, y, rcond=None)[0], atol=2e-3
    )


def test_targets_are_clipped_to_their_bound():
    X, y = data()
    far = y.copy()
    far[::5] = 1e300
    at_the_bound = np.where(far > 1, 1.0, far)
    np.testing.assert_allclose(run(X, far, 1e6).theta, run(X, at_the_bound, 1e6).theta)


def test_the_products_have_the_noise_that_is_claimed():
    # Labels of zero: theta is the solution for nothing but noise on X'y, all else almost exact.
    X, y = data(100_000)
    mu = 1.0
    sigma = math.sqrt(3) / mu * math.sqrt(2)  # times B_x B_y
    Z = np.column_stack([np.ones(len(X)), X])
    noise = [Z.T @ Z @ run(X, 0 * y, mu, seed).theta for seed in range(100)]
    assert 0.87 < np.std(noise) / sigma < 1.13


def test_a_private_run_announces_its_stages_and_fits():
    X, y = data(20_000)
    progress_steps = []
    release = AdaSSP(1.0)
    model = release.run(table_from_arrays(X * 1e5, y - 7), SeededSource(0), progress_steps.append)
    assert len(progress_steps) == release.progress_steps
    scale = model.design.scaling.scale
    slopes = model.theta[1:] * scale[-1] / scale[:-1]
    np.testing.assert_allclose(slopes * 1e5, [0.6, -0.4, 0.2], atol=0.05)
