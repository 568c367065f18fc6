from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.kernels.row_models import clipped_products, scores

GRID = 2**12
SHRINK = 2.0**-42


def block(columns, rows, seed, scale=1.0, spare=3):
    """Return rows whose first entry is not negative, their squares, targets, factors; a model."""
    generator = np.random.default_rng(seed)
    whole = generator.integers(-9_000, 9_001, size=(columns, rows + spare)).astype(np.int16)
    whole[0] = np.abs(whole[0])
    whole[:, ::5] = 0
    squares = (whole[1:, :rows].astype(np.int64) ** 2).sum(axis=0).astype(np.int32)
    theta = np.rint(generator.normal(size=columns) * 2.0**30)
    factors = 1.0 - generator.random(rows)
    return whole, squares, generator.normal(size=rows) * scale, factors, theta


def products(whole, squares, targets, factors, theta, most, weights=None):
    rows = np.ascontiguousarray(whole)
    return clipped_products(rows, squares, targets, factors, theta, SHRINK, GRID, most, weights)


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 30),
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([1e-300, 0.1, 3.0, 50.0]),
    most=st.sampled_from([0, 2, 2**14, 2**24, 2**36]),
    weighted=st.booleans(),
)
def test_sums_are_those_of_python_integers(columns, rows, seed, scale, most, weighted):
    whole, squares, targets, factors, theta = block(columns, rows, seed, scale)
    weights = np.random.default_rng(seed).integers(2**30 + 1, size=rows) if weighted else None
    total = [0] * columns
    counts = [1] * rows if weights is None else weights.tolist()
    each = zip(whole.T.tolist(), targets.tolist(), factors.tolist(), counts, strict=False)
    for row, target, factor, weight in each:
        product = sum(int(t) * z for t, z in zip(theta.tolist(), row, strict=True))
        residual = (factor * target - product * SHRINK) * GRID
        length = math.sqrt(sum(z * z for z in row[1:]))
        bound = math.floor((1 - 2**-40) * most / length) if length else 0
        first = math.floor(most / (2 * row[0])) if row[0] else 0
        clipped = [weight * int(min(max(residual, -b), b)) for b in (first, bound)]
        total[0] += row[0] * clipped[0]
        total[1:] = [t + z * clipped[1] for t, z in zip(total[1:], row[1:], strict=True)]
    assert products(whole, squares, targets, factors, theta, most, weights).tolist() == total


def test_many_rows_of_the_largest_product_and_weight_stay_exact():
    rows = 2**17
    whole = np.full((2, rows), 2**14, dtype=np.int16)
    squares, targets = np.full(rows, 2**28, dtype=np.int32), np.full(rows, -1e300)
    weights, ones = np.full(rows, 2**30), np.ones(rows)
    found = products(whole, squares, targets, ones, np.zeros(2), 2**36, weights)
    each = products(whole[:, :1], squares[:1], targets[:1], ones[:1], np.zeros(2), 2**36)
    assert found.tolist() == [2**47 * entry for entry in each]


@given(seed=st.integers(0, 2**31), most=st.integers(0, 2**29).map(lambda half: 2 * half))
def test_a_single_row_is_within_its_clip_in_integers(seed, most):
    whole, squares, targets, factors, theta = block(5, 1, seed, 50.0, spare=0)
    whole[0, 0] = 7
    first, *rest = (int(entry) for entry in products(whole, squares, targets, factors, theta, most))
    assert sum(entry**2 for entry in rest) <= most**2
    assert 2 * abs(first) <= most


@pytest.mark.parametrize("rows", [255, 256, 257, 1000, 40_000])
def test_the_order_and_number_of_rows_do_not_matter(rows):
    whole, squares, targets, factors, theta = block(31, rows, rows, spare=0)
    order = np.random.default_rng(1).permutation(rows)
    plain = products(whole, squares, targets, factors, theta, 2**24)
    shuffled = products(
        whole[:, order], squares[order], targets[order], factors[order], theta, 2**24
    )
    np.testing.assert_array_equal(plain, shuffled)
    half = rows // 2
    parts = [
        products(whole[:, part], squares[part], targets[part], factors[part], theta, 2**24)
        for part in (slice(half), slice(half, None))
    ]
    np.testing.assert_array_equal(plain, parts[0] + parts[1])


@pytest.mark.parametrize("rows", [1, 257, 5_001])
def test_residuals_have_the_same_bits_however_rows_are_cut(rows):
    whole, _, targets, _, theta = block(31, rows, rows, spare=0)
    plain = targets - scores(whole, theta, SHRINK)
    order = np.random.default_rng(2).permutation(rows)
    shuffled = targets[order] - scores(np.ascontiguousarray(whole[:, order]), theta, SHRINK)
    np.testing.assert_array_equal(plain[order], shuffled)
    one = targets[:1] - scores(np.ascontiguousarray(whole[:, :1]), theta, SHRINK)
    assert plain[0] == one[0]
    exact = Fraction(targets[0]) - Fraction(SHRINK) * sum(
        Fraction(t) * int(z) for t, z in zip(theta, whole[:, 0], strict=True)
    )
    assert plain[0] == float(exact)  # one rounding, no more
