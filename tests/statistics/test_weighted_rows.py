from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit, xlogy

from nolook._unit import WHOLE
from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import Standard, weighted_rows
from nolook.statistics import weighted_rows as module
from nolook.statistics.design_moments import product_sensitivity
from nolook.statistics.grid_models import (
    LARGEST_MEAN,
    ClassModel,
    CountModel,
    GridModel,
    RowBlock,
    grid_model,
)
from nolook.statistics.weighted_rows import (
    CURVATURE_STEPS,
    ERROR_UNIT,
    LARGEST_DEVIANCE,
    LARGEST_ERROR,
    PRODUCT_UNIT,
    RESIDUAL_UNIT,
    SCORE_RADIUS,
    SCORE_UNIT,
    ClippedProducts,
    ErrorSides,
    ErrorSizes,
    ModelCurvature,
    ModelDeviances,
    ModelErrors,
    ProductSizes,
    UnitProducts,
    clipped_products_sensitivity,
    clipped_scores,
    curvature_sensitivity,
    deviances_sensitivity,
    errors_sensitivity,
    unit_products_sensitivity,
    unit_scores,
)
from nolook.tables.folding import Batches

GRID = 2**12
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.integers(-20 * UNIT, 20 * UNIT).map(float),
)
NORMS = st.floats(1.0, 7.0)
# Scores far beyond what exponentials are cut at, and near ones.
MODELS = hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3) | st.floats(-1.0, 1.0))
EDGES = np.array([0.5, 1.0, 2.0, 4.0])
MOST = 2**15
EXPOSURES = hnp.arrays(np.float64, 12, elements=st.floats(1.0 / 64.0, 1e6))
WEIGHTS = hnp.arrays(np.int64, 12, elements=st.integers(0, WHOLE) | st.just(WHOLE))


def radius_of(norm):
    """Return the bound on |u|^2."""
    return math.floor((norm * GRID) ** 2)


def made(table, norm, theta, kind=GridModel, *more):
    """Return a table's weighted rows as a block, its last column the target, and a model."""
    radius = radius_of(norm)
    ones = np.ones(len(table) - 1)
    standard = Standard(0 * ones, ones, -20 * ones, 20 * ones)
    whitening = Spread.standard(len(ones)).whitening
    rows, squares, factors = weighted_rows(table[:-1] / UNIT, standard, whitening, radius, GRID)
    block = RowBlock(rows, squares, table[-1] / UNIT, factors)
    return block, kind(*grid_model(theta[: len(table)], radius), GRID, *more)


@dataclass(frozen=True)
class Sum:
    """A statistic of one kind of model: how it is made, and its sensitivity."""

    make: Callable[..., Any]  # of a model and the weight of a unit
    sensitivity: Callable[..., int]  # of a norm, the length of a row and the weight of a unit
    kind: Callable[..., GridModel] = GridModel


def curvature(*_, norm, size, whole):
    return curvature_sensitivity(radius_of(norm), size, whole)


def unit_products(*_, norm, size, whole):
    return unit_products_sensitivity(radius_of(norm), size, whole)


def clipped(*_, norm, size, whole):
    del norm
    return clipped_products_sensitivity(MOST, size, whole)


#: What slopes of counts are cut at: hardly any row's slope is above, or every row's is.
STEEPEST = [LARGEST_MEAN, 1.0, math.exp(0.3), 1e-3, 1e-280]
SUMS = {
    **{
        f"ClippedProducts, {kind.__name__}": Sum(
            lambda model, whole: ClippedProducts(model, MOST, whole), clipped, kind
        )
        for kind in (GridModel, CountModel)
    },
    "UnitProducts": Sum(UnitProducts, unit_products, ClassModel),
    "UnitProducts, clipped": Sum(
        lambda model, whole: UnitProducts(model, whole, MOST),
        lambda *, norm, size, whole: product_sensitivity(radius_of(norm), MOST, size, whole),
    ),
    "ModelCurvature, ClassModel": Sum(ModelCurvature, curvature, ClassModel),
    **{
        f"ModelCurvature, CountModel, {steepest}": Sum(
            ModelCurvature, curvature, partial(CountModel, steepest=steepest)
        )
        for steepest in STEEPEST
    },
    **{
        f"ModelErrors, {kind.__name__}": Sum(
            lambda model, whole: ModelErrors(model, 0.3, whole),
            lambda *, norm, size, whole: errors_sensitivity(whole),  # noqa: ARG005
            kind,
        )
        for kind in (GridModel, CountModel)
    },
    **{
        f"ModelDeviances, {constant}": Sum(
            lambda model, whole, constant=constant: ModelDeviances(model, constant, whole),
            lambda *, norm, size, whole: deviances_sensitivity(whole),  # noqa: ARG005
            CountModel,
        )
        for constant in (0.3, 1e-9, LARGEST_MEAN)
    },
}
ALL = pytest.mark.parametrize("row", SUMS.values(), ids=SUMS)


