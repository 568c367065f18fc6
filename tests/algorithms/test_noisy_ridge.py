from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms._simulation import (
    sampled_moments,
    simulation_generator,
    symmetric_noise,
)
from nolook.algorithms.noisy_ridge import choose_ridge, nearest_moments, ridge_path


def moments_of(rows, features, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features))
    y = X @ np.ones(features) + generator.normal(size=rows)
    Z = np.column_stack([np.ones(rows), X, y])
    return Z.T @ Z


def test_the_path_solves_the_normal_equations():
    matrix = moments_of(500, 4)
    ridges = np.array([0.1, 10.0, 1e4])
    for ridge, theta in zip(ridges, ridge_path(matrix, ridges), strict=True):
        residual = (matrix[:-1, :-1] + ridge * np.eye(5)) @ theta - matrix[:-1, -1]
        np.testing.assert_allclose(residual, 0.0, atol=1e-8 * np.abs(matrix).max())


def test_the_nearest_moments_are_semidefinite_and_optimal():
    generator = np.random.default_rng(0)
    matrix = symmetric_noise(6, 10.0, generator)
    nearest = nearest_moments(matrix)
    assert np.linalg.eigvalsh(nearest).min() >= -1e-12 * np.abs(nearest).max()
    # Projection onto a convex cone: the error is orthogonal to the projection ...
    error = matrix - nearest
    assert np.sum(error * nearest) == pytest.approx(0.0, abs=1e-8)
    # ... and makes no acute angle with any other element of the cone.
    for _ in range(20):
        other = generator.normal(size=(6, 6))
        assert np.sum(error * (other @ other.T)) <= 1e-8


def test_semidefinite_moments_stay():
    matrix = moments_of(100, 3)
    np.testing.assert_allclose(nearest_moments(matrix), matrix, rtol=1e-9)


def test_the_ridge_grows_with_the_noise():
    matrix = moments_of(2000, 5)
    ridges = [choose_ridge(matrix, sigma) for sigma in (1.0, 30.0, 300.0)]
    assert ridges == sorted(ridges)
    assert ridges[0] >= 1.5


def test_symmetric_noise_has_the_stated_spread():
    generator = simulation_generator()
    draws = np.array([symmetric_noise(3, 2.0, generator) for _ in range(4000)])
    spread = draws.std(axis=0)
    np.testing.assert_allclose(np.diag(spread), 2.0, rtol=0.06)
    np.testing.assert_allclose(spread[0, 1:], np.sqrt(2.0), rtol=0.06)
    np.testing.assert_array_equal(draws, np.swapaxes(draws, 1, 2))


def test_simulated_moments_have_mean_and_spread_of_real_samples():
    matrix = moments_of(400, 2)
    samples = sampled_moments(matrix, simulation_generator())
    draws = np.array([next(samples) for _ in range(3000)])
    np.testing.assert_allclose(draws.mean(axis=0), matrix, rtol=0.02, atol=4.0)
    mean = matrix[0, 1:] / 400
    root = np.linalg.cholesky(matrix[1:, 1:] / 400 - np.outer(mean, mean))
    other = np.random.default_rng(5)
    real = []
    for _ in range(3000):
        rows = mean + other.normal(size=(400, 3)) @ root.T
        Z = np.column_stack([np.ones(400), rows])
        real.append(Z.T @ Z)
    np.testing.assert_allclose(draws.std(axis=0), np.std(real, axis=0), rtol=0.08, atol=1e-9)
