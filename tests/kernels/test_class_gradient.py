from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from nolook.kernels.row_models import clipped_gradient, probabilities, scores

GRID = 2**14
SHRINK = 2.0**-44


def block(columns, rows, seed, spare=3):
    """Return rows, classes, factors and a model."""
    generator = np.random.default_rng(seed)
    whole = generator.integers(-9_000, 9_001, size=(columns, rows + spare)).astype(np.int16)
    targets = generator.integers(0, 2, size=rows).astype(np.float64)
    factors = np.where(generator.random(rows) < 0.3, 1.0, 1.0 - generator.random(rows))
    return whole, targets, factors, np.rint(generator.normal(size=columns) * 2.0**30)


def products(whole, targets, factors, theta, weights=None):
    rows = np.ascontiguousarray(whole)
    return clipped_gradient(rows, targets, theta, SHRINK, GRID, GRID, weights, factors)


@given(st.lists(st.floats(-1e300, 1e300) | st.floats(-50, 50), min_size=1, max_size=30))
def test_probabilities_are_the_logistic_function_from_0_to_1(values):
    found = probabilities(np.array(values))
    assert ((found >= 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(found, expit(np.array(values)), atol=1e-11)
    # Far probabilities keep their digits down to the farthest.
    near = np.array(values).clip(-39.0, 39.0)
    np.testing.assert_allclose(probabilities(near), expit(near), rtol=1e-9)


def test_a_probability_depends_on_its_own_place_by_no_bit():
    values = np.random.default_rng(0).normal(size=4_097) * 10.0
    alone = np.array([probabilities(values[i : i + 1])[0] for i in range(len(values))])
    np.testing.assert_array_equal(probabilities(values), alone)
    for start in range(1, 9):
        np.testing.assert_array_equal(probabilities(values[start:]), alone[start:])


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 30),
    seed=st.integers(0, 2**31),
    weighted=st.booleans(),
)
def test_sums_are_those_of_python_integers(columns, rows, seed, weighted):
    whole, targets, factors, theta = block(columns, rows, seed)
    weights = np.random.default_rng(seed).integers(2**30 + 1, size=rows) if weighted else None
    counts = [1] * rows if weights is None else weights.tolist()
    total = [0] * columns
    each = zip(whole.T.tolist(), targets.tolist(), factors.tolist(), counts, strict=False)
    for row, target, factor, weight in each:
        product = sum(int(t) * z for t, z in zip(theta.tolist(), row, strict=True))
        # The probability of the row before it was shortened.
        p = float(probabilities(np.array([product * SHRINK / factor]))[0])
        whole_residual = weight * math.trunc((target - p) * GRID * factor)
        total = [t + z * whole_residual for t, z in zip(total, row, strict=True)]
    assert products(whole, targets, factors, theta, weights).tolist() == total


def test_rows_of_all_but_no_weight_stay_finite_and_add_nothing():
    whole, targets, _, theta = block(4, 50, 0, spare=0)
    for least in (2.0**-20, 1e-300):
        assert not products(whole, targets, np.full(50, least), theta).any()


@pytest.mark.parametrize("rows", [255, 256, 257, 1000, 40_000])
def test_the_order_and_number_of_rows_do_not_matter(rows):
    whole, targets, factors, theta = block(31, rows, rows, spare=0)

    def of(part):
        return products(whole[:, part], targets[part], factors[part], theta)

    plain = products(whole, targets, factors, theta)
    np.testing.assert_array_equal(plain, of(np.random.default_rng(1).permutation(rows)))
    half = rows // 2
    np.testing.assert_array_equal(plain, of(slice(half)) + of(slice(half, None)))
    padded = np.concatenate([whole, np.full((31, 7), 9, dtype=np.int16)], axis=1)
    np.testing.assert_array_equal(plain, products(padded, targets, factors, theta))


def test_scores_are_exact_products():
    whole, _, _, theta = block(5, 20, 0, spare=0)
    exact = [sum(int(t) * int(z) for t, z in zip(theta, row, strict=True)) for row in whole.T]
    assert scores(whole, theta, SHRINK).tolist() == [each * SHRINK for each in exact]