def squared(moved):
    return sum(int(entry) ** 2 for entry in np.ravel(moved))


@given(table=TABLES, norm=NORMS, theta=MODELS, exposures=st.none() | EXPOSURES, data=st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, norm, theta, exposures, data):
    size, count = table.shape
    which = data.draw(st.integers(0, count - 1))
    for name, row in SUMS.items():
        block, model = made(table, norm, theta, row.kind)
        block = block._replace(exposures=exposures if exposures is None else exposures[:count])
        fewer = block.part(np.delete(np.arange(count), which))
        moved = row.make(model, 1).update(*block).value - row.make(model, 1).update(*fewer).value
        assert squared(moved) <= row.sensitivity(norm=norm, size=size, whole=1) ** 2, name
        # The row adds what it adds alone.
        alone = row.make(model, 1).update(*block.part(np.array([which]))).value
        np.testing.assert_array_equal(moved, alone, err_msg=name)


@given(
    table=TABLES,
    norm=NORMS,
    theta=MODELS,
    weights=WEIGHTS,
    exposures=st.none() | EXPOSURES,
    data=st.data(),
)
def test_units_differ_by_the_sensitivity_at_most(table, norm, theta, weights, exposures, data):
    size, count = table.shape
    which = np.array(sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1))))
    weights = weights[:count].copy()
    weights[which] //= which.size
    for name, row in SUMS.items():
        block, model = made(table, norm, theta, row.kind)
        block = block._replace(
            weights=weights, exposures=exposures if exposures is None else exposures[:count]
        )
        both = block, block.part(np.delete(np.arange(count), which))
        whole, fewer = (row.make(model, WHOLE).update(*each).value for each in both)
        limit = row.sensitivity(norm=norm, size=size, whole=WHOLE)
        assert squared(whole - fewer) <= limit**2, name


