"""Sums of clipped gradients: their sensitivity, and that they are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.statistics.grid_models import grid_model
from papers.amin2023.clipped_gradients import (
    GRADIENT_UNIT,
    ClippedGradients,
    gradient_radius,
    gradient_sensitivity,
)

pytestmark = pytest.mark.papers

UNIT = 2**12
SIZE = 3
RADIUS = gradient_radius(1.5)


def some_rows(n, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.integers(-5 * UNIT, 5 * UNIT + 1, (SIZE, n)).astype(float)
    rows[0] = UNIT
    return rows, generator.normal(size=n) * 3


def total(rows, targets, theta, chosen=None, parts=(slice(None),)):
    kept = ClippedGradients(SIZE, UNIT, RADIUS)
    for part in parts:
        kept.merge(ClippedGradients(SIZE, UNIT, RADIUS).update(rows[:, part], targets[part]))
    taken = np.ones(targets.size, dtype=bool) if chosen is None else chosen
    return kept.value(taken, *grid_model(theta, SIZE * (5 * UNIT) ** 2))


@settings(max_examples=200)
@given(
    st.lists(st.integers(-5 * UNIT, 5 * UNIT), min_size=SIZE, max_size=SIZE),
    st.floats(-1e9, 1e9),
    st.lists(st.floats(-1e3, 1e3), min_size=SIZE, max_size=SIZE),
)
def test_one_row_changes_the_sum_by_the_sensitivity_at_most(row, target, theta):
    rows, targets = some_rows(20)
    before = total(rows, targets, np.array(theta))
    more = np.insert(rows, 7, row, axis=1), np.insert(targets, 7, target)
    change = total(*more, np.array(theta)) - before
    assert sum(int(step) ** 2 for step in change) <= RADIUS
    assert gradient_sensitivity(RADIUS) ** 2 >= RADIUS


def test_the_sensitivity_is_reached():
    change = total(np.array([[UNIT], [3 * UNIT], [0.0]]), np.array([1e6]), np.zeros(SIZE))
    norm = np.sqrt(float(sum(int(step) ** 2 for step in change)))
    assert norm == pytest.approx(gradient_sensitivity(RADIUS), rel=1e-3)


def test_a_row_that_is_not_drawn_changes_nothing():
    rows, targets = some_rows(30)
    chosen = np.arange(30) % 3 == 0
    before = total(rows, targets, np.ones(SIZE), chosen)
    more = np.insert(rows, 5, 9.0, axis=1), np.insert(targets, 5, 1e5)
    after = total(*more, np.ones(SIZE), np.insert(chosen, 5, False))
    np.testing.assert_array_equal(before, after)


def test_sums_do_not_depend_on_order_or_parts():
    rows, targets = some_rows(40_000)
    theta = np.array([0.3, -1.7, 123.456])
    expected = total(rows, targets, theta)
    order = np.random.default_rng(1).permutation(targets.size)
    np.testing.assert_array_equal(total(rows[:, order], targets[order], theta), expected)
    pieces = (slice(0, 17), slice(17, 30_000), slice(30_000, None))
    np.testing.assert_array_equal(total(rows, targets, theta, parts=pieces), expected)
    assert all(type(value) is int for value in expected)


def test_gradients_are_those_of_the_squared_error_clipped():
    rows, targets = some_rows(500)
    theta = np.array([0.5, -0.25, 0.125])
    z = rows / UNIT
    gradients = (targets - theta @ z) * z
    gradients *= np.minimum(1.0, 1.5 / np.linalg.norm(gradients, axis=0))
    found = total(rows, targets, theta).astype(float) / GRADIENT_UNIT
    np.testing.assert_allclose(found, gradients.sum(axis=1), atol=500 * SIZE / GRADIENT_UNIT)


def test_clipped_gradients_are_exact_whatever_their_size():
    radius, rows = 2**46, 2**15
    kept = ClippedGradients(1, 1, radius)
    kept.update(np.ones((1, rows)), np.full(rows, 1e300))
    found = kept.value(np.ones(kept.rows, dtype=bool), np.zeros(1), 1.0)
    assert found.tolist() == [rows * math.isqrt(radius)]
