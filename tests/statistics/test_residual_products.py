from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.bounded_rows import bounded_rows, bounded_targets
from nolook.statistics import residual_products
from nolook.statistics.design_moments import product_sensitivity
from nolook.statistics.residual_products import RESIDUAL_UNIT, ResidualProducts, grid_model

UNIT = 2**12
LARGEST = 2 * RESIDUAL_UNIT
ANY = st.floats(allow_nan=False, allow_infinity=False)
TABLES = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 5), st.integers(1, 12)), elements=ANY | st.floats(-3, 3)
)
RADII = st.integers(UNIT**2, 30 * UNIT**2)
MODELS = hnp.arrays(np.float64, 5, elements=ANY | st.floats(-3, 3))


def products(table, squared_radius, parts=None):
    features = table[:-1]
    zeros, ones = np.zeros(len(features)), np.ones(len(features))
    rows = bounded_rows(features, zeros, ones, -5.0 * ones, 5.0 * ones, squared_radius, UNIT)
    targets = bounded_targets(table[-1], 0.0, 1.0, math.inf)
    kept = ResidualProducts(len(rows), squared_radius, UNIT, LARGEST)
    for part in parts or [slice(None)]:
        kept.update(rows[:, part], targets[part])
    return kept


@given(TABLES, RADII, MODELS, st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, squared_radius, theta, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    model = grid_model(theta[: len(table)], squared_radius)
    value = products(table, squared_radius).value(*model)
    fewer = products(np.delete(table, which, axis=1), squared_radius).value(*model)
    limit = product_sensitivity(squared_radius, LARGEST)
    assert int(((value - fewer) ** 2).sum()) <= limit**2


def test_the_sensitivity_is_reached():
    squared_radius = 10 * UNIT**2
    value = products(np.array([[3.0], [9.0]]), squared_radius).value(np.zeros(2), 1.0)
    limit = product_sensitivity(squared_radius, LARGEST)
    assert (limit - 1) ** 2 < int((value**2).sum()) <= limit**2


@pytest.mark.parametrize("size", [1, 7, 100])
def test_small_blocks_and_threads_give_the_same_sums(size, monkeypatch):
    generator = np.random.default_rng(0)
    table = generator.normal(size=(6, 1000))
    model = grid_model(generator.normal(size=6), 9 * UNIT**2)
    whole = products(table, 9 * UNIT**2).value(*model)
    monkeypatch.setattr(residual_products, "_BLOCK_ROWS", size)
    np.testing.assert_array_equal(products(table, 9 * UNIT**2).value(*model), whole)


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=ANY), st.integers(1, 2**44))
def test_a_model_on_the_grid_has_exact_products(theta, squared_radius):
    steps, step = grid_model(theta, squared_radius)
    assert np.array_equal(steps, np.trunc(steps))
    norm = sum(int(k) ** 2 for k in steps)
    assert norm * squared_radius <= 2**104
    assert 0.0 < step < math.inf
    assert math.frexp(step)[0] == 0.5
    inside = theta.clip(-(2.0**500), 2.0**500)
    errors = [
        abs(Fraction(k) * Fraction(step) - Fraction(t)) for k, t in zip(steps, inside, strict=True)
    ]
    assert max(errors) <= Fraction(step) / 2
    # Fine enough to matter to nobody: the largest entry keeps many digits.
    if np.abs(inside).max() > 1e-100 and squared_radius < 2**34:
        assert step <= np.abs(inside).max() * 2.0**-28


def test_no_rows_give_zeros():
    kept = ResidualProducts(3, UNIT**2, UNIT, LARGEST)
    assert kept.value(np.ones(3), 0.5).tolist() == [0, 0, 0]