@given(table=TABLES, norm=NORMS, theta=MODELS, weights=WEIGHTS, exposures=st.none() | EXPOSURES)
def test_weights_multiply_what_a_row_adds(table, norm, theta, weights, exposures):
    count = table.shape[1]
    for name, row in SUMS.items():
        block, model = made(table, norm, theta, row.kind)
        block = block._replace(exposures=exposures if exposures is None else exposures[:count])
        alone = [row.make(model, 1).update(*block.part(np.array([i]))).value for i in range(count)]
        total = sum(int(w) * each for w, each in zip(weights, alone, strict=False))
        found = row.make(model, WHOLE).update(*block._replace(weights=weights[:count])).value
        assert found.tolist() == (total // WHOLE).tolist(), name


def test_many_rows_of_the_largest_sums_and_weights_stay_exact():
    rows = 2**17
    table = np.repeat([[4.0 * UNIT], [50.0 * UNIT]], rows, axis=1)
    for name, row in SUMS.items():
        kind = partial(row.kind) if name.startswith("Model") else row.kind
        block, model = made(table, 7.0, np.zeros(2), kind)
        each = row.make(model, 1).update(*block.part(slice(1))).value
        assert row.make(model, 1).update(*block).value.tolist() == (rows * each).tolist()
        block = block._replace(weights=np.full(rows, WHOLE - 1))
        found = row.make(model, WHOLE).update(*block).value
        assert found.tolist() == (rows * (WHOLE - 1) * each // WHOLE).tolist()


# --- sensitivities are reached -------------------------------------------------------------------


def far_row(norm, target, share=1.0):
    """Return a row as long as it may be without losing weight, times a share, and a target."""
    return np.array([[math.floor(share * math.sqrt(norm**2 - 1.0) * UNIT)], [target * UNIT]])


def share_of(value, sensitivity):
    return math.sqrt(squared(value)) / sensitivity


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_the_sensitivity_of_unit_products_is_reached(target):
    # A row whose class is all but 1 away from its probability.
    norm = 6.0
    block, model = made(far_row(norm, target), norm, np.array([0.0, -1e3 * target]), ClassModel)
    value = UnitProducts(model).update(*block).value
    assert 0.999 < share_of(value, unit_products_sensitivity(radius_of(norm))) <= 1.0
    scores = unit_scores(model, radius_of(norm), block)
    assert 0.999 < np.linalg.norm(scores) / SCORE_UNIT <= 1.0


# The curvature does not mind how long a row was, nor what its target is.
@pytest.mark.parametrize("length", [1.0, 2.0])
@pytest.mark.parametrize("steepest", [None, *STEEPEST])
def test_the_sensitivity_of_the_curvature_is_reached(steepest, length):
    norm = 6.0
    theta = np.zeros(2)
    kind = partial(CountModel, steepest=steepest) if steepest else ClassModel
    theta[0] = math.log(max(steepest or 1.0, 1e-17))
    block, model = made(far_row(norm, 0.0, length), norm, theta, kind)
    value = ModelCurvature(model).update(*block).value
    # A step of the slope is 1/1024 of the steepest; roundings may cost one, and of the row, too.
    assert 0.997 < share_of(value, curvature_sensitivity(radius_of(norm))) <= 1.0
    # Ten times as steep a row adds no more.
    theta[0] += math.log(10.0)
    block, model = made(far_row(norm, 0.0, length), norm, theta, kind)
    value = ModelCurvature(model).update(*block).value
    if steepest:
        assert 0.997 < share_of(value, curvature_sensitivity(radius_of(norm))) <= 1.0
    else:
        assert share_of(value, curvature_sensitivity(radius_of(norm))) < 0.4


@pytest.mark.parametrize(
    ("kind", "theta", "target"),
    [(GridModel, 0.0, 50.0), (CountModel, 0.0, 50.0), (CountModel, 60.0, 0.0)],
)
def test_the_sensitivity_of_products_and_their_scores_is_reached(kind, theta, target):
    # A row as long in its constant as in its feature, with a residual far beyond the clip.
    table = np.array([[UNIT / 2.0], [target * UNIT]])
    block, model = made(table, 7.0, np.array([theta, 0.0]), kind)
    value = ClippedProducts(model, 2**20).update(*block).value
    assert 0.99 < share_of(value, clipped_products_sensitivity(2**20)) <= 1.0
    scores = clipped_scores(model, 0.3, block)
    assert 0.99 < (scores**2).sum() / SCORE_RADIUS <= 1.0


def test_the_sensitivity_of_errors_is_reached():
    block, model = made(np.array([[0.0], [50.0 * UNIT]]), 7.0, np.zeros(2))
    value = ModelErrors(model, 0.0).update(*block).value
    assert value.tolist() == [(LARGEST_ERROR * ERROR_UNIT) ** 2] * 2
    assert 0.99 < share_of(value, errors_sensitivity()) <= 1.0


@pytest.mark.parametrize(
    ("theta", "constant", "target", "exposure"),
    [(0.0, 0.5, 50.0, None), (0.0, 0.5, 50.0, 1.0), (4.0, 40.0, 0.0, 1.0), (0.0, 1.0, 0.0, 40.0)],
)
def test_the_sensitivity_of_deviances_is_reached(theta, constant, target, exposure):
    table = np.array([[0.0], [target * UNIT]])
    block, model = made(table, 7.0, np.array([theta, 0.0]), CountModel)
    block = block._replace(exposures=exposure and np.array([exposure]))
    value = ModelDeviances(model, constant).update(*block).value
    assert value.tolist() == [LARGEST_DEVIANCE * ERROR_UNIT**2] * 2
    assert 0.99 < share_of(value, deviances_sensitivity()) <= 1.0


@pytest.mark.parametrize("most", [0, 2, 10, 2**29])
def test_a_sensitivity_is_rounded_up(most):
    found = clipped_products_sensitivity(most)
    assert 4 * found**2 >= 5 * most**2
    assert 4 * (found - 1) ** 2 < 5 * most**2 or most == 0


@pytest.mark.parametrize("radius", [1, 3, 2**28 + 1, 2**30 - 1])
def test_the_sensitivity_of_a_gradient_is_rounded_up(radius):
    found = unit_products_sensitivity(radius)
    assert found**2 >= radius * RESIDUAL_UNIT**2
    assert (found - 1) ** 2 < radius * RESIDUAL_UNIT**2


@pytest.mark.parametrize(
    ("found", "largest"),
    [
        (errors_sensitivity(), (LARGEST_ERROR * ERROR_UNIT) ** 2),
        (deviances_sensitivity(), LARGEST_DEVIANCE * ERROR_UNIT**2),
    ],
)
def test_the_sensitivity_of_two_sums_is_rounded_up(found, largest):
    assert found**2 >= 2 * largest**2 > (found - 1) ** 2
    for whole in (errors_sensitivity, deviances_sensitivity):
        assert whole(WHOLE) == whole() + 2


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GridModel, CountModel])
@given(
    table=TABLES,
    norm=NORMS,
    theta=MODELS,
    clip=st.floats(0.05, 50.0),
    exposures=st.none() | EXPOSURES,
)
def test_clipped_scores_keep_to_their_norm_and_are_the_rows_products(
    kind, table, norm, theta, clip, exposures
):
    block, model = made(table, norm, theta, kind)
    if exposures is not None:
        block = block._replace(exposures=exposures[: table.shape[1]])
    scores = clipped_scores(model, clip, block)
    np.testing.assert_array_equal(scores, np.trunc(scores))
    whole = scores.astype(np.int64)
    assert (whole[1:] ** 2).sum(axis=0).max() <= SCORE_UNIT**2
    assert 4 * (whole[0] ** 2).max() <= SCORE_UNIT**2
    assert (whole**2).sum(axis=0).max() <= SCORE_RADIUS
    most = 2 * round(clip * GRID * PRODUCT_UNIT / 2)
    for place in range(table.shape[1]):
        alone = block.part(np.array([place]))
        own = clipped_scores(model, clip, alone)[:, 0]
        np.testing.assert_array_equal(own, scores[:, place])
        product = ClippedProducts(model, most).update(*alone).value / (GRID * PRODUCT_UNIT)
        room = clip / SCORE_UNIT + norm / PRODUCT_UNIT + 1e-6 * clip
        np.testing.assert_allclose(own * clip / SCORE_UNIT, product.astype(float), atol=1.01 * room)


