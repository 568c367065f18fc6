from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import weighted_rows
from nolook.statistics.grid_models import GridModel, RowBlock
from nolook.statistics.residual_products import grid_model
from nolook.statistics.weighted_rows import (
    ERROR_UNIT,
    LARGEST_ERROR,
    PRODUCT_UNIT,
    SCORE_RADIUS,
    SCORE_UNIT,
    ClippedProducts,
    ModelErrors,
    ProductSizes,
    clipped_products_sensitivity,
    clipped_scores,
    errors_sensitivity,
)
from nolook.tables.folding import Batches

GRID = 2**12
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.integers(-20 * UNIT, 20 * UNIT).map(float),
)
NORMS = st.floats(1.0, 7.0)
MODELS = hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3))
EDGES = np.array([0.5, 1.0, 2.0, 4.0])


def made(table, norm, theta):
    """Return a table's weighted rows as a block, its last column the target, and a model."""
    radius = math.floor((norm * GRID) ** 2)
    ones = np.ones(len(table) - 1)
    standard = 0 * ones, ones, -20 * ones, 20 * ones
    whitening = Spread.standard(len(ones)).whitening
    rows, squares, factors = weighted_rows(table[:-1] / UNIT, standard, whitening, radius, GRID)
    block = RowBlock(rows, squares, table[-1] / UNIT, factors)
    return block, GridModel(*grid_model(theta[: len(table)], radius), GRID)


def statistics(model):
    return [
        ClippedProducts(model, 2**15),
        ProductSizes(model, EDGES),
        ModelErrors(model, 0.3),
    ]


SENSITIVITIES = [clipped_products_sensitivity(2**15), 1, errors_sensitivity()]


