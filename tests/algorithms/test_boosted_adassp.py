from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.algorithms.boosted_adassp import boosted_adassp, boosted_events, steps
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays


def no_step(name):
    pass


def data(rows=4000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    return X, X @ [2.0, -1.0, 0.5] + 1.0 + 3.0 * generator.standard_t(2, size=rows)


def run(X, y, mu, rounds, seed=0, private_scaling=False):
    return boosted_adassp(
        table_from_arrays(X, y),
        mu,
        rounds,
        SeededSource(seed),
        no_step,
        private_scaling=private_scaling,
    )


def plain(X, y, rounds):
    """The published rule without noise: rows and residuals clipped to norm 1."""
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1))[:, None]
    theta = np.zeros(Z.shape[1])
    for _ in range(rounds):
        theta = theta + np.linalg.solve(Z.T @ Z, Z.T @ (y - Z @ theta).clip(-1, 1))
    return theta


@pytest.mark.parametrize("private_scaling", [True, False])
@pytest.mark.parametrize("rounds", [1, 100])
def test_events_add_up_to_mu_and_every_release_has_one_sigma(private_scaling, rounds):
    events = boosted_events(0.3, rounds, private_scaling=private_scaling)
    assert math.sqrt(sum(event.mu**2 for event in events)) == pytest.approx(0.3, rel=1e-12)
    eigenvalue, matrix, gradients = (event.mu for event in events[-3:])
    assert eigenvalue == matrix
    assert gradients == pytest.approx(eigenvalue * math.sqrt(rounds))
    if not private_scaling:
        assert matrix == pytest.approx(0.3 / math.sqrt(rounds + 2))


@pytest.mark.parametrize("rounds", [1, 2, 40])
def test_with_hardly_any_noise_it_is_the_published_rule(rounds):
    X, y = data()
    theta = run(X, y, 1e7, rounds).theta
    np.testing.assert_allclose(theta, plain(X, y, rounds), rtol=5e-3, atol=5e-3)


def test_with_private_scales_it_is_the_mean_of_the_last_quarter():
    X, y = data(20_000)
    several, one = (run(X, y, 1e6, rounds, private_scaling=True) for rounds in (8, 1))
    design = several.design
    ((rows, labels),) = _joined(design.batches(table_from_arrays(X, y)))
    Z = rows.T / design.unit
    theta, thetas = np.zeros(4), []
    for _ in range(8):
        residuals = (labels - Z @ theta).clip(-2, 2)
        theta = theta + np.linalg.solve(Z.T @ Z, Z.T @ residuals)
        thetas.append(theta)
    np.testing.assert_allclose(several.theta, np.mean(thetas[-2:], axis=0), rtol=2e-3, atol=2e-3)
    assert one.theta.shape == (4,)


def _joined(batches):
    rows, labels = zip(*batches, strict=True)
    return ((np.concatenate(rows, axis=1), np.concatenate(labels)),)


@pytest.mark.parametrize("rounds", [1, 7])
def test_a_round_has_the_noise_that_is_claimed(rounds):
    # Labels of zero: after one round the model is the solution for nothing but noise.
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    mu = 2.0
    sigma = math.sqrt(rounds + 2) / mu
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1))[:, None]
    gram = Z.T @ Z
    noise = [gram @ run(X, np.zeros(len(X)), mu, rounds, seed).theta for seed in range(60)]
    # Every round takes off what noise the last one added: one round's noise is left.
    assert 0.87 < np.std(noise) / sigma < 1.13


def test_progress_tells_a_step_for_each_pass_and_round():
    X, y = data(100)
    for private_scaling in (True, False):
        seen = []
        boosted_adassp(
            table_from_arrays(X, y),
            1.0,
            5,
            SeededSource(0),
            seen.append,
            private_scaling=private_scaling,
        )
        assert len(seen) == steps(5, private_scaling=private_scaling)
        assert seen[-1] == "round 5"