@given(TABLES, NORMS, MODELS)
def test_unit_scores_keep_to_their_norm_and_are_the_rows_parts(table, norm, theta):
    block, model = made(table, norm, theta, ClassModel)
    radius = radius_of(norm)
    scores = unit_scores(model, radius, block)
    np.testing.assert_array_equal(scores, np.trunc(scores))
    assert (scores.astype(np.int64) ** 2).sum(axis=0).max() <= SCORE_UNIT**2 <= SCORE_RADIUS
    for place in range(table.shape[1]):
        alone = block.part(np.array([place]))
        found = unit_scores(model, radius, alone)[:, 0]
        np.testing.assert_array_equal(found, scores[:, place])
        gradient = UnitProducts(model).update(*alone).value / (GRID * RESIDUAL_UNIT)
        room = norm / SCORE_UNIT + norm / RESIDUAL_UNIT + 1e-9
        np.testing.assert_allclose(found * norm / SCORE_UNIT, gradient.astype(float), atol=room)


# --- they are what they are called ---------------------------------------------------------------

COUNT, NORM, THETA = 5_000, 2.0, np.array([0.1, 0.5, -0.5, 0.2])


def usual(kind, counts=False):
    """Return rows x, targets y, factors f; their block and a model of a kind."""
    generator = np.random.default_rng(0)
    table = np.trunc(generator.normal(size=(4, COUNT)) * UNIT)
    if counts:
        table[-1] = UNIT * generator.poisson(1.0, COUNT)
    block, model = made(table, NORM, THETA, kind)
    x, y = np.vstack([np.ones(COUNT), table[:-1] / UNIT]), table[-1] / UNIT
    f = np.minimum(1.0, NORM / np.sqrt((x**2).sum(axis=0)))
    assert 0.2 < (f < 1.0).mean() < 0.8
    return x, y, f, block, model


