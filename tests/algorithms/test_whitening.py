from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.whitening import spread_of

LIMITS = np.full(3, -5.0), np.full(3, 5.0)
ROWS = 50_000


def moments(X):
    rows = np.column_stack([np.ones(len(X)), X])
    return rows.T @ rows


def together(seed=0):
    """Rows of which two columns are almost the same."""
    X = np.random.default_rng(seed).normal(size=(ROWS, 3))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    X += [0.5, 0.5, -1.0]
    return X


def evened(spread, X):
    return (X - spread.center) @ spread.map


def test_without_noise_all_directions_vary_alike():
    X = together()
    spread = spread_of(moments(X), 0.0, ROWS, LIMITS)
    np.testing.assert_allclose(spread.center, X.mean(axis=0))
    np.testing.assert_allclose(np.cov(evened(spread, X).T), np.eye(3), atol=1e-3)


def test_what_noise_hides_is_stretched_no_further_than_noise():
    X, sigma = together(), 0.1 * ROWS
    spread = spread_of(moments(X), sigma, ROWS, LIMITS)
    variances = np.linalg.eigvalsh(np.cov(evened(spread, X).T))
    assert variances[0] < 0.01
    assert np.linalg.eigvalsh(spread.map)[-1] == pytest.approx((3 * 0.1 * 2) ** -0.5)


def test_the_centre_is_the_mean_as_far_as_noise_hides_nothing():
    X = np.random.default_rng(3).normal((0.5, 2.0, -1.0), size=(ROWS, 3))
    spread = spread_of(moments(X), 0.01 * ROWS, ROWS, LIMITS)
    np.testing.assert_allclose(spread.center, (1 - 3 * 0.01 * 2) * X.mean(axis=0))
    rows = evened(spread, X)
    np.testing.assert_allclose(rows.T @ rows / ROWS, np.eye(3), atol=2e-2)


def test_where_noise_hides_everything_rows_stay_as_they_are():
    spread = spread_of(moments(together()), 1.0 * ROWS, ROWS, LIMITS)
    assert not spread.center.any()
    np.testing.assert_allclose(spread.map, np.eye(3), atol=0.2)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 1e12, 1e30])
def test_any_released_number_gives_a_finite_map_of_whole_numbers(sigma):
    noise = np.random.default_rng(0).normal(size=(4, 4)) * sigma
    spread = spread_of(noise + noise.T, sigma, 1.0, LIMITS)
    center, matrix, spacing, most = spread.whitening
    for each in (spread.center, spread.map, center, matrix, spacing, most):
        assert np.isfinite(each).all()
    np.testing.assert_array_equal(spread.map, spread.map.T)


def test_a_model_and_contrasts_of_whitened_rows_are_those_of_the_rows():
    generator = np.random.default_rng(1)
    X = together()
    spread = spread_of(moments(X), 0.0, ROWS, LIMITS)
    theta, contrasts = generator.normal(size=4), generator.normal(size=(5, 4))
    model = spread.model(theta)
    np.testing.assert_allclose(
        model[0] + X[:9] @ model[1:], theta[0] + evened(spread, X[:9]) @ theta[1:]
    )
    np.testing.assert_allclose(
        contrasts @ model, spread.centred(contrasts) @ spread.along(theta[:, None])[:, 0]
    )


def test_columns_left_out_count_for_nothing():
    kept = np.array([True, False, True, True])
    spread = spread_of(moments(together()), 0.0, ROWS, LIMITS)
    among = spread.among(kept)
    rows = np.random.default_rng(2).normal(size=(7, 4))
    np.testing.assert_allclose(evened(among, rows)[:, kept], evened(spread, rows[:, kept]))
    assert not evened(among, rows)[:, ~kept].any()


def following(least):
    """Rows whose third column is -2 times the first up to `least`, and whose fourth is a sum."""
    X = np.random.default_rng(4).normal(size=(ROWS, 5))
    X[:, 2] = -2.0 * X[:, 0] + least * X[:, 2]
    X[:, 3] = X[:, 0] + X[:, 1] + least * X[:, 3]
    return X


def followers(X, sigma=0.0, seed=0):
    noise = np.random.default_rng(seed).normal(scale=sigma, size=(X.shape[1] + 1,) * 2)
    noise = np.triu(noise, 1) / 2**0.5 + np.diag(np.diag(noise))
    limits = np.full(X.shape[1], -9.0), np.full(X.shape[1], 9.0)
    found = moments(X) + noise + np.triu(noise, 1).T
    return list(spread_of(found, sigma, len(X), limits).followers())


@pytest.mark.parametrize("sigma", [0.0, 50.0])
def test_columns_that_follow_from_others_are_named_with_their_slope(sigma):
    (first, other, slope, share), (last, none, _, together) = followers(following(0.1), sigma)
    assert (first, other, last, none) == (2, 0, 3, None)
    assert slope == pytest.approx(-2.0, rel=0.02)
    assert 0.95 <= share <= 1 - 0.01 / 4.01
    assert 0.95 <= together <= 1 - 0.01 / 2.01


def test_no_column_follows_that_noise_may_have_hidden():
    assert followers(together()[:, [2, 0]]) == []
    assert followers(following(0.1), 0.05 * ROWS) == []
    # A tenth of the variance is the column's own: whatever noise hides, nothing is said of it.
    least = (0.1 / 0.9 * 4) ** 0.5
    X = following(least)
    for sigma in (1e2, 5e2, 1e3, 2e3, 5e3, 2e4):
        named = [followers(X, sigma, seed) for seed in range(40)]
        assert not any(named)


def test_columns_left_out_follow_from_nothing():
    kept = np.array([True, False, True, True])
    X = together()[:, [0, 2, 1]]
    spread = spread_of(moments(X), 0.0, ROWS, LIMITS).among(kept)
    ((place, other, slope, _),) = spread.followers()
    assert (place, other) == (3, 0)
    assert slope == pytest.approx(1.0, abs=0.01)
