from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nolook.kernels.row_products import row_products
from papers.public_design import public_scaling
from tests.report.hand_made import fitted, unclipped

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("features", [0, 1, 2, 7, 30, 200])
def test_products_are_those_of_exact_arithmetic(features):
    columns, vector = RNG.normal(size=(features, 11)), RNG.normal(size=features)
    products = row_products(columns, vector)
    for row, product in zip(columns.T, products, strict=True):
        terms = [Fraction(x) * Fraction(v) for x, v in zip(row, vector, strict=True)]
        allowed = (features + 1) * 2.0**-53 * float(sum(map(abs, terms)))
        assert abs(product - float(sum(terms))) <= allowed


@pytest.mark.parametrize("features", [3, 30, 200])
def test_the_rows_around_a_row_change_no_bit_of_its_product(features):
    columns, vector = RNG.normal(size=(features, 503)), RNG.normal(size=features)
    together = row_products(columns, vector)
    for step in (1, 2, 7, 64, 498):
        parts = [row_products(columns[:, i : i + step], vector) for i in range(0, 503, step)]
        assert np.concatenate(parts).tobytes() == together.tobytes()
    other = np.asfortranarray(columns)
    assert row_products(other, vector).tobytes() == together.tobytes()
    order = RNG.permutation(503)
    assert row_products(columns[:, order], vector).tobytes() == together[order].tobytes()


def test_what_overflows_is_infinite_without_a_warning():
    columns = np.array([[1e308, -1e308, 1e308, 1.0], [1e308, 0.0, -1e308, 1.0]])
    products = row_products(columns, np.array([10.0, 10.0]))
    np.testing.assert_array_equal(products, [np.inf, -np.inf, np.nan, 20.0])


@pytest.mark.parametrize("features", [4, 33])
@pytest.mark.parametrize("row_norm", [np.inf, 2.5])
def test_a_prediction_is_a_function_of_its_row_alone(features, row_norm):
    model = unclipped(fitted([f"x{place}" for place in range(features + 1)]))
    model.scaling_ = public_scaling(model.scaling_.names, 2.0, 3.0)
    model.row_norm_ = row_norm
    del model.feature_names_in_
    rows = RNG.normal(size=(103, features))
    together = model.predict(rows)
    for step in (1, 3, 50, 100):
        parts = [model.predict(rows[i : i + step]) for i in range(0, 103, step)]
        assert np.concatenate(parts).tobytes() == together.tobytes()