def exposed(block):
    exposures = np.random.default_rng(1).uniform(0.2, 3.0, COUNT)
    return block._replace(exposures=exposures), exposures


def check_products_and_sizes(f, x, rho, block, model):
    length = f * np.sqrt((x[1:] ** 2).sum(axis=0))
    far = 2 * round(0.7 * GRID * PRODUCT_UNIT / 2)
    value = ClippedProducts(model, far).update(*block).value / (GRID * PRODUCT_UNIT)
    clip = np.minimum(1.0, 0.7 / (length * np.abs(rho)))
    expected = np.append((f * rho).clip(-0.35, 0.35).sum(), (f * x[1:] * rho * clip).sum(axis=1))
    np.testing.assert_allclose(value.astype(float), expected, atol=5.0)
    counts = ProductSizes(model, EDGES).update(*block).value
    places = np.searchsorted(EDGES, np.maximum(length, 2 * f) * np.abs(rho))
    assert np.abs(counts - np.bincount(places, minlength=5)).max() <= 20
    scores = clipped_scores(model, 0.7, block) * 0.7 / SCORE_UNIT
    assert np.abs(scores.sum(axis=1) - expected).max() < 5.0


def test_products_sizes_and_errors_of_a_linear_model():
    x, y, f, block, model = usual(GridModel)
    check_products_and_sizes(f, x, f * (y - THETA @ x), block, model)
    errors = ModelErrors(model, 0.25).update(*block).value / ERROR_UNIT**2
    exact = [(each.clip(-4.0, 4.0) ** 2).sum() for each in (y - 0.25, y - THETA @ x)]
    np.testing.assert_allclose(errors.astype(float), exact, rtol=0.01)
    sizes = ErrorSizes(model, EDGES).update(*block).value
    places = np.searchsorted(EDGES, np.abs(y - THETA @ x))
    assert np.abs(sizes - np.bincount(places, minlength=5)).max() <= 20
    sides = ErrorSides(model, 0.5).update(*block).value
    far = [(y - THETA @ x < -0.5).sum(), (y - THETA @ x > 0.5).sum()]
    np.testing.assert_allclose(sides, [far[0], COUNT - sum(far), far[1]], atol=20)
    assert min(far) > 100


@pytest.mark.parametrize("with_exposures", [False, True])
def test_sums_of_a_model_of_counts(with_exposures):
    x, y, f, block, model = usual(CountModel, counts=True)
    exposures = np.ones(COUNT)
    if with_exposures:
        block, exposures = exposed(block)
    m = exposures * np.exp(THETA @ x)
    check_products_and_sizes(f, x, f * (y - m), block, model)
    errors = ModelErrors(model, 0.25).update(*block).value / ERROR_UNIT**2
    exact = [(each.clip(-4.0, 4.0) ** 2).sum() for each in (y - 0.25, y - m)]
    np.testing.assert_allclose(errors.astype(float), exact, rtol=0.01)
    deviances = ModelDeviances(model, 1.3).update(*block).value / ERROR_UNIT**2
    exact = [
        (2.0 * (xlogy(y, y / mean) - y + mean)).clip(0.0, 16.0).sum()
        for mean in (1.3 * exposures, m)
    ]
    np.testing.assert_allclose(deviances.astype(float), exact, rtol=2e-3)
    for steepest in (LARGEST_MEAN, 2.0):
        cut = CountModel(model.whole, model.spacing, model.unit, steepest)
        found = ModelCurvature(cut).update(*block).value * steepest
        found = (found / (GRID**2 * CURVATURE_STEPS)).astype(float)
        u = f * x
        np.testing.assert_allclose(
            found, (u * np.minimum(m, steepest)) @ u.T, atol=COUNT * steepest / CURVATURE_STEPS * 2
        )


