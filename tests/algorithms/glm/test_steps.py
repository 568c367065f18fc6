from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import expit

from nolook.algorithms.glm.estimate import Gradients
from nolook.algorithms.glm.families import LOG, LOGISTIC
from nolook.algorithms.glm.steps import (
    Metric,
    Steps,
    _secant,
    _weights,
    is_noise,
)

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


def shown(*seen, within=LOGISTIC.secants):
    return _secant(*seen, within)


def way(curvature, noise, seed=0):
    """Return models on a way, gradients of a parabola there, and the curvature expected."""
    generator = np.random.default_rng(seed)
    values = np.array([50.0, 200.0, 1000.0])
    points = generator.normal(size=(8, 3))
    gradients = curvature * values * (1.0 - points) + noise * generator.normal(size=(8, 3))
    return points, gradients, values, np.full(8, noise**2)


@pytest.mark.parametrize("curvature", [0.3, 0.6, 0.9])
def test_gradients_show_a_curvature_below_the_one_expected(curvature):
    assert shown(*way(curvature, 1.0)) == pytest.approx(curvature, abs=0.01)


def test_noise_and_standstill_show_no_curvature():
    found = [shown(*way(0.3, 1e5, seed)) for seed in range(20)]
    assert np.mean(found) > 0.95
    points, gradients, values, noise = way(0.3, 1.0)
    assert shown(points[:1], gradients[:1], values, noise[:1]) == 1.0
    assert shown(0.0 * points, gradients, values, noise) == 1.0


def test_the_curvature_taken_is_bounded():
    assert shown(*way(0.001, 1.0)) == 0.25
    assert shown(*way(30.0, 1.0)) == 1.0
    # That of counts may be more than is known of it, too.
    assert shown(*way(30.0, 1.0), within=LOG.secants) == 4.0
    assert shown(*way(3.0, 1.0), within=LOG.secants) == pytest.approx(3.0, abs=0.01)


def test_gradients_far_from_the_solution_are_left_out_where_noise_is_small():
    # The curvature is half of what is known of it, up to the last model.
    generator = np.random.default_rng(0)
    matrix, target = np.diag([4e3, 2e3, 1e3]), np.array([2.0, -1.0, 1.5])
    thetas = target * np.array([0.0, 0.5, 0.9, 1.0])[:, None]
    gradients = (target - thetas) @ matrix / 2 + generator.normal(size=thetas.shape)
    seen = Gradients(thetas, gradients, np.ones(4))
    found = Steps(LOGISTIC, np.zeros(3)).combined(Metric(matrix, 1.0), seen)
    np.testing.assert_allclose(found.theta, target, atol=0.01)


def test_gradients_count_by_their_noise():
    generator = np.random.default_rng(0)
    matrix, target = np.diag([4e3, 2e3, 1e3]), np.array([0.02, -0.01, 0.015])
    sigmas = np.array([300.0, 300.0, 1.0])
    gradients = sigmas[:, np.newaxis] * generator.normal(size=(3, 3))
    seen = Gradients(np.tile(target, (3, 1)), gradients, sigmas)
    found = Steps(LOGISTIC, np.zeros(3)).combined(Metric(matrix, 1e-3), seen)
    np.testing.assert_allclose(found.theta, target, atol=0.003)
    assert found.variance == pytest.approx(1.0, abs=0.1)


def normal_rows(seed=0):
    generator = np.random.default_rng(seed)
    mixing = np.eye(3) + 0.4 * generator.normal(size=(3, 3))
    return np.column_stack([np.ones(400_000), generator.normal(size=(400_000, 3)) @ mixing + 0.3])


@pytest.mark.parametrize("steepness", [0.0, 0.3, 1.0, 3.0])
def test_the_curvature_of_normal_rows_follows_from_their_moments(steepness):
    rows, theta = normal_rows(), steepness * np.array([-0.5, 1.0, -0.7, 0.2])
    p = expit(rows @ theta)
    curvature = (rows * (p * (1 - p))[:, np.newaxis]).T @ rows
    gram = rows.T @ rows
    level = (p * (1 - p)).mean()
    # Where it is safe to step by never below a part of the moments, but along the scores.
    for least in (0.0, 1 / 8):
        found, more = Metric.of_moments(LOGISTIC, gram, 2.0, theta, least), max(least - level, 0.0)
        assert np.abs(found.matrix - curvature - more * gram).max() < 0.01 * len(rows)


