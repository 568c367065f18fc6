from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from nolook.kernels.row_models import (
    clipped_products,
    exponentials,
    probabilities,
    residual_products,
    scores,
)

GRID, BOUND = 2**12, 2**15
SHRINK = 2.0**-42
FUNCTIONS = pytest.mark.parametrize("function", [probabilities, exponentials])
SCALES = st.sampled_from([1e-300, 0.1, 3.0, 50.0, 1e300])
SIZES = pytest.mark.parametrize("rows", [255, 256, 257, 1000, 40_000])
FINITE = st.lists(st.floats(-1e300, 1e300) | st.floats(-50, 50), min_size=1, max_size=30)


def block(columns, rows, seed, scale=1.0, spare=3):
    """Return rows whose first entry is not negative, their squares, and residuals."""
    generator = np.random.default_rng(seed)
    whole = generator.integers(-9_000, 9_001, size=(columns, rows + spare)).astype(np.int16)
    whole[0] = np.abs(whole[0])
    whole[:, ::5] = 0
    squares = (whole[1:, :rows].astype(np.int64) ** 2).sum(axis=0).astype(np.int32)
    return whole, squares, generator.normal(size=rows) * scale


def some_weights(rows, seed, kind=np.int64):
    return np.random.default_rng(seed).integers(2**30 + 1, size=rows).astype(kind)


def clipped(whole, squares, residuals, most=2**24, weights=None):
    return clipped_products(whole, squares, residuals, GRID, most, weights)


def plain(whole, squares, residuals, weights=None):
    del squares
    return residual_products(whole, residuals, GRID, BOUND, weights)


SUMS = pytest.mark.parametrize("sums", [clipped, plain])


# --- probabilities and exponentials --------------------------------------------------------------


@given(FINITE)
def test_probabilities_are_the_logistic_function_from_0_to_1(values):
    found = probabilities(np.array(values))
    assert ((found >= 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(found, expit(np.array(values)), rtol=0.0, atol=1e-12)
    # Far probabilities keep their digits down to the farthest.
    near = np.array(values).clip(-39.0, 39.0)
    np.testing.assert_allclose(probabilities(near), expit(near), rtol=1e-11)


def exact_exponential(value):
    with localcontext() as context:
        context.prec = 40
        return Decimal(value).exp()


@given(FINITE)
def test_exponentials_are_those_of_numbers_cut_at_40(values):
    for value, found in zip(values, exponentials(np.array(values)).tolist(), strict=True):
        exact = exact_exponential(min(max(value, -40.0), 40.0))
        assert abs(Decimal(found) / exact - 1) < Decimal("1e-11")


@FUNCTIONS
def test_they_are_right_wherever_the_power_of_two_changes(function):
    # Where a rest is half a doubling, the series is at its worst.
    halves = math.log(2.0) * (np.arange(-58, 58) + 0.5)
    near = np.concatenate([halves, np.nextafter(halves, -99.0), np.nextafter(halves, 99.0)])
    near = np.concatenate([near, [0.0, -0.0, 5e-324, -5e-324, 40.0, -40.0]])
    exact = np.array([float(exact_exponential(value)) for value in near])
    expected = exact if function is exponentials else exact / (1.0 + exact)
    np.testing.assert_allclose(function(near), expected, rtol=1e-11)
    assert exponentials(np.zeros(1)) == 1.0
    assert probabilities(np.zeros(1)) == 0.5


@FUNCTIONS
def test_beyond_the_farthest_they_are_constant(function):
    ends = function(np.array([-40.0, 40.0]))
    beyond = np.array([-1.7e308, -41.0, 41.0, 1.7e308])
    np.testing.assert_array_equal(function(beyond), ends.repeat(2))


@FUNCTIONS
def test_one_of_them_depends_on_its_own_place_by_no_bit(function):
    values = np.random.default_rng(0).normal(size=4_097) * 10.0
    given_values = values.copy()
    alone = np.array([function(values[i : i + 1])[0] for i in range(len(values))])
    np.testing.assert_array_equal(function(values), alone)
    for start in range(1, 9):
        np.testing.assert_array_equal(function(values[start:]), alone[start:])
        np.testing.assert_array_equal(function(values[::start]), alone[::start])
    np.testing.assert_array_equal(values, given_values)


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 31])
@pytest.mark.parametrize("rows", [1, 257, 5_001])
def test_scores_are_exact_products_however_rows_are_cut(rows, columns):
    whole, _, _ = block(columns, rows, rows, spare=0)
    theta = np.rint(np.random.default_rng(1).normal(size=columns) * 2.0**30)
    found = scores(whole, theta, SHRINK)
    products = (
        sum(int(t) * z for t, z in zip(theta, row, strict=True)) for row in whole.T.tolist()
    )
    assert found.tolist() == [float(Fraction(each) * Fraction(SHRINK)) for each in products]
    order = np.random.default_rng(2).permutation(rows)
    shuffled = scores(np.ascontiguousarray(whole[:, order]), theta, SHRINK)
    np.testing.assert_array_equal(found[order], shuffled)
    assert scores(np.ascontiguousarray(whole[:, :1]), theta, SHRINK)[0] == found[0]