def test_sums_of_a_model_of_classes():
    x, y, f, block, model = usual(ClassModel)
    y = y > 0
    u, p = f * x, expit(THETA @ x)
    gradient = UnitProducts(model).update(*block).value / (GRID * RESIDUAL_UNIT)
    np.testing.assert_allclose(gradient.astype(float), u @ (f * (y - p)), atol=2.0)
    curved = ModelCurvature(model).update(*block).value / (4 * GRID**2 * CURVATURE_STEPS)
    np.testing.assert_allclose(curved.astype(float), (u * p * (1 - p)) @ u.T, atol=5.0)
    scores = unit_scores(model, radius_of(NORM), block) * NORM / SCORE_UNIT
    np.testing.assert_allclose(scores, u * f * (y - p), atol=2.0 * NORM / SCORE_UNIT)


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_a_row_that_was_shortened_adds_less_and_keeps_its_probability(target):
    # Twice as long as the norm: u f is a quarter as long as the row, which has log-odds of ln 3.
    table = np.trunc(np.array([[math.sqrt(143.0) * UNIT], [target]]))
    theta = np.array([0.0, math.log(3.0) / math.sqrt(143.0)])
    for kind, residual in ((ClassModel, (target > 0) - 0.75), (CountModel, target / UNIT - 3.0)):
        block, model = made(table, 6.0, theta, kind)
        found = model.residuals(block)
        np.testing.assert_allclose(found, 0.5 * residual, rtol=2e-3)
        value = UnitProducts(model).update(*block).value / (GRID * RESIDUAL_UNIT)
        expected = 0.5 * np.array([1.0, math.sqrt(143.0)]) * max(min(0.5 * residual, 1.0), -1.0)
        np.testing.assert_allclose(value.astype(float), expected, rtol=2e-3)


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


@pytest.mark.parametrize("kind", [ClassModel, CountModel])
def test_rows_of_all_but_no_weight_stay_finite_and_add_nothing(kind):
    generator = np.random.default_rng(0)
    rows = generator.integers(-9_000, 9_001, size=(4, 50)).astype(np.int16)
    rows[0] = np.abs(rows[0])
    squares = (rows[1:].astype(np.int64) ** 2).sum(axis=0).astype(np.int32)
    model = kind(*grid_model(generator.normal(size=4), 2**28), GRID)
    for least in (2.0**-20, 1e-300):
        block = RowBlock(rows, squares, generator.normal(size=50), np.full(50, least))
        assert not UnitProducts(model).update(*block).value.any()
        assert not ClippedProducts(model, 2**20).update(*block).value.any()
        assert np.isfinite(ModelCurvature(model).update(*block).value.astype(float)).all()


# --- means of counts -----------------------------------------------------------------------------


def test_means_are_in_proportion_to_exposures_and_cut():
    table = np.array([[0.0] * 4, [UNIT] * 4])
    block, model = made(table, 7.0, np.array([math.log(3.0), 0.0]), CountModel)
    exposures = np.array([1.0 / 64.0, 1.0, 10.0, 1e9])
    found = model.means(block._replace(exposures=exposures))
    np.testing.assert_allclose(found, [3.0 / 64.0, 3.0, 30.0, LARGEST_MEAN], rtol=1e-10)
    np.testing.assert_allclose(model.means(block), 3.0, rtol=1e-10)
    # The farthest models: still finite, and above 0.
    for constant, mean in ((-1e3, math.exp(-40.0)), (1e3, LARGEST_MEAN)):
        block, model = made(table, 7.0, np.array([constant, 0.0]), CountModel)
        found = model.means(block)
        np.testing.assert_allclose(found, mean, rtol=1e-10)


def in_python(count, mean):
    """Return the deviance of a count from its mean."""
    tiny = 2.0**-60
    count, mean = max(count, 0.0), max(mean, tiny)
    return 2.0 * (count * math.log(max(count, tiny) / mean) - count + mean)


