from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nolook.kernels.curves import Curves, add_curves

LARGEST = 20 * 2**14
WHOLE = st.integers(-LARGEST, LARGEST)


@st.composite
def some_curves(draw):
    """Curves of the second of three columns, on two to six knots, and of the third on two."""
    knots = np.full((2, 6), np.inf)
    values = np.zeros((3, 6))
    for place, (most, rows) in enumerate([(6, (0, 1)), (2, (2,))]):
        own = draw(st.lists(WHOLE, min_size=2, max_size=most, unique=True))
        knots[place, : len(own)] = sorted(own)
        for row in rows:
            values[row, : len(own)] = draw(st.lists(WHOLE, min_size=len(own), max_size=len(own)))
    return Curves(np.array([1, 2]), np.array([0, 2, 3]), knots, values)


def entries(columns, shift, curves):
    rows = np.vstack([columns - shift[:3, None], np.empty((3, columns.shape[1]))])
    add_curves(rows, shift, *curves)
    return rows[3:]


def by_fractions(z, knots, values):
    """Interpolate one value exactly, toward zero."""
    known = [int(knot) for knot in knots if knot < np.inf]
    z = min(max(z, known[0]), known[-1])
    for k, (left, right) in enumerate(pairwise(known)):
        if left <= z <= right:
            low, high = int(values[k]), int(values[k + 1])
            return int(Fraction(low * (right - z) + high * (z - left), right - left))
    raise AssertionError


@given(some_curves(), st.lists(st.tuples(WHOLE, WHOLE, WHOLE), min_size=1, max_size=9), st.data())
def test_entries_are_interpolated_exactly_whatever_rows_are_around(curves, rows, data):
    columns = np.array(rows, dtype=np.float64).T
    shift = np.array(data.draw(st.lists(st.integers(-1000, 1000), min_size=6, max_size=6)), float)
    found = entries(columns, shift, curves)
    for function, (column, place) in enumerate([(1, 0), (1, 0), (2, 1)]):
        for row in range(len(rows)):
            exact = by_fractions(rows[row][column], curves.knots[place], curves.values[function])
            assert found[function, row] + shift[3 + function] == exact
            assert abs(exact) <= LARGEST
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(entries(columns[:, order], shift, curves), found[:, order])
    np.testing.assert_array_equal(entries(columns[:, :1], shift, curves), found[:, :1])
