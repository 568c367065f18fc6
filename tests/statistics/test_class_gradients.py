from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit

from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import weighted_rows
from nolook.statistics.class_counts import ClassBalance, ScoreCounts, balance_sensitivity
from nolook.statistics.grid_models import GridModel, RowBlock
from nolook.statistics.residual_products import grid_model
from nolook.statistics.weighted_rows import (
    CURVATURE_UNIT,
    RESIDUAL_UNIT,
    SCORE_RADIUS,
    SCORE_UNIT,
    ModelCurvature,
    UnitProducts,
    curvature_sensitivity,
    unit_products_sensitivity,
    unit_scores,
)

GRID = 2**12
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.integers(-20 * UNIT, 20 * UNIT).map(float),
)
NORMS = st.floats(1.0, 7.0)
MODELS = hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3))
EDGES = np.array([-1.0, 0.0, 2.0])


def radius_of(norm):
    """Return the bound on |u|^2."""
    return math.floor((norm * GRID) ** 2)


def made(table, norm, theta):
    """Return a table's weighted rows as a block, the sign of its last column the class; a model."""
    radius = radius_of(norm)
    ones = np.ones(len(table) - 1)
    standard = 0 * ones, ones, -20 * ones, 20 * ones
    plain = Spread.standard(len(ones)).whitening
    rows, squares, factors = weighted_rows(table[:-1] / UNIT, standard, plain, radius, GRID)
    block = RowBlock(rows, squares, table[-1] / UNIT, factors)
    return block, GridModel(*grid_model(theta[: len(table)], radius), GRID)


def statistics(model):
    return [
        ClassBalance(),
        UnitProducts(model),
        ModelCurvature(model),
        ScoreCounts(model, EDGES),
    ]


def sensitivities(norm):
    radius = radius_of(norm)
    return [
        balance_sensitivity(),
        unit_products_sensitivity(radius),
        curvature_sensitivity(radius),
        1,
    ]


@given(TABLES, NORMS, MODELS, st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, norm, theta, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    block, model = made(table, norm, theta)
    fewer, _ = made(np.delete(table, which, axis=1), norm, theta)
    pairs = zip(statistics(model), statistics(model), sensitivities(norm), strict=True)
    for one, other, sensitivity in pairs:
        moved = one.update(*block).value - other.update(*fewer).value
        assert sum(int(entry) ** 2 for entry in moved.ravel()) <= sensitivity**2


@given(TABLES, NORMS, MODELS)
def test_scores_keep_to_their_norm_and_are_the_rows_parts_of_the_gradient(table, norm, theta):
    block, model = made(table, norm, theta)
    radius = radius_of(norm)
    scores = unit_scores(model, radius, *block[:4])
    np.testing.assert_array_equal(scores, np.trunc(scores))
    assert (scores.astype(np.int64) ** 2).sum(axis=0).max() <= SCORE_UNIT**2 <= SCORE_RADIUS
    for place in range(table.shape[1]):
        alone = RowBlock(*(np.ascontiguousarray(part[..., [place]]) for part in block[:4]))
        found = unit_scores(model, radius, *alone[:4])[:, 0]
        np.testing.assert_array_equal(found, scores[:, place])
        gradient = UnitProducts(model).update(*alone).value / (GRID * RESIDUAL_UNIT)
        room = norm / SCORE_UNIT + norm / RESIDUAL_UNIT + 1e-9
        np.testing.assert_allclose(found * norm / SCORE_UNIT, gradient.astype(float), atol=room)


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_the_sensitivities_are_reached(target):
    # A row as long as it may be without losing weight, whose class is all but 1 away from its
    # probability, or whose odds are even.
    norm = 6.0
    table = np.array([[math.floor(math.sqrt(norm**2 - 1.0) * UNIT)], [target]])
    block, model = made(table, norm, np.array([0.0, -1e3 * target]))
    value = UnitProducts(model).update(*block).value
    size = math.sqrt(sum(int(entry) ** 2 for entry in value))
    assert 0.999 < size / unit_products_sensitivity(radius_of(norm)) <= 1.0
    scores = unit_scores(model, radius_of(norm), *block[:4])
    assert 0.999 < np.linalg.norm(scores) / SCORE_UNIT <= 1.0
    # The curvature does not mind how long a row was.
    for length in (1.0, 2.0):
        block, model = made(table * [[length], [1.0]], norm, np.zeros(2))
        curvature = ModelCurvature(model).update(*block).value.astype(float)
        share = np.linalg.norm(curvature) / curvature_sensitivity(radius_of(norm))
        assert 0.999 < share <= 1.0


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_a_row_that_was_shortened_adds_less_and_keeps_its_probability(target):
    # Twice as long as the norm: u f is a quarter as long as the row, which has log-odds of ln 3.
    table = np.array([[math.sqrt(143.0) * UNIT], [target]])
    block, model = made(np.trunc(table), 6.0, np.array([0.0, math.log(3.0) / math.sqrt(143.0)]))
    value = UnitProducts(model).update(*block).value / (GRID * RESIDUAL_UNIT)
    expected = 0.25 * np.array([1.0, math.sqrt(143.0)]) * ((target > 0) - 0.75)
    np.testing.assert_allclose(value.astype(float), expected, rtol=2e-3)
    for edge, below in ((1.09, 0), (1.11, 1)):
        counts = ScoreCounts(model, np.array([edge])).update(*block).value.reshape(2, 2)
        assert counts[int(target > 0)].tolist() == [below, 1 - below]


@pytest.mark.parametrize("radius", [1, 3, 2**28 + 1, 2**30 - 1])
def test_the_sensitivity_of_a_gradient_is_rounded_up(radius):
    found = unit_products_sensitivity(radius)
    assert found**2 >= radius * RESIDUAL_UNIT**2
    assert (found - 1) ** 2 < radius * RESIDUAL_UNIT**2


def test_sums_are_what_they_are_called():
    generator = np.random.default_rng(0)
    table = np.trunc(generator.normal(size=(4, 5_000)) * UNIT)
    norm, theta = 2.0, np.array([0.1, 0.5, -0.5, 0.2])
    block, model = made(table, norm, theta)
    x, y = np.vstack([np.ones(5_000), table[:-1] / UNIT]), table[-1] > 0
    f = np.minimum(1.0, norm / np.sqrt((x**2).sum(axis=0)))
    assert 0.2 < (f < 1.0).mean() < 0.8
    u, p = f * x, expit(theta @ x)
    gradient = UnitProducts(model).update(*block).value / (GRID * RESIDUAL_UNIT)
    np.testing.assert_allclose(gradient.astype(float), u @ (f * (y - p)), atol=2.0)
    curvature = ModelCurvature(model).update(*block).value / (GRID**2 * CURVATURE_UNIT)
    np.testing.assert_allclose(curvature.astype(float), (u * p * (1 - p)) @ u.T, atol=5.0)
    scores = unit_scores(model, radius_of(norm), *block[:4]) * norm / SCORE_UNIT
    np.testing.assert_allclose(scores, u * f * (y - p), atol=2.0 * norm / SCORE_UNIT)
    assert ClassBalance().update(*block).value == [2 * y.sum() - y.size]
    counts = ScoreCounts(model, EDGES).update(*block).value.reshape(2, -1)
    place = np.searchsorted(EDGES, theta @ x)
    expected = [np.bincount(place[y == one], minlength=4) for one in (0, 1)]
    np.testing.assert_allclose(counts, expected, atol=3)
    assert counts.sum() == y.size