def test_scores_tell_of_a_model_off_the_grid():
    """A model that is not on a grid gives a row other bits by the order of its columns."""
    theta = np.array([0.1, 0.7, -0.3, 1.1, 0.37])
    rows = np.random.default_rng(0).integers(-9_000, 9_000, size=(5, 400)).astype(np.int16)
    for model, same in ((np.rint(theta * 2.0**30), True), (theta, False)):
        forward = scores(rows, model, 1.0)
        backward = scores(rows[::-1].copy(), model[::-1].copy(), 1.0)
        assert (forward == backward).all() == same


# --- sums of products ----------------------------------------------------------------------------


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 30),
    seed=st.integers(0, 2**31),
    scale=SCALES,
    most=st.sampled_from([0, 2, 2**14, 2**24, 2**36]),
    weighted=st.booleans(),
)
def test_clipped_sums_are_those_of_python_integers(columns, rows, seed, scale, most, weighted):
    whole, squares, residuals = block(columns, rows, seed, scale)
    weights = some_weights(rows, seed) if weighted else None
    total = [0] * columns
    counts = [1] * rows if weights is None else weights.tolist()
    each = zip(whole.T.tolist(), residuals.tolist(), counts, strict=False)
    for row, residual, weight in each:
        length = math.sqrt(sum(z * z for z in row[1:]))
        bound = math.floor((1 - 2**-40) * most / length) if length else 0
        first = math.floor(Fraction(most, 2 * row[0])) if row[0] else 0
        steps = residual * GRID
        cut = [weight * int(min(max(steps, -b), b)) for b in (first, bound)]
        total[0] += row[0] * cut[0]
        total[1:] = [t + z * cut[1] for t, z in zip(total[1:], row[1:], strict=True)]
    assert clipped(whole, squares, residuals, most, weights).tolist() == total


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 40),
    seed=st.integers(0, 2**31),
    scale=SCALES,
    weights=st.sampled_from([None, np.int32, np.int64]),
)
def test_sums_are_those_of_python_integers(columns, rows, seed, scale, weights):
    whole, squares, residuals = block(columns, rows, seed, scale)
    weights = None if weights is None else some_weights(rows, seed, weights)
    counts = [1] * rows if weights is None else weights.tolist()
    total = [0] * columns
    for row, residual, weight in zip(whole.T.tolist(), residuals.tolist(), counts, strict=False):
        steps = weight * math.trunc(min(max(residual * GRID, -BOUND), BOUND))
        total = [t + z * steps for t, z in zip(total, row, strict=True)]
    assert plain(whole, squares, residuals, weights).tolist() == total


