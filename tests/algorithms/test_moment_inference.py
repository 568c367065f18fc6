from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.moment_inference import linear_model
from nolook.algorithms.moment_regression import (
    MomentRelease,
    NoisyMoments,
)
from nolook.algorithms.norm_bound import choose_squared_radius
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays


def table(rows, features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * 4 + 2
    return X, X @ np.arange(1.0, features + 1) + generator.normal(size=rows)


def released(rows, mu=0.3, features=3, seed=0):
    X, y = table(rows, features, seed)
    return MomentRelease(mu).run(table_from_arrays(X, y), SeededSource(seed), lambda _: None)


def exact_moments(X, y, sigma):
    columns = np.column_stack([X, y])
    scaling = Scaling(
        ("a", "b", "c", "y"), columns.mean(axis=0), columns.std(axis=0), np.full(4, True)
    )
    Z = np.column_stack([np.ones(len(y)), (columns - scaling.center) / scaling.scale])
    return NoisyMoments(scaling, Z.T @ Z, sigma, 5.0)


def test_without_noise_the_model_is_least_squares():
    X, y = table(5000)
    model = linear_model(exact_moments(X, y, 1e-6))
    design = np.column_stack([np.ones(len(y)), X])
    expected, residual, _, _ = np.linalg.lstsq(design, y, rcond=None)
    np.testing.assert_allclose(model.coef, expected[1:], rtol=1e-6)
    assert model.intercept == pytest.approx(expected[0], rel=1e-5)
    assert model.rmse == pytest.approx(np.sqrt(residual[0] / len(y)), rel=0.01)
    assert model.r2 == pytest.approx(1 - residual[0] / np.sum((y - y.mean()) ** 2), rel=1e-3)


def test_without_noise_the_intervals_are_the_textbook_ones():
    X, y = table(5000)
    model = linear_model(exact_moments(X, y, 1e-6))
    design = np.column_stack([np.ones(len(y)), X])
    covariance = np.linalg.inv(design.T @ design)  # the errors have variance 1
    width = model.coef_interval[:, 1] - model.coef_interval[:, 0]
    np.testing.assert_allclose(width / 2, 1.96 * np.sqrt(np.diag(covariance)[1:]), rtol=0.3)


def test_more_noise_means_wider_intervals():
    X, y = table(5000)
    widths = [
        np.ptp(linear_model(exact_moments(X, y, sigma)).coef_interval, axis=1).mean()
        for sigma in (1.0, 30.0, 300.0)
    ]
    assert widths == sorted(widths)
    assert widths[2] > 3 * widths[0]


def test_intervals_hold_the_released_values():
    model = linear_model(released(4000))
    assert (model.coef_interval[:, 0] <= model.coef).all()
    assert (model.coef <= model.coef_interval[:, 1]).all()
    assert model.intercept_interval[0] <= model.intercept <= model.intercept_interval[1]
    assert model.r2_interval[0] <= model.r2 <= model.r2_interval[1]
    assert model.rmse_interval[0] <= model.rmse <= model.rmse_interval[1]


def test_too_few_rows_claim_no_fit():
    model = linear_model(released(40))
    assert model.r2 == 0.0
    assert model.r2_interval.tolist() == [-1.0, 1.0]


def test_the_same_release_gives_the_same_model():
    moments = released(4000)
    first, second = linear_model(moments), linear_model(moments)
    np.testing.assert_array_equal(first.coef_interval, second.coef_interval)


def test_events_compose_to_mu():
    events = MomentRelease(0.4).events()
    assert sum(event.mu**2 for event in events) == pytest.approx(0.16)
    assert len(events) == len(ScaleSearch(0.4).events()) + 2


def test_the_released_moments_are_those_of_the_rows_up_to_the_noise():
    moments = released(20_000, mu=50.0)
    X, y = table(20_000)
    columns = (np.column_stack([X, y]) - moments.scaling.center) / moments.scaling.scale
    inside = (np.linalg.norm(columns, axis=1) <= moments.radius) & (
        np.abs(columns).max(axis=1) <= 5
    )
    assert inside.mean() > 0.99
    Z = np.column_stack([np.ones(20_000), columns])
    np.testing.assert_allclose(moments.matrix, Z.T @ Z, atol=0.02 * 20_000)
    # The noise that is claimed is the noise there is: the count of rows is on the diagonal.
    draws = [released(500, mu=0.5, seed=seed) for seed in range(60)]
    errors = [(draw.matrix[0, 0] - 500) / draw.sigma for draw in draws]
    assert 0.7 < np.std(errors) < 1.3


def test_the_radius_keeps_the_allowed_rows_outside():
    squares = np.array([1.0, 4.0, 9.0, 16.0])
    counts = np.array([100.0, 800.0, 60.0, 30.0, 0.0])
    # 2 sqrt(4) / 0.05 = 80 rows may be outside: 30 lie beyond 9, and 90 beyond 4.
    assert choose_squared_radius(counts, squares, 1000.0, 2, 0.05) == 9
    assert choose_squared_radius(counts, squares, 1000.0, 2, 0.04) == 4
    assert choose_squared_radius(counts, squares, 100.0, 2, 0.05) == 16


def test_nothing_but_noise_still_gives_a_radius():
    squares = np.array([1.0, 4.0])
    assert choose_squared_radius(np.array([-5.0, -3.0, 400.0]), squares, 1.0, 2, 1.0) in (1, 4)