@given(
    st.lists(st.floats(-50.0, 50.0) | st.just(0.0), min_size=1, max_size=12),
    st.floats(-60.0, 60.0),
    st.floats(1e-9, LARGEST_MEAN),
    st.none() | EXPOSURES,
)
def test_deviances_are_those_of_the_library(counts, constant_score, constant, exposures):
    table = np.array([np.zeros(len(counts)), np.array(counts) * UNIT])
    block, model = made(table, 7.0, np.array([constant_score, 0.0]), CountModel)
    if exposures is not None:
        block = block._replace(exposures=exposures[: len(counts)])
    found = ModelDeviances(model, constant).update(*block).value
    means = model.means(block)
    own = np.ones(len(counts)) if exposures is None else exposures
    expected = np.zeros(2)
    for y, e, m in zip(block.targets.tolist(), own.tolist(), means.tolist(), strict=False):
        both = np.array([in_python(y, e * constant), in_python(y, m)])
        expected += np.trunc(both.clip(0.0, LARGEST_DEVIANCE) * ERROR_UNIT**2)
    # Each may be rounded down to one unit less or more.
    assert np.abs(found.astype(float) - expected).max() <= len(counts)


@given(st.lists(st.floats(min_value=0.0, exclude_min=True, max_value=1e300), min_size=1))
def test_logarithms_are_those_of_the_library(values):
    found = module.logarithms(np.array(values))
    exact = np.array([math.log(value) for value in values])
    np.testing.assert_allclose(found, exact, rtol=1e-15, atol=0.0)


def test_logarithms_are_right_wherever_the_power_of_two_changes():
    near = 2.0 ** np.arange(-60.0, 60.0)
    near = np.concatenate([near, np.nextafter(near, 0.0), np.nextafter(near, np.inf)])
    with localcontext() as context:
        context.prec = 40
        exact = np.array([float(Decimal(value).ln()) for value in near.tolist()])
    np.testing.assert_allclose(module.logarithms(near), exact, rtol=1e-15, atol=0.0)


def test_a_logarithm_depends_on_its_own_place_by_no_bit():
    values = np.exp(np.random.default_rng(0).normal(size=(2, 2_049)) * 10.0)
    whole = module.logarithms(values)
    alone = [[module.logarithms(np.array([one]))[0] for one in row] for row in values]
    np.testing.assert_array_equal(whole, alone)
    for start in range(1, 9):
        np.testing.assert_array_equal(module.logarithms(values[:, start:]), whole[:, start:])
        np.testing.assert_array_equal(module.logarithms(values[:, ::start]), whole[:, ::start])


@ALL
def test_sums_do_not_depend_on_how_rows_are_cut_or_ordered(row):
    generator = np.random.default_rng(3)
    table = np.trunc(generator.normal(size=(4, 9_001)) * UNIT)
    block, model = made(table, 2.0, THETA, row.kind)
    block = block._replace(
        exposures=generator.uniform(0.1, 9.0, 9_001), weights=generator.integers(0, WHOLE, 9_001)
    )
    for some in (block, block._replace(weights=None), block._replace(exposures=None)):
        whole = row.make(model, 1).update(*some).value
        for order in (generator.permutation(9_001), np.arange(9_001)[::-1]):
            found = row.make(model, 1).update(*some.part(order)).value
            np.testing.assert_array_equal(whole, found)
        cut = row.make(model, 1)
        for start in (0, 1, 8, 4_104, 9_000):
            stop = {0: 1, 1: 8, 8: 4_104, 4_104: 9_000, 9_000: 9_001}[start]
            cut.update(*some.part(slice(start, stop)))
        np.testing.assert_array_equal(whole, cut.value)


@ALL
def test_threads_add_up_the_same(row):
    generator = np.random.default_rng(1)
    table = np.trunc(generator.normal(size=(4, 900)) * UNIT)
    _, model = made(table, 2.0, THETA, row.kind)
    blocks = [made(part, 2.0, THETA)[0] for part in np.split(table, 9, axis=1)]
    alone, shared = (Batches(blocks, threads).fold(row.make(model, 1)).value for threads in (1, 3))
    np.testing.assert_array_equal(alone, shared)
