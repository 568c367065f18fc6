from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from papers.bounded_rows import bounded_rows

TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(0, 12)),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)
LIMITS = st.sampled_from([1.0, 5.0, math.inf])
UNIT = 2**12


def rows_of(table, limit=math.inf, squared_radius=UNIT**2, unit=UNIT, scale=1.0):
    center, scales = np.zeros(len(table)), np.full(len(table), scale)
    ends = np.full(len(table), limit)
    return bounded_rows(table, center, scales, -ends, ends, squared_radius, unit)


@given(TABLES, LIMITS, st.integers(UNIT**2, 40 * UNIT**2), st.sampled_from([1.0, 1e-300, 1e300]))
def test_norms_are_bounded_in_integers_whatever_the_cells(table, limit, squared_radius, scale):
    rows = rows_of(table, limit, squared_radius, scale=scale)
    assert rows.shape == (table.shape[0] + 1, table.shape[1])
    whole = [[int(value) for value in row] for row in rows.T]
    assert np.array_equal(rows, np.trunc(rows))
    assert all(sum(value * value for value in row) <= squared_radius for row in whole)


@given(TABLES, LIMITS, st.integers(UNIT**2, 40 * UNIT**2), st.data())
def test_a_row_depends_on_itself_alone(table, limit, squared_radius, data):
    cut = data.draw(st.integers(0, table.shape[1]))
    whole = rows_of(table, limit, squared_radius)
    parts = [rows_of(part, limit, squared_radius) for part in (table[:, :cut], table[:, cut:])]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)
    np.testing.assert_array_equal(rows_of(table[:, ::-1], limit, squared_radius), whole[:, ::-1])


def test_rows_inside_stay_and_rows_outside_keep_their_direction():
    table = np.array([[0.5, 30.0, 1e300, -1e300], [-0.25, 40.0, 1e300, 1e200]])
    rows = rows_of(table, squared_radius=4 * UNIT**2)
    np.testing.assert_array_equal(rows[:, 0], [UNIT, UNIT // 2, -UNIT // 4])
    norm = 2 * UNIT / math.sqrt(2501)
    np.testing.assert_allclose(rows[:, 1], [norm, 30 * norm, 40 * norm], atol=1.0)
    np.testing.assert_allclose(rows[:, 2], [0.0, math.sqrt(2) * UNIT, math.sqrt(2) * UNIT], atol=1)
    np.testing.assert_allclose(rows[:, 3], [0.0, -2 * UNIT, 0.0], atol=1.0)
