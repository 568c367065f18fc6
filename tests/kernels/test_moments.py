from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.moments import (
    UNIT,
    integer_rows,
    shrink_rows,
    squared_norms,
)

BATCHES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(0, 40)),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)


def whole(columns):
    zeros = np.zeros(len(columns))
    return integer_rows(columns, zeros, zeros + 1.0, zeros - 5.0, zeros + 5.0)


@given(BATCHES)
def test_rows_become_whole_numbers_within_the_limit(columns):
    rows = whole(columns)
    assert np.isfinite(rows).all()
    assert (rows == np.trunc(rows)).all()
    assert (np.abs(rows) <= 5 * UNIT).all()


def test_truncation_is_toward_zero():
    step = 1 / UNIT
    rows = whole(np.array([[1.9 * step, -1.9 * step, 0.9 * step, -0.9 * step]]))
    np.testing.assert_array_equal(rows, [[1.0, -1.0, 0.0, 0.0]])


@given(BATCHES, st.integers(1, 30 * UNIT**2))
def test_no_row_exceeds_the_radius_in_integers(columns, squared_radius):
    rows = whole(columns)
    shrink_rows(rows, squared_radius)
    for row in rows.T:
        assert sum(int(v) ** 2 for v in row) <= squared_radius


@given(BATCHES)
def test_rows_within_the_radius_stay(columns):
    rows = whole(columns)
    before = rows.copy()
    shrink_rows(rows, int(squared_norms(rows).max(initial=0.0)))
    np.testing.assert_array_equal(rows, before)


def test_shrinking_keeps_the_direction():
    rows = np.array([[3.0], [-4.0]]) * UNIT
    shrink_rows(rows, UNIT**2)
    np.testing.assert_allclose(rows[:, 0] / UNIT, [0.6, -0.8], atol=2 / UNIT)


@given(BATCHES, st.integers(UNIT, 30 * UNIT**2), st.data())
def test_a_row_is_treated_the_same_in_any_batch(columns, squared_radius, data):
    rows = whole(columns)
    shrink_rows(rows, squared_radius)
    cut = data.draw(st.integers(0, columns.shape[1]))
    parts = [whole(columns[:, :cut]), whole(columns[:, cut:])]
    for part in parts:
        shrink_rows(part, squared_radius)
    np.testing.assert_array_equal(rows, np.concatenate(parts, axis=1))


@pytest.mark.parametrize("center", [1e300, -1e300, 0.0])
def test_extreme_values_do_not_overflow(center):
    column = np.array([[1.7e308, -1.7e308, 0.0]])
    with np.errstate(all="raise", over="ignore", invalid="ignore"):
        rows = integer_rows(
            column, np.array([center]), np.array([1e-300]), np.array([-5.0]), np.array([5.0])
        )
    assert np.isfinite(rows).all()