@given(TABLES, NORMS, MODELS, st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, norm, theta, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    block, model = made(table, norm, theta)
    fewer, _ = made(np.delete(table, which, axis=1), norm, theta)
    pairs = zip(statistics(model), statistics(model), SENSITIVITIES, strict=True)
    for one, other, sensitivity in pairs:
        moved = one.update(*block).value - other.update(*fewer).value
        assert sum(int(entry) ** 2 for entry in moved) <= sensitivity**2


@given(TABLES, NORMS, MODELS, st.floats(0.05, 50.0), st.data())
def test_scores_keep_to_their_norm_and_are_the_rows_products(table, norm, theta, clip, data):
    block, model = made(table, norm, theta)
    scores = clipped_scores(model, clip, *block[:4])
    np.testing.assert_array_equal(scores, np.trunc(scores))
    assert (scores.astype(np.int64) ** 2).sum(axis=0).max() <= SCORE_RADIUS
    most = 2 * round(clip * GRID * PRODUCT_UNIT / 2)
    for place in range(table.shape[1]):
        alone = RowBlock(*(np.ascontiguousarray(part[..., [place]]) for part in block[:4]))
        np.testing.assert_array_equal(
            clipped_scores(model, clip, *alone[:4])[:, 0], scores[:, place]
        )
        product = ClippedProducts(model, most).update(*alone).value / (GRID * PRODUCT_UNIT)
        room = clip / SCORE_UNIT + norm / PRODUCT_UNIT + 1e-6 * clip
        found = scores[:, place] * clip / SCORE_UNIT
        np.testing.assert_allclose(found, product.astype(float), atol=1.01 * room)


def test_the_sensitivity_of_scores_is_reached():
    block, model = made(np.array([[UNIT / 2.0], [50.0 * UNIT]]), 7.0, np.zeros(2))
    scores = clipped_scores(model, 0.3, *block[:4])
    assert 0.99 < (scores**2).sum() / SCORE_RADIUS <= 1.0


def test_the_sensitivity_of_products_is_reached():
    # A row as long in its constant as in its feature, with a residual far beyond the clip.
    block, model = made(np.array([[UNIT / 2.0], [50.0 * UNIT]]), 7.0, np.zeros(2))
    most = 2**20
    value = ClippedProducts(model, most).update(*block).value
    size = math.sqrt(sum(int(entry) ** 2 for entry in value))
    assert 0.99 < size / clipped_products_sensitivity(most) <= 1.0


def test_the_sensitivity_of_errors_is_reached():
    block, model = made(np.array([[0.0], [50.0 * UNIT]]), 7.0, np.zeros(2))
    value = ModelErrors(model, 0.0).update(*block).value
    assert value.tolist() == [(LARGEST_ERROR * ERROR_UNIT) ** 2] * 2
    assert 0.99 < math.hypot(*value) / errors_sensitivity() <= 1.0


@pytest.mark.parametrize("most", [0, 2, 10, 2**29])
def test_a_sensitivity_is_rounded_up(most):
    found = clipped_products_sensitivity(most)
    assert 4 * found**2 >= 5 * most**2
    assert 4 * (found - 1) ** 2 < 5 * most**2 or most == 0


def test_products_sizes_and_errors_are_what_they_are_called():
    generator = np.random.default_rng(0)
    table = np.trunc(generator.normal(size=(4, 500)) * UNIT)
    norm, theta = 2.0, np.array([0.1, 0.5, -0.5, 0.2])
    block, model = made(table, norm, theta)
    x = np.vstack([np.ones(500), table[:-1] / UNIT])
    y = table[-1] / UNIT
    factor = np.minimum(1.0, norm / np.sqrt((x**2).sum(axis=0)))
    rho = factor * (y - theta @ x)
    length = factor * np.sqrt((x[1:] ** 2).sum(axis=0))
    far = 2 * round(0.7 * GRID * PRODUCT_UNIT / 2)
    value = ClippedProducts(model, far).update(*block).value / (GRID * PRODUCT_UNIT)
    clip = np.minimum(1.0, 0.7 / (length * np.abs(rho)))
    expected = np.append(
        (factor * rho).clip(-0.35, 0.35).sum(), (factor * x[1:] * rho * clip).sum(axis=1)
    )
    np.testing.assert_allclose(value.astype(float), expected, atol=0.5)
    counts = ProductSizes(model, EDGES).update(*block).value
    places = np.searchsorted(EDGES, np.maximum(length, 2 * factor) * np.abs(rho))
    assert np.abs(counts - np.bincount(places, minlength=5)).max() <= 2
    errors = ModelErrors(model, 0.25).update(*block).value / ERROR_UNIT**2
    exact = [((y - 0.25) ** 2).sum(), ((y - theta @ x) ** 2).sum()]
    np.testing.assert_allclose(errors.astype(float), exact, rtol=0.01)


@pytest.mark.parametrize("features", [[0.0], [1.0], [5.0]])
def test_a_row_is_left_whole_by_a_clip_from_its_size_on(features):
    block, model = made(
        np.array([*np.trunc(np.array([features]) * UNIT), [UNIT]]), 7.0, np.zeros(2)
    )
    sizes = [
        edge for edge in EDGES if ProductSizes(model, np.array([edge])).update(*block).value[0]
    ]

    def whole(clip):
        most = 2 * round(clip * GRID * PRODUCT_UNIT / 2)
        free = ClippedProducts(model, 2**29).update(*block).value
        return (ClippedProducts(model, most).update(*block).value == free).all()

    assert [edge for edge in EDGES if whole(edge * (1 + 1e-6))] == sizes


def test_errors_are_those_of_whole_rows_and_far_off_where_no_bit_of_a_row_is_left():
    rows = np.array([[0, 0, 0, 1], [0, 5, -5, 0]], dtype=np.int16)
    squares, targets = np.array([0, 25, 25, 0], dtype=np.int32), np.array([1.0, 1.0, 1.0, 2.0])
    block = RowBlock(rows, squares, targets, np.array([1e-9, 1e-9, 1e-300, 1.0]))
    value = ModelErrors(GridModel(np.array([0.0, 1.0]), 1.0, GRID), 0.0).update(*block).value
    far = (LARGEST_ERROR * ERROR_UNIT) ** 2
    assert value.tolist() == [7 * ERROR_UNIT**2, 5 * ERROR_UNIT**2 + 2 * far]


def test_threads_add_up_the_same():
    generator = np.random.default_rng(1)
    table = np.trunc(generator.normal(size=(4, 900)) * UNIT)
    theta = np.array([0.1, 0.5, -0.5, 0.2])
    _, model = made(table, 2.0, theta)
    blocks = [made(part, 2.0, theta)[0] for part in np.split(table, 9, axis=1)]
    for make in (lambda: ClippedProducts(model, 2**20), lambda: ModelErrors(model, 0.0)):
        alone, shared = (Batches(blocks, threads).fold(make()).value for threads in (1, 3))
        np.testing.assert_array_equal(alone, shared)
