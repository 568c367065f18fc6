from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.moments import UNIT, integer_rows
from nolook.statistics.moments import MomentMatrix, moment_sensitivity

TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 15)),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)
RADII = st.integers(1, 30 * UNIT**2)


def standard(columns):
    """Return centre, scale, low and high of columns that are left as they are up to five."""
    zeros = np.zeros(columns)
    return zeros, zeros + 1.0, zeros - 5.0, zeros + 5.0


def moments(table, squared_radius):
    rows = integer_rows(table, *standard(len(table)))
    return MomentMatrix(len(table), squared_radius).update(rows).value


def squared_distance(a, b):
    return int(((a - b) ** 2).sum())


@given(TABLES, RADII, st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, squared_radius, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    value = moments(table, squared_radius)
    fewer = moments(np.delete(table, which, axis=1), squared_radius)
    limit = moment_sensitivity(squared_radius, "add-remove")
    assert squared_distance(value, fewer) <= limit**2
    other = table.copy()
    other[:, which] = -5.0
    limit = moment_sensitivity(squared_radius, "replace")
    assert squared_distance(value, moments(other, squared_radius)) <= limit**2


def test_the_sensitivity_is_reached():
    side = 3 * UNIT
    squared_radius = side * side
    full = moments(np.array([[3.0]]), squared_radius)
    empty = moments(np.empty((1, 0)), squared_radius)
    assert squared_distance(full, empty) == moment_sensitivity(squared_radius, "add-remove") ** 2


def test_replacement_is_covered_by_a_factor_of_the_square_root_of_two():
    single = moment_sensitivity(12345, "add-remove")
    assert 2 * single**2 <= moment_sensitivity(12345, "replace") ** 2 < 2 * (single + 1) ** 2


def test_sums_beyond_64_bits_do_not_wrap():
    # Rows at the largest radius that is used at all make every int64 overflow soon.
    squared_radius = 2**52
    value = int(np.sqrt(squared_radius))
    matrix = MomentMatrix(1, squared_radius)
    for _ in range(3):
        matrix.update(np.full((1, 1500), float(value)))
    assert matrix.value[1, 1] == 4500 * value * value
    assert matrix.value[1, 1] > 2**63


def test_matrices_of_different_radii_do_not_merge():
    with pytest.raises(ValueError, match="different radii"):
        MomentMatrix(1, 5).merge(MomentMatrix(1, 6))
