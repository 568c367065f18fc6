from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.algorithms.whitening import Spread
from nolook.kernels.curves import Curves
from nolook.kernels.moments import UNIT, integer_rows, squared_norms
from nolook.kernels.weighted_rows import (
    LARGEST_ROW,
    Standard,
    bounded_targets,
    squared_lengths,
    weighted_rows,
)

ANY = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-3, 3)
COLUMNS = hnp.arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(1, 12)), elements=ANY)
UNITS = st.sampled_from([2**4, 2**10])
NORMS = st.floats(1.0, 30.0)


def standard(columns):
    """Return centre, scale, low and high: centre 1, scale 1/2 and five scales."""
    ones = np.ones(columns)
    return Standard(ones, ones / 2, -5 * ones, 5 * ones)


def some_spread(size, seed=0, largest=1e3):
    """A spread of directions that vary very differently."""
    generator = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(generator.normal(size=(size, size)))
    return Spread(
        generator.uniform(-2.0, 2.0, size), (turn * np.geomspace(0.3, largest, size)) @ turn.T
    )


# One that leaves rows as they are, and one that does not.
SPREADS = st.sampled_from([Spread.standard, some_spread])


def weighted(columns, norm, unit, spread=Spread.standard):
    """Return u, |u_x|^2 and f."""
    size, bound = len(columns), math.floor((norm * unit) ** 2)
    return weighted_rows(columns, standard(size), spread(size).whitening, bound, unit)


@given(COLUMNS)
def test_squares_are_those_of_the_standard_rows(columns):
    rows = integer_rows(columns, *standard(len(columns))[:4])
    expected = squared_norms(rows)
    found = squared_lengths(columns, standard(len(columns)), None)
    np.testing.assert_array_equal(found, expected)


@given(COLUMNS, NORMS, UNITS, SPREADS)
def test_rows_are_within_the_norm_in_integers(columns, norm, unit, spread):
    rows, squares, _ = weighted(columns, norm, unit, spread)
    exact = (rows.astype(np.int64) ** 2).sum(axis=0)
    assert exact.max() <= (norm * unit) ** 2
    np.testing.assert_array_equal(squares, (rows[1:].astype(np.int64) ** 2).sum(axis=0))


@given(COLUMNS, NORMS, UNITS, SPREADS)
def test_rows_are_multiplied_by_one_factor_and_so_is_their_constant(columns, norm, unit, spread):
    rows, _, factors = weighted(columns, norm, unit, spread)
    x = in_python(columns, spread(len(columns))) / UNIT
    factor = np.minimum(1.0, norm / np.sqrt(1.0 + (x**2).sum(axis=0)))
    assert ((factors > 0.0) & (factors <= 1.0)).all()
    np.testing.assert_allclose(factors, factor, rtol=1.0 / unit)
    np.testing.assert_allclose(rows[0], factors * unit, atol=2.0)
    np.testing.assert_allclose(rows[1:], factors * unit * x, atol=2.0)
    # Toward zero, so that no row grows.
    assert (np.abs(rows[1:]) <= np.abs(factors * unit * x) + 1e-9).all()


@given(COLUMNS, NORMS, UNITS, SPREADS, st.data())
def test_a_row_depends_on_itself_alone_to_the_last_bit(columns, norm, unit, spread, data):
    order = np.array(data.draw(st.permutations(range(columns.shape[1]))))
    kept = order[: data.draw(st.integers(1, len(order)))]
    whole = weighted(columns, norm, unit, spread)
    part = weighted(np.ascontiguousarray(columns[:, kept]), norm, unit, spread)
    for before, after in zip(whole, part, strict=True):
        np.testing.assert_array_equal(before[..., kept], after)


def test_cuts_of_many_rows_change_no_bit():
    columns = np.random.default_rng(0).normal(size=(30, 5_000))
    whole = weighted(columns, 3.0, 2**12)
    for cut in (slice(0, 1), slice(100, 4_321)):
        for before, after in zip(whole, weighted(columns[:, cut], 3.0, 2**12), strict=True):
            np.testing.assert_array_equal(before[..., cut], after)


def test_a_row_that_rounding_left_outside_is_shrunk_further():
    # A radius of which no row keeps to the factor: its root is rounded up.
    columns = np.full((1, 1), 1.5)
    for radius in range(2, 400):
        rows, _, _ = weighted_rows(columns, standard(1), Spread.standard(1).whitening, radius, 16)
        assert int((rows.astype(int) ** 2).sum()) <= radius


def test_short_rows_stay_as_they_are():
    columns = np.array([[1.0, 1.5, 0.5], [1.0, 1.5, 2.0]])
    rows, _, factors = weighted(columns, 3.0, 2**10)
    np.testing.assert_array_equal(rows[1:], (columns - 1.0) * 2 * 2**10)
    np.testing.assert_array_equal(rows[0], 2**10)
    np.testing.assert_array_equal(factors, 1.0)


