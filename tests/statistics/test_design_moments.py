from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.statistics.design_moments import (
    MOST_ROWS,
    DesignMoments,
    eigenvalue_sensitivity,
    gram_sensitivity,
    product_sensitivity,
    smallest_eigenvalue,
)
from papers.bounded_rows import bounded_rows

UNIT = 2**14
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.floats(allow_nan=True, allow_infinity=True) | st.floats(-3, 3),
)
RADII = st.integers(UNIT**2, 30 * UNIT**2)


def design(table, squared_radius):
    zeros, ones = np.zeros(len(table)), np.ones(len(table))
    return bounded_rows(table, zeros, ones, -math.inf * ones, math.inf * ones, squared_radius, UNIT)


def moments(table, squared_radius):
    rows = design(table, squared_radius)
    return DesignMoments(len(rows), squared_radius).update(rows).value


def squares(difference):
    return int((difference**2).sum())


@given(TABLES, RADII, st.data())
def test_neighbours_differ_by_the_sensitivities_at_most(table, squared_radius, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    value = moments(table, squared_radius)
    fewer = moments(np.delete(table, which, axis=1), squared_radius)
    assert squares(value - fewer) <= gram_sensitivity(squared_radius) ** 2
    change = smallest_eigenvalue(value, squared_radius) - smallest_eigenvalue(fewer, squared_radius)
    assert abs(change) <= eigenvalue_sensitivity(squared_radius, len(table) + 1)


def test_the_sensitivities_are_reached():
    squared_radius = 10 * UNIT**2
    full = moments(np.array([[3.0]]), squared_radius)
    empty = moments(np.empty((1, 0)), squared_radius)
    assert squares(full - empty) == gram_sensitivity(squared_radius) ** 2
    # One more row along the weakest direction raises the smallest eigenvalue by its whole length.
    side = 3 * UNIT
    weak = np.array([[side**2 * 50, 0], [0, side**2]], dtype=object)
    before = weak.copy()
    before[1, 1] = 0
    assert smallest_eigenvalue(weak, side**2) - smallest_eigenvalue(before, side**2) == side**2


@given(st.integers(1, 2**50), st.integers(1, 2**20))
def test_the_product_of_norms_is_rounded_up(squared_radius, largest):
    limit = product_sensitivity(squared_radius, largest)
    assert (limit - 1) ** 2 < squared_radius * largest**2 <= limit**2


@given(TABLES, RADII)
def test_sums_are_those_of_python_integers(table, squared_radius):
    rows = design(table, squared_radius)
    Z = np.array([[int(value) for value in row] for row in rows], dtype=object).reshape(rows.shape)
    np.testing.assert_array_equal(moments(table, squared_radius), Z @ Z.T)


def test_sums_beyond_64_bits_do_not_wrap():
    side = 2**26
    rows = np.full((1, 3000), float(side))
    value = DesignMoments(1, side**2).update(rows).value
    assert value[0, 0] == 3000 * side**2 > 2**63


@pytest.mark.parametrize("size", [2, 10, 60])
@pytest.mark.parametrize("scale", [1, 2**20])
def test_the_eigenvalue_is_within_the_error_the_sensitivity_allows(size, scale):
    # Z'Z of a Hadamard-like design plus a rank-one part: the smallest eigenvalue is known.
    generator = np.random.default_rng(size)
    sides = generator.integers(-100, 100, size=size)
    base = 1000 * scale
    gram = np.array(
        [[scale * int(a) * int(b) for b in sides] for a in sides], dtype=object
    ) + base * np.eye(size, dtype=np.int64).astype(object)
    error = abs(smallest_eigenvalue(gram, 2**40) - base)
    assert error <= 1 + 32 * size * int(np.trace(gram)) / 2**53


def test_the_eigenvalue_pays_for_the_solver_and_no_more_than_that():
    squared_radius = 2**30
    for size in (1, 31, 617):
        extra = eigenvalue_sensitivity(squared_radius, size) - squared_radius
        # Twice 32 d u |A| with |A| up to the trace of that many rows.
        assert extra == 2 * 32 * size * MOST_ROWS * squared_radius // 2**53
        assert 0 < extra < 0.1 * squared_radius


def test_an_empty_or_singular_matrix_has_eigenvalue_zero():
    assert smallest_eigenvalue(np.zeros((3, 3), dtype=object), 1) == 0
    ones = np.full((3, 3), 10**30, dtype=object)
    assert 0 <= smallest_eigenvalue(ones, 10**30) <= 32 * 3 * 3 * 10**30 / 2**53


def test_an_eigenvalue_falls_to_zero_where_rows_are_too_many_for_its_error():
    def eigenvalue(rows):  # of (1, 1) and (1, -1) in turn
        return smallest_eigenvalue(rows * np.eye(2, dtype=np.int64).astype(object), 2)

    assert eigenvalue(2**33) == 2**33
    assert eigenvalue(2**34 - 3) == 6
    assert eigenvalue(2**34) == eigenvalue(2**34 + 1) == eigenvalue(2**60) == 0