@pytest.mark.parametrize("steepness", [0.0, 0.3, 1.0])
def test_the_curvature_of_counts_is_the_mean(steepness):
    rows, theta = normal_rows(), steepness * np.array([-0.5, 0.5, -0.7, 0.2])
    means = np.exp(rows @ theta)
    curvature = (rows * means[:, np.newaxis]).T @ rows
    found = Metric.of_moments(LOG, rows.T @ rows, 2.0, theta).matrix
    # Scores beyond three deviations are not in it, and exponentials grow there.
    assert np.abs(found - curvature).max() < 0.07 * curvature.max()


@pytest.mark.parametrize("family", [LOGISTIC, LOG])
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e3, 1e9])
def test_the_curvature_is_finite_where_moments_are_noise(size, family):
    generator = np.random.default_rng(0)
    for _ in range(50):
        noise = generator.normal(size=(4, 4)) * 1e6
        gram, theta = noise + noise.T, size * generator.normal(size=4)
        found = Metric.of_moments(family, gram, 1e6, theta, 0.1).matrix
        assert np.isfinite(found).all()
        steepest = family.slopes(np.array([1e3])).item() if family is LOG else 1.0
        assert np.abs(found).max() < 100 * steepest * np.abs(gram).max()


def test_a_gradient_of_noise_and_one_that_leads_on_are_told_apart():
    generator, metric = np.random.default_rng(0), Metric(np.diag([4e3, 2e3, 1e3]), 1.0)
    told = []
    for size in (0.0, 6.0):
        draws = 10.0 * (generator.normal(size=(200, 3)) + np.array([size, 0.0, 0.0]))
        seen = [Gradients(np.zeros((1, 3)), draw[np.newaxis], np.array([10.0])) for draw in draws]
        told.append(np.mean([is_noise(each, Metric(1e-3 * metric.matrix, 1.0)) for each in seen]))
    assert told[0] > 0.9
    assert told[1] < 0.1
    # What sampling makes of it all the same does not lead on.
    assert is_noise(Gradients(np.zeros((1, 3)), 30.0 * np.ones((1, 3)), np.array([10.0])), metric)


def test_where_targets_vary_more_chance_leads_on_no_more():
    """Counts of a small mean vary by many times their curvature."""
    metric = Metric(np.diag([4e3, 2e3, 1e3]), 1.0)
    gradient = Gradients(np.zeros((1, 3)), 80.0 * np.ones((1, 3)), np.array([10.0]))
    assert not is_noise(gradient, metric)
    assert is_noise(gradient, metric, dispersion=20.0)
    family, zero = LOG, np.zeros(3)
    gains = [Steps(family, zero, each).evidence(metric, gradient) for each in (1.0, 20.0)]
    assert gains[1] < gains[0]


@pytest.mark.parametrize(("family", "mean"), [(LOGISTIC, 0.01), (LOGISTIC, 0.6), (LOG, 0.2)])
def test_a_model_is_shrunk_towards_one_with_the_mean_of_the_base(family, mean):
    """Rare classes: slopes beside the base's constant would make them many times as many."""
    gram, slopes = 1e4 * np.eye(3), np.array([0.0, 1.0, -0.5])
    steps = Steps.at_mean(family, mean, 3)
    seen = Gradients(steps.base[np.newaxis], np.zeros((1, 3)), np.array([1e9]))
    found = steps.next(Metric(gram, 1.0), seen, steps.base + slopes, gram)
    scores = found[0] + np.random.default_rng(0).normal(size=10**6) * np.sqrt(1.25)
    assert family.mean(scores).mean() == pytest.approx(mean, rel=0.03)
    assert np.abs(found[1:]).max() < 1e-3
    far = steps.next(Metric(gram, 1.0), seen, 1e6 * slopes, gram)
    assert np.isfinite(far).all()
