from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from nolook.algorithms.logistic_steps import LogisticSteps, Metric, _secant, _weights

SIZES = hnp.arrays(np.float64, 6, elements=st.floats(0.0, 1e3))
SPREADS = hnp.arrays(np.float64, 6, elements=st.floats(0.1, 10.0))


def expected_square(weights, common, variances):
    return (weights @ common) ** 2 + weights**2 @ variances


@given(SIZES, SPREADS)
def test_weights_give_the_least_expected_square(common, variances):
    found = _weights(common, variances)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    best = minimize(
        expected_square,
        np.full(6, 1 / 6),
        (common, variances),
        bounds=[(0.0, 1.0)] * 6,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1.0},
        method="SLSQP",
    )
    least = expected_square(best.x, common, variances)
    assert expected_square(found, common, variances) <= least * 1.001 + 1e-9


@pytest.mark.parametrize("size", [0.0, 1e-200, 1.0, 1e200])
def test_weights_are_finite_however_far_the_models(size):
    for common in (np.full(20, size), size * np.arange(20.0)):
        for variance in (1e-200, 1.0, 1e100):
            found = _weights(common, np.full(20, variance))
            assert np.isfinite(found).all()
            assert found.sum() == pytest.approx(1.0)


def way(curvature, noise, seed=0):
    """Return models on a way, gradients of a parabola there, and the curvature expected."""
    generator = np.random.default_rng(seed)
    values = np.array([50.0, 200.0, 1000.0])
    points = generator.normal(size=(8, 3))
    gradients = curvature * values * (1.0 - points) + noise * generator.normal(size=(8, 3))
    return points, gradients, values, noise**2


@pytest.mark.parametrize("curvature", [0.3, 0.6, 0.9])
def test_gradients_show_a_curvature_below_the_one_expected(curvature):
    assert _secant(*way(curvature, 1.0)) == pytest.approx(curvature, abs=0.01)


def test_noise_and_standstill_show_no_curvature():
    found = [_secant(*way(0.3, 1e5, seed)) for seed in range(20)]
    assert np.mean(found) > 0.95
    points, gradients, values, noise = way(0.3, 1.0)
    assert _secant(points[:1], gradients[:1], values, noise) == 1.0
    assert _secant(0.0 * points, gradients, values, noise) == 1.0


def test_the_curvature_taken_is_bounded():
    assert _secant(*way(0.001, 1.0)) == 0.25
    assert _secant(*way(30.0, 1.0)) == 1.0


def test_gradients_far_from_the_solution_are_left_out_where_noise_is_small():
    # The curvature is half of what is known of it, up to the last model.
    generator = np.random.default_rng(0)
    matrix, target = np.diag([4e3, 2e3, 1e3]), np.array([2.0, -1.0, 1.5])
    thetas = target * np.array([0.0, 0.5, 0.9, 1.0])[:, None]
    gradients = (target - thetas) @ matrix / 2 + generator.normal(size=thetas.shape)
    steps = LogisticSteps(np.zeros(3), 1.0)
    found = steps.combined(Metric(matrix, 1.0, 1.0), thetas, gradients)
    np.testing.assert_allclose(found.theta, target, atol=0.01)
