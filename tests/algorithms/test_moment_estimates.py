from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.algorithms.moment_estimates import r2_estimate
from nolook.algorithms.moment_regression import (
    MomentRelease,
    NoisyMoments,
    bounded_rows,
    choose_squared_radius,
)
from nolook.algorithms.moment_selection import nearest_moments
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.kernels.moments import UNIT
from nolook.privacy.noise import SeededSource
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
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
    return NoisyMoments(scaling, Z.T @ Z, sigma)


def solved(moments):
    return np.linalg.solve(moments.matrix[:-1, :-1], moments.matrix[:-1, -1])


def test_without_noise_the_fit_is_that_of_least_squares():
    X, y = table(5000)
    moments = exact_moments(X, y, 1e-6)
    found, _ = r2_estimate(moments, solved(moments))
    design = np.column_stack([np.ones(len(y)), X])
    _, residual, _, _ = np.linalg.lstsq(design, y, rcond=None)
    assert found == pytest.approx(1 - residual[0] / np.sum((y - y.mean()) ** 2), rel=1e-3)


def test_more_noise_means_wider_intervals_around_the_fit():
    X, y = table(5000)
    widths = []
    for sigma in (1.0, 10.0, 30.0):
        moments = exact_moments(X, y, sigma)
        found, (low, high) = r2_estimate(moments, solved(moments))
        assert low <= found <= high
        widths.append(high - low)
    assert widths == sorted(widths)
    assert widths[2] > 10 * widths[0]


def test_too_few_rows_claim_no_fit():
    moments = released(40)
    assert r2_estimate(moments, np.zeros(4)) is None


def test_the_nearest_moments_are_semidefinite_and_optimal():
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(6, 6))
    matrix += matrix.T
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
    matrix = exact_moments(*table(100), 1.0).matrix
    np.testing.assert_allclose(nearest_moments(matrix), matrix, rtol=1e-9, atol=1e-9)


def test_events_compose_to_mu():
    events = MomentRelease(0.4).events()
    assert sum(event.mu**2 for event in events) == pytest.approx(0.16)
    assert len(events) == len(ScaleSearch(0.4).events()) + 2


def test_the_released_moments_are_those_of_the_rows_up_to_the_noise():
    moments = released(20_000, mu=50.0)
    X, y = table(20_000)
    columns = (np.column_stack([X, y]) - moments.scaling.center) / moments.scaling.scale
    radius = np.sqrt(moments.sigma * 50.0 * np.sqrt(MomentRelease(1.0).shares()["moments"]) - 1.0)
    inside = (np.linalg.norm(columns, axis=1) <= radius) & (np.abs(columns).max(axis=1) <= 5)
    assert inside.mean() > 0.99
    Z = np.column_stack([np.ones(20_000), columns])
    np.testing.assert_allclose(moments.matrix, Z.T @ Z, atol=0.02 * 20_000)
    # The noise that is claimed is the noise there is: the count of rows is on the diagonal.
    draws = [released(500, mu=0.5, seed=seed) for seed in range(40)]
    errors = [(draw.matrix[0, 0] - 500) / draw.sigma for draw in draws]
    assert 0.7 < np.std(errors) < 1.3


def test_the_radius_keeps_the_allowed_rows_outside():
    squares = np.array([1.0, 4.0, 9.0, 16.0])
    counts = np.array([100.0, 800.0, 60.0, 30.0, 0.0])
    # 2 sqrt(4) / 0.05 = 80 rows may be outside: 30 lie beyond 9, and 90 beyond 4.
    assert choose_squared_radius(counts, squares, 1000.0, 2, 0.05) == 9
    assert choose_squared_radius(counts, squares, 1000.0, 2, 0.04) == 4
    assert choose_squared_radius(counts, squares, 100.0, 2, 0.05) == 16


TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 15)),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)


def gram_of(table, squared_radius):
    """Return the exact moments of rows that are clipped to five and shrunk to a norm."""
    columns = len(table)
    names, zeros = tuple(map(str, range(columns))), np.zeros(columns)
    scaling = Scaling(names, zeros, zeros + 1.0, np.full(columns, True))
    moments = DesignMoments(columns + 1, UNIT**2 + squared_radius)
    for rows in bounded_rows(scaling, squared_radius, table, None):
        moments.update(*rows)
    return moments.value


@given(TABLES, st.integers(1, 30 * UNIT**2), st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, squared_radius, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    value, fewer = (gram_of(one, squared_radius) for one in (table, np.delete(table, which, 1)))
    limit = gram_sensitivity(UNIT**2 + squared_radius)
    assert int(((value - fewer) ** 2).sum()) <= limit**2


def test_the_sensitivity_is_reached():
    squared_radius = (3 * UNIT) ** 2
    full = gram_of(np.array([[3.0]]), squared_radius)
    assert int((full**2).sum()) == gram_sensitivity(UNIT**2 + squared_radius) ** 2


def test_nothing_but_noise_still_gives_a_radius():
    squares = np.array([1.0, 4.0])
    assert choose_squared_radius(np.array([-5.0, -3.0, 400.0]), squares, 1.0, 2, 1.0) in (1, 4)