@pytest.mark.parametrize("largest", [2**30, 2**30 - 1, 2**24 + 1, 32_769])
def test_many_clipped_rows_of_the_largest_product_stay_exact(largest):
    rows = 2**17
    whole = np.full((2, rows), 2**14, dtype=np.int16)
    squares, residuals = np.full(rows, 2**28, dtype=np.int32), np.full(rows, -1e300)
    each = clipped(whole[:, :1], squares[:1], residuals[:1], 2**36)
    for weights, times in ((None, rows), (np.full(rows, largest), rows * largest)):
        found = clipped(whole, squares, residuals, 2**36, weights)
        assert found.tolist() == [times * entry for entry in each]


def test_many_rows_of_the_largest_product_and_weight_stay_exact():
    rows, bound = 2**17, 2**20
    whole = np.full((5, rows), -(2**15), dtype=np.int16)
    residuals = np.full(rows, 1e300)
    for weights, times in ((None, rows), (np.full(rows, 2**30), 2**47)):
        found = residual_products(whole, residuals, 1.0, bound, weights)
        assert found.tolist() == [-(2**15) * bound * times] * 5


@given(
    seed=st.integers(0, 2**31),
    most=st.integers(0, 2**29).map(lambda half: 2 * half),
    first=st.integers(0, 2**15 - 1),
    length=st.integers(0, 2**15 - 1),
)
def test_a_single_row_is_within_its_clip_in_integers(seed, most, first, length):
    whole, squares, residuals = block(5, 1, seed, 1e300, spare=0)
    whole[:, 0] = [first, length, 0, length // 2 if length < 2**14 else 0, 1]
    squares[0] = sum(int(entry) ** 2 for entry in whole[1:, 0])
    constant, *rest = (int(entry) for entry in clipped(whole, squares, residuals, most))
    assert sum(entry**2 for entry in rest) <= most**2
    assert 2 * abs(constant) <= most
    # And as near as whole numbers allow.
    assert 2 * (abs(constant) + first) > most or not first
    missing = math.isqrt(int(squares[0])) + 1 + 2.0**-39 * most
    assert math.isqrt(sum(entry**2 for entry in rest)) + 1 >= most - missing


def test_a_row_with_nothing_but_a_constant_and_one_without_it_add_what_they_have():
    whole = np.array([[3, 0], [0, 4]], dtype=np.int16)
    squares = np.array([0, 16], dtype=np.int32)
    assert clipped(whole, squares, np.array([1.0, 1.0]), 2**30).tolist() == [3 * GRID, 4 * GRID]


@SUMS
@SIZES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_and_number_of_rows_do_not_matter(sums, rows, weighted):
    whole, squares, residuals = block(31, rows, rows, spare=0)
    weights = some_weights(rows, 3) if weighted else None

    def of(part):
        own = None if weights is None else weights[part]
        return sums(
            np.ascontiguousarray(whole[:, part]), squares[part], residuals[part], weights=own
        )

    whole_sum = of(slice(None))
    np.testing.assert_array_equal(whole_sum, of(np.random.default_rng(1).permutation(rows)))
    half = rows // 2
    np.testing.assert_array_equal(whole_sum, of(slice(half)) + of(slice(half, None)))
    parts = [of(slice(start, start + 100)) for start in range(0, 1_000, 100)]
    np.testing.assert_array_equal(sum(parts), of(slice(1_000)))


@SUMS
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_beyond_the_last_row_hold_no_rows(sums, weighted):
    whole, squares, residuals = block(31, 300, 0, spare=0)
    weights = some_weights(300, 3) if weighted else None
    padded = np.concatenate([whole, np.full((31, 7), 9, dtype=np.int16)], axis=1)
    np.testing.assert_array_equal(
        sums(whole, squares, residuals, weights=weights),
        sums(padded, squares, residuals, weights=weights),
    )
