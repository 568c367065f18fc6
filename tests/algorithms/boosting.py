"""Boosted AdaSSP in a few lines of NumPy, and tables for it."""

from __future__ import annotations

import numpy as np


def no_stage(name):
    pass


def data(rows=4000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    return X, X @ [2.0, -1.0, 0.5] + 1.0 + 3.0 * generator.standard_t(2, size=rows)


def plain(Z, targets, rounds, bound):
    """The rule without noise: the model after each round, residuals clipped to a bound."""
    theta, thetas = np.zeros(Z.shape[1]), []
    for _ in range(rounds):
        residuals = (targets - Z @ theta).clip(-bound, bound)
        theta = theta + np.linalg.solve(Z.T @ Z, Z.T @ residuals)
        thetas.append(theta)
    return thetas


def gram_of(X):
    """The second moments of rows (1, x) shrunk to norm 1."""
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1))[:, None]
    return Z.T @ Z
