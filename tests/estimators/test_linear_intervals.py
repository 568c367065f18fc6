"""Intervals of the default regression where few rows are far from all others."""

from __future__ import annotations

import numpy as np
import pytest

import nolook
from benchmarks.populations import bounded_truth, simulated


@pytest.mark.parametrize(
    "name",
    [
        "column of heavy tails",
        pytest.param("log-normal target", marks=pytest.mark.slow),
        pytest.param("large errors where a column is large", marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_where_few_rows_are_far_away(name):
    """Their errors are cut, and what is estimated is said: not least squares, which they decide."""
    X, y = simulated(name)
    held, plain = [], []
    slope = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0][0]
    for seed in range(12):
        chosen = np.random.default_rng(seed).integers(len(y), size=5000)
        model = nolook.LinearRegression(2.0, 1e-6, random_state=seed).fit(X[chosen], y[chosen])
        low, high = model.coef_interval_.T
        true = bounded_truth(model, X, y).values[:-1]
        known = ~np.isnan(low)
        held.append(np.mean(((low <= true) & (true <= high))[known]))
        plain.append(low[0] <= slope <= high[0])
        assert np.isfinite(model.influence_bound_)
    assert np.mean(held) > 0.88
    assert np.mean(plain) < np.mean(held)
