from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.moments import UNIT, squared_norms
from nolook.kernels.weighted_rows import weighted_rows

ROWS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 5), st.integers(1, 12)),
    elements=st.integers(-20 * UNIT, 20 * UNIT).map(float),
)
UNITS = st.sampled_from([2**4, 2**12, 2**14])
NORMS = st.floats(1.0, 40.0)


def weighted(rows, norm, unit, targets=None):
    targets = np.ones(rows.shape[1]) if targets is None else targets
    return weighted_rows(rows.copy(), targets, math.floor((norm * unit) ** 2), unit)


@given(ROWS, NORMS, UNITS)
def test_rows_are_whole_and_within_the_norm_in_integers(rows, norm, unit):
    out, _ = weighted(rows, norm, unit)
    assert np.array_equal(out, np.trunc(out))
    squares = [sum(int(entry) ** 2 for entry in row) for row in out.T]
    assert max(squares) <= (norm * unit) ** 2


@given(ROWS, NORMS)
def test_rows_and_targets_are_multiplied_by_one_factor(rows, norm):
    targets = np.arange(rows.shape[1]) - 3.0
    out, shrunk = weighted(rows, norm, UNIT, targets)
    factor = np.minimum(1.0, norm / np.sqrt(1.0 + (rows**2).sum(axis=0) / UNIT**2))
    np.testing.assert_allclose(out[0], factor * UNIT, atol=2.0)
    np.testing.assert_allclose(out[1:], factor * rows, atol=2.0, rtol=1e-9)
    np.testing.assert_allclose(shrunk, factor * targets, rtol=1e-6)


@given(ROWS, NORMS, UNITS, st.data())
def test_a_row_depends_on_itself_alone_to_the_last_bit(rows, norm, unit, data):
    targets = np.linspace(-50.0, 50.0, rows.shape[1])
    order = np.array(data.draw(st.permutations(range(rows.shape[1]))))
    kept = order[: data.draw(st.integers(1, len(order)))]
    out, shrunk = weighted(rows, norm, unit, targets)
    again, shrunk_again = weighted(rows[:, kept], norm, unit, targets[kept])
    np.testing.assert_array_equal(out[:, kept], again)
    np.testing.assert_array_equal(shrunk[kept], shrunk_again)


def test_short_rows_stay_as_they_are():
    rows = np.array([[0.0, UNIT, -UNIT], [0.0, UNIT, 2 * UNIT]])
    out, shrunk = weighted(rows, 3.0, UNIT, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(out[1:], rows)
    np.testing.assert_array_equal(out[0], UNIT)
    np.testing.assert_array_equal(shrunk, [1.0, 2.0, 3.0])
    assert squared_norms(out).max() <= 9 * UNIT**2
