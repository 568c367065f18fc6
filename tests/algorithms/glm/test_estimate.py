from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.glm.estimate import Gradients, combine_gradients


def estimate(*released):
    return combine_gradients(*released).theta


def observations(rows=20_000, features=6, gram_sigma=1e-6, gradient_sigma=1e-6, seed=0):
    """A standardised table's matrix and eight gradients, at points on the way to the solution."""
    generator = np.random.default_rng(seed)
    U = np.column_stack([np.ones(rows), generator.normal(size=(rows, features))])
    truth = generator.normal(size=features + 1) * 0.4
    v = U @ truth + generator.normal(size=rows)
    noise = generator.normal(scale=gram_sigma / 2, size=(features + 1, features + 1))
    gram = U.T @ U
    solution = np.linalg.solve(gram, U.T @ v)
    thetas = solution * np.array([0, 0.5, 0.9, 1, 1, 1, 1, 1])[:, None]
    gradients = U.T @ v - thetas @ gram
    gradients += generator.normal(scale=gradient_sigma, size=gradients.shape)
    seen = Gradients(thetas, gradients, np.full(8, gradient_sigma))
    return (gram + noise + noise.T, gram_sigma, seen), solution


def some(seen, places):
    """Return the gradients at some places."""
    return Gradients(seen.thetas[places], seen.values[places], seen.sigmas[places])


def test_without_noise_the_estimate_is_least_squares():
    released, solution = observations()
    np.testing.assert_allclose(estimate(*released), solution, rtol=1e-6)


def test_the_estimate_turns_with_the_columns():
    (gram, gram_sigma, seen), _ = observations(400, 4, 20.0, 30.0)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    moved = Gradients(seen.thetas @ rotation, seen.values @ rotation, seen.sigmas)
    turned = estimate(rotation.T @ gram @ rotation, gram_sigma, moved)
    plain = estimate(gram, gram_sigma, seen)
    np.testing.assert_allclose(rotation @ turned, plain, atol=1e-9)


def test_eight_gradients_are_better_than_one():
    def error(steps):
        errors = []
        for seed in range(40):
            (*moments, seen), solution = observations(2000, 6, 1.0, 150.0, seed)
            errors.append(estimate(*moments, some(seen, slice(-steps, None))) - solution)
        return np.sqrt(np.mean(np.square(errors)))

    assert error(8) < 0.6 * error(1)


def test_a_gradient_far_from_the_solution_weighs_less_on_a_noisy_matrix():
    (*moments, seen), solution = observations(2000, 6, 30.0, 3.0)
    with_far = estimate(*moments, seen)
    without = estimate(*moments, some(seen, slice(3, None)))
    alone = estimate(*moments, some(seen, slice(1)))
    assert np.linalg.norm(with_far - without) < 0.1 * np.linalg.norm(alone - without)
    assert np.linalg.norm(with_far - solution) < 0.2 * np.linalg.norm(alone - solution)


def test_what_is_only_noise_is_shrunk_to_nothing():
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(7, 7)) * 50
    gradients = generator.normal(size=(8, 7)) * 100
    seen = Gradients(np.zeros((8, 7)), gradients, np.full(8, 100.0))
    theta = estimate(noise + noise.T, 100.0, seen)
    assert np.abs(theta).max() < 0.1


def test_the_observation_has_the_variance_it_states():
    errors = []
    for seed in range(300):
        released, solution = observations(2000, 4, 1e-6, 40.0, seed)
        combined = combine_gradients(*released)
        difference = combined.moments - combined.values * (combined.vectors.T @ solution)
        errors.append(difference / np.sqrt(combined.variance))
    assert 0.9 < np.std(errors) < 1.1


@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 1e9])
@pytest.mark.parametrize("gram_sigma", [1e-3, 1e6])
def test_the_estimate_is_finite_whatever_was_released(size, gram_sigma):
    generator = np.random.default_rng(0)
    gram = -size * np.eye(5) + generator.normal(size=(5, 5)).round(1) * size
    gradients = size * generator.normal(size=(8, 5))
    seen = Gradients(np.zeros((8, 5)), gradients, np.full(8, 1e-3))
    theta = estimate(gram + gram.T, gram_sigma, seen)
    assert np.isfinite(theta).all()
