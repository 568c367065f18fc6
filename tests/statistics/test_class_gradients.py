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
from nolook.kernels.weighted_rows import whitened_rows
from nolook.statistics.class_gradients import (
    CURVATURE_UNIT,
    PROBABILITY_UNIT,
    ClassBalance,
    ClassCurvature,
    ClassDispersion,
    ClassGradient,
    ScoreCounts,
    balance_sensitivity,
    class_curvature_sensitivity,
    class_dispersion_sensitivity,
    class_gradient_sensitivity,
)
from nolook.statistics.residual_products import grid_model
from nolook.statistics.weighted_rows import GridModel, RowBlock

GRID = 2**12
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.integers(-20 * UNIT, 20 * UNIT).map(float),
)
NORMS = st.floats(0.1, 6.0)
MODELS = hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3))
EDGES = np.array([-1.0, 0.0, 2.0])


def radius_of(norm):
    """Return the bound on |u|^2, the constant included."""
    return GRID**2 + math.floor((norm * GRID) ** 2)


def made(table, norm, theta):
    """Return a table's rows as a block, the sign of its last column the class, and a model."""
    radius = radius_of(norm)
    ones = np.ones(len(table) - 1)
    standard = 0 * ones, ones, -20 * ones, 20 * ones
    plain = Spread.standard(len(ones)).whitening
    rows, squares = whitened_rows(table[:-1] / UNIT, standard, plain, radius - GRID**2, GRID)
    block = RowBlock(rows, squares, (table[-1] > 0).astype(np.float64))
    return block, GridModel(*grid_model(theta[: len(table)], radius), GRID)


def statistics(model):
    return [
        ClassBalance(),
        ClassGradient(model),
        ClassCurvature(model),
        ClassDispersion(model),
        ScoreCounts(model, EDGES),
    ]


def sensitivities(norm):
    radius = radius_of(norm)
    return [
        balance_sensitivity(),
        class_gradient_sensitivity(radius),
        class_curvature_sensitivity(radius),
        class_dispersion_sensitivity(radius),
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


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_the_sensitivities_are_reached(target):
    # A long row whose class is all but 1 away from its probability, or whose odds are even.
    table, norm = np.array([[9.0 * UNIT], [target]]), 6.0
    far = np.array([0.0, -1e3 * target])
    value = ClassGradient(made(table, norm, far)[1]).update(*made(table, norm, far)[0]).value
    size = math.sqrt(sum(int(entry) ** 2 for entry in value))
    assert 0.999 < size / class_gradient_sensitivity(radius_of(norm)) <= 1.0
    moved = ClassDispersion(made(table, norm, far)[1]).update(*made(table, norm, far)[0]).value
    assert 0.999 < moved[0] / class_dispersion_sensitivity(radius_of(norm)) <= 1.0
    block, model = made(table, norm, np.zeros(2))
    curvature = ClassCurvature(model).update(*block).value.astype(float)
    share = np.linalg.norm(curvature) / class_curvature_sensitivity(radius_of(norm))
    assert 0.999 < share <= 1.0


@pytest.mark.parametrize("radius", [1, 3, 2**28 + 1, 2**30 - 1])
def test_the_sensitivity_of_a_gradient_is_rounded_up(radius):
    found = class_gradient_sensitivity(radius)
    assert found**2 >= radius * PROBABILITY_UNIT**2
    assert (found - 1) ** 2 < radius * PROBABILITY_UNIT**2


def test_sums_are_what_they_are_called():
    generator = np.random.default_rng(0)
    table = np.trunc(generator.normal(size=(4, 5_000)) * UNIT)
    norm, theta = 2.0, np.array([0.1, 0.5, -0.5, 0.2])
    block, model = made(table, norm, theta)
    x = table[:-1] / UNIT
    x *= np.minimum(1.0, norm / np.sqrt((x**2).sum(axis=0)))
    u, y = np.vstack([np.ones(x.shape[1]), x]), table[-1] > 0
    p = expit(theta @ u)
    gradient = ClassGradient(model).update(*block).value / (GRID * PROBABILITY_UNIT)
    np.testing.assert_allclose(gradient.astype(float), u @ (y - p), atol=2.0)
    curvature = ClassCurvature(model).update(*block).value / (GRID**2 * CURVATURE_UNIT)
    np.testing.assert_allclose(curvature.astype(float), (u * p * (1 - p)) @ u.T, atol=5.0)
    excess = ClassDispersion(model).update(*block).value / (GRID**2 * CURVATURE_UNIT)
    expected = float((u**2).sum(axis=0) @ ((y - p) ** 2 - p * (1 - p)))
    np.testing.assert_allclose(excess.astype(float), [expected], atol=5.0)
    assert ClassBalance().update(*block).value == [2 * y.sum() - y.size]
    counts = ScoreCounts(model, EDGES).update(*block).value.reshape(2, -1)
    place = np.searchsorted(EDGES, theta @ u)
    expected = [np.bincount(place[y == one], minlength=4) for one in (0, 1)]
    np.testing.assert_allclose(counts, expected, atol=3)
    assert counts.sum() == y.size