def in_python(columns, spread):
    """Whiten with Python's integers."""
    x = integer_rows(columns, *standard(len(columns))[:4]).astype(int).tolist()
    center, matrix, spacing, most = spread.whitening
    ways = [[int(each) for each in row] for row in matrix]
    shift, rows = round(1.0 / spacing), []
    assert shift * spacing == 1.0
    for way in ways:
        sums = [
            sum(a * (each - int(c)) for a, each, c in zip(way, row, center, strict=True))
            for row in zip(*x, strict=True)
        ]
        whole = [abs(each) // shift * (1 if each > 0 else -1) for each in sums]
        rows.append([max(min(each, most), -most) for each in whole])
    return np.array(rows, dtype=float).reshape(columns.shape)


@given(COLUMNS, st.integers(0, 3), st.sampled_from([1.0, 1e3]))
def test_whitened_rows_are_those_of_whole_numbers(columns, seed, largest):
    spread = some_spread(len(columns), seed, largest)
    expected = in_python(columns, spread)
    whitening = spread.whitening
    found = squared_lengths(columns, standard(len(columns)), whitening)
    np.testing.assert_array_equal(found, (expected**2).sum(axis=0))
    # A radius that nothing reaches: the rows themselves, in coarser units.
    rows, _, _ = weighted_rows(columns, standard(len(columns)), whitening, 2**28, 2**4)
    short = (found + UNIT**2 <= (2**14 * UNIT / 2**4) ** 2) & (
        np.abs(expected) < most_of(2**4)
    ).all(axis=0)
    np.testing.assert_array_equal(
        rows[1:, short], np.trunc(expected * 2**4 / UNIT)[:, short].astype(np.int16)
    )


def test_functions_of_columns_are_not_whitened():
    columns = np.random.default_rng(0).normal(1.0, 0.5, size=(2, 40))
    knots, values = np.array([[-UNIT, 0, UNIT]]), np.array([[5, 0, 9], [0, UNIT, -UNIT]])
    lines, spread = standard(2), some_spread(2, largest=1.5)
    curves = Curves(np.array([1]), np.array([0, 2]), knots.astype(float), values.astype(float))
    curved = lines._replace(curves=curves)
    added = squared_lengths(columns, curved, None) - squared_lengths(columns, lines, None)
    assert added.max() > 0.0
    found = squared_lengths(columns, curved, spread.widened(4).whitening)
    found -= squared_lengths(columns, lines, spread.whitening)
    np.testing.assert_array_equal(found, added)


def most_of(unit):
    return 2**15 * UNIT // unit


def test_a_map_in_whole_numbers_is_the_map_and_its_products_stay_exact():
    for size in (1, 3, 200):
        spread = some_spread(size)
        center, matrix, spacing, most = spread.whitening
        assert np.abs(matrix).sum(axis=1).max() <= LARGEST_ROW
        np.testing.assert_allclose(matrix * spacing, spread.map, atol=2.0**-20)
        np.testing.assert_allclose(center / UNIT, spread.center, atol=1.0 / UNIT)
        # 20 scales on either side of the centre.
        assert LARGEST_ROW * 40 * UNIT < 2**53
        assert size * most**2 < 2**53
        assert (matrix == np.trunc(matrix)).all()


def test_no_columns_and_a_map_of_zeros_are_rows_of_the_constant():
    empty = Spread.standard(0)
    rows, squares, factors = weighted_rows(np.empty((0, 5)), standard(0), empty.whitening, 256, 16)
    assert (rows == 16).all()
    assert not squares.any()
    assert (factors == 1.0).all()
    flat = Spread(np.zeros(2), np.zeros((2, 2)))
    assert not squared_lengths(np.ones((2, 3)), standard(2), flat.whitening).any()


def test_rows_that_are_left_as_they_are_are_the_standard_rows():
    columns = np.random.default_rng(0).normal(size=(4, 7_000)) * 9.0
    plain = Spread.standard(4).whitening
    expected = squared_lengths(columns, standard(4), None)
    np.testing.assert_array_equal(squared_lengths(columns, standard(4), plain), expected)


@given(
    hnp.arrays(np.float64, 5, elements=st.floats(allow_nan=True, allow_infinity=True)),
    st.floats(-1e300, 1e300),
    st.floats(5e-324, 1e300),
    st.sampled_from([1.0, 5.0, math.inf]),
)
def test_targets_are_finite_and_within_the_limit(targets, center, scale, limit):
    standard = bounded_targets(targets, center, scale, limit)
    assert np.isfinite(standard).all()
    assert np.abs(standard).max() <= limit
