"""The Tukey mechanism as published, raw columns, AdaSSP with the table's norms."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as LeastSquares

import nolook
from nolook.audit.exact_laws import exact_delta
from nolook.privacy.guarantee import ApproximateEvent
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.amin2023 import OracleAdaSSPRegressor, PublishedTukeyRegressor, RawTukeyRegressor
from papers.amin2023.adassp import BoundedAdaSSP, OracleAdaSSP
from papers.amin2023.block_models import least_squares_models
from papers.amin2023.deep_point import VERSIONS, deep_point
from papers.amin2023.depth import approximate_depth
from papers.amin2023.models import distances, log_volumes, model_depths
from papers.amin2023.tukey import RAW_GRID
from papers.amin2023.tukey_em import (
    LEMMAS,
    published_depth,
    published_distance,
    published_threshold,
)
from tests.privacy.tukey_versions import Version, unkept, version_for_rows

pytestmark = pytest.mark.papers


def data(rows=20_000, features=3, seed=0, noise=1.0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * 10.0 ** np.arange(features) + 5
    return X, X @ (1.0 / 10.0 ** np.arange(features)) + noise * generator.normal(size=rows)


def published_version(epsilon, delta, lemma):
    half = epsilon / 2
    return Version(
        distance=lambda volumes, m: published_distance(
            volumes, published_depth(m), half, delta, lemma
        ),
        threshold=lambda: published_threshold(half, delta),
        epsilon_test=half,
        depth=published_depth,
        rate=half,
        claimed=(half, delta / 2),
    )


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("lemma", LEMMAS)
def test_models_called_safe_are_not_safe(lemma, dimension):
    broken = unkept(published_version(4.0, 0.02, lemma), dimension)
    assert len(broken) > 100
    assert broken.sum() >= 10


# Where the whole output, test and all, breaks its claim: half of the models alike, uneven gaps
# between the others, the test a close call, and the smallest model moved to the far right.
@pytest.mark.parametrize(("lemma", "m", "gap"), [("2022", 94, 3), ("2023", 59, 2)])
def test_the_whole_published_output_breaks_its_claim(lemma, m, gap):
    epsilon, delta = 4.0, 1e-5
    published = published_version(epsilon, delta, lemma)
    for_rows = version_for_rows(1.6, 2.4, delta)
    generator = np.random.default_rng(1)
    worst = [0.0, 0.0]
    for _ in range(3000):
        right = generator.integers(0, gap, m - m // 2).cumsum()
        models = np.concatenate([np.zeros(m // 2, dtype=np.int64), right])[:, None]
        other = models.copy()
        other[0] = models[-1] + 50
        grid = np.arange(-1, other[0, 0] + 2)[:, None]
        for i, version in enumerate((published, for_rows)):
            reached = [version.distance_of(models), version.distance_of(other)]
            if reached[0] != reached[1]:
                outputs = version.output(models, grid), version.output(other, grid)
                worst[i] = max(worst[i], exact_delta(*outputs, epsilon))
    assert worst[0] > 100 * delta
    assert worst[1] <= delta


def test_the_whole_published_output_has_a_delta_of_several_percent():
    steps = np.repeat([0, 3, 4], [51, 18, 33])
    models = steps.cumsum()[:, None]
    moved = np.concatenate([models[-1:] + 50, models[1:]])
    grid = np.arange(-1, moved[0, 0] + 2)[:, None]
    published = published_version(4.0, 1e-5, "2022")
    laws = [published.output(own, grid) for own in (models, moved)]
    assert exact_delta(*laws, 4.0) == pytest.approx(0.0492, rel=0.01)
    ours = version_for_rows(1.6, 2.4, 1e-5)
    assert exact_delta(*(ours.output(own, grid) for own in (models, moved)), 4.0) <= 1e-5


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("lemma", LEMMAS)
def test_the_published_version_runs_and_is_not_private(lemma):
    X, y = data()
    fitted = PublishedTukeyRegressor(3.0, 1e-5, n_models=600, lemma=lemma).fit(X, y)
    assert fitted.score(X, y) > LeastSquares().fit(X, y).score(X, y) - 0.02
    assert not fitted.privacy_.private
    auto = PublishedTukeyRegressor(3.0, 1e-5, lemma=lemma).fit(X, y)
    assert abs(auto.n_models_ - len(y) / 4) < 200  # m = n / d (Dick et al., section 4)


@pytest.mark.parametrize("kind", [PublishedTukeyRegressor, OracleAdaSSPRegressor])
def test_a_result_that_is_not_private_is_not_charged(kind, costs_nothing):
    assert kind().plan().guarantee.in_words().startswith("NOT PRIVATE")
    costs_nothing(partial(kind().fit, *data(20)), "would not be private")


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("n_models", ["auto", 600])
def test_without_a_basis_the_mechanism_has_the_whole_budget(n_models, open_ledger):
    X, y = data()
    with open_ledger() as ledger:
        fitted = RawTukeyRegressor(3.0, 1e-5, n_models).fit(X, y, ledger=ledger)
        assert ledger.history()[0].cost == nolook.Budget(3.0, 1e-5)
    assert fitted.score(X, y) > LeastSquares().fit(X, y).score(X, y) - 0.02
    assert fitted.privacy_.private
    *rows, mechanism = fitted.privacy_.mechanisms
    assert [event.epsilon for event in rows] == ([0.05 * 3.0] if n_models == "auto" else [])
    assert isinstance(mechanism, ApproximateEvent)
    assert mechanism.epsilon == pytest.approx(3.0 * (0.95 if n_models == "auto" else 1.0))
    assert mechanism.delta == 1e-5
    page = fitted.content()
    assert "scales" not in [one.name for one in page.sections]
    assert "inf" not in str(page.sections).split()


@pytest.mark.parametrize("kind", [RawTukeyRegressor, PublishedTukeyRegressor])
@pytest.mark.parametrize("n_models", ["auto", 600])
def test_every_stage_is_announced(kind, n_models):
    seen = []
    model = kind(3.0, 1e-5, n_models)
    model.fit(*data(), progress=lambda *stage: seen.append(stage))
    assert len(seen) == seen[0][2] == model.plan().release.progress_steps + 2


def test_too_few_rows_and_a_failed_test_are_outcomes():
    with pytest.raises(nolook.TooFewRows):
        RawTukeyRegressor(1.0, 1e-6).fit(*data(500))
    with pytest.raises(nolook.PrivateFitFailed, match="failed with 60 models"):
        RawTukeyRegressor(1.0, 1e-6, n_models=60).fit(*data(2000))


@pytest.mark.parametrize(
    ("kind", "parameter", "value"),
    [
        (RawTukeyRegressor, "n_models", 0), (RawTukeyRegressor, "epsilon", 1e-12),
        (PublishedTukeyRegressor, "lemma", "2024"), (PublishedTukeyRegressor, "n_models", "many"),
        (OracleAdaSSPRegressor, "delta", 0.0),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(kind, parameter, value, costs_nothing):
    costs_nothing(partial(kind(**{parameter: value}).fit, *data(20)), f"^{parameter} is")


def test_the_grid_for_raw_units_takes_anything():
    points = RAW_GRID.round(np.array([[np.nan, np.inf, -1e300, 0.25]]))
    assert points.tolist() == [[0, RAW_GRID.largest, -RAW_GRID.largest, 0.25 / RAW_GRID.step]]
    assert points.dtype == np.int64
    assert RAW_GRID.largest <= 2**61


def whole_rows(columns, n, seed=0):
    return np.random.default_rng(seed).integers(-(2**15), 2**15, (columns, n)).astype(float)


def test_rows_in_raw_units_are_solved_from_the_rows():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(4, 600)) * np.array([1e-6, 1.0, 1e6, 1.0])[:, None]
    rows[-1] = 2e6 * rows[0] - rows[1] + 3e-6 * rows[2] + 7
    blocks = generator.integers(0, 20, 600)
    found = least_squares_models(rows, blocks, 22)
    np.testing.assert_allclose(found[:20], np.tile([7.0, 2e6, -1.0, 3e-6], (20, 1)), rtol=1e-3)
    assert not found[20:].any()
    again = least_squares_models(rows[:, blocks < 10], blocks[blocks < 10], 22)
    np.testing.assert_array_equal(found[:10], again[:10])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_block_that_cannot_be_solved_is_0_and_raises_nothing(value):
    rows = whole_rows(3, 40)
    blocks = np.arange(40) % 4
    expected = least_squares_models(rows, blocks, 4)
    rows[1, 3] = value
    found = least_squares_models(rows, blocks, 4)
    np.testing.assert_array_equal(found[:3], expected[:3])
    assert not found[3].any()


@pytest.mark.parametrize("rows", [0, 1, 500])
def test_norms_read_off_the_table_are_not_private(rows):
    X, y = data(rows)
    model = OracleAdaSSPRegressor().fit(X, y)
    assert not model.privacy_.private
    assert np.isfinite([*model.coef_, model.intercept_, *model.target_range_]).all()
    if rows:
        assert model.target_range_[1] == np.abs(y).max()


def test_the_oracle_is_the_public_run_with_the_tables_norms():
    table = table_from_arrays(*data(500))
    oracle = OracleAdaSSP(1.0).run(table, SeededSource(0), lambda _: None)
    bound_x, *_, bound_y = oracle.scaling.scale
    assert bound_x == pytest.approx(np.linalg.norm(data(500)[0], axis=1).max())
    public = BoundedAdaSSP(1.0, (bound_x, bound_y)).run(table, SeededSource(0), lambda _: None)
    np.testing.assert_array_equal(oracle.theta, public.theta)


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_predictions_shrink_rows_as_the_fit_does():
    X, y = data()
    X, y = (X - 5) / 200, (y - y.mean()) / 50
    model = OracleAdaSSPRegressor(5.0, 1e-5, random_state=0).fit(X, y)
    assert model.row_norm_ == pytest.approx(math.sqrt(2), abs=1e-4)
    assert model.score(X, y) > 0.3
    assert model.privacy_.mechanisms[1].name == "smallest eigenvalue of the second moments"
    # The row (1, x / bound) to norm sqrt(2).
    bound = model.scaling_.scale[0]
    (far,) = model.predict([[0.0, 0.0, 10 * bound]])
    shrink = math.sqrt(2) / math.hypot(1.0, 10.0)
    expected = shrink * (model.intercept_ + 10 * bound * model.coef_[2])
    assert abs(expected) < model.target_range_[1] < abs(expected / shrink)
    assert far == pytest.approx(expected, rel=1e-3)


def test_bounds_are_the_unit_of_the_noise():
    X, y = data(1000)
    small, large = (
        OracleAdaSSPRegressor(random_state=0).fit(factor * X, factor * y) for factor in (1, 10)
    )
    np.testing.assert_allclose(small.coef_, large.coef_)
    np.testing.assert_allclose(10 * small.intercept_, large.intercept_)


@pytest.mark.parametrize("cell", [1e300, -1.7e308, 5e-324, 0.0])
def test_extreme_cells_get_an_ordinary_answer(cell):
    X, y = data(300)
    X[:, 1] = cell
    for target in (y, X[:, 1]):
        model = OracleAdaSSPRegressor(random_state=0).fit(X, target)
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert np.isfinite(model.predict(np.zeros((1, 3)))).all()


def test_the_published_version_deals_rows_evenly():
    release = PublishedTukeyRegressor(3.0, 1e-5, n_models=7).plan().release
    blocks = release.deal(100, 7, SeededSource(0))
    counts = np.bincount(blocks, minlength=7)
    assert counts.max() - counts.min() == 1
    assert (blocks != np.arange(100) % 7).mean() > 0.5


def test_depths_and_volumes_of_models_are_those_of_the_definition():
    models = np.random.default_rng(0).integers(0, 6, (40, 2)).astype(float)
    places = np.random.default_rng(1).integers(-1, 7, (30, 2)).astype(float)
    expected = [approximate_depth(models, place) for place in places]
    assert model_depths(models, places).tolist() == expected
    assert model_depths(models).min() >= 1
    box = np.sort(models, axis=0)
    sides = (box[-1] - box[0]) / RAW_GRID.step + 1
    assert log_volumes(models)[0] == pytest.approx(np.log(sides).sum())
    assert (np.diff(log_volumes(models)) <= 0).all()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_deep_point_lies_among_models_that_agree_and_scattered_ones_fail(version):
    generator = np.random.default_rng(0)
    models = generator.normal([3.0, -1.0], 1.0, (1000, 2))
    point = deep_point(models, 2.0, 1e-5, version, random_state=0)
    assert model_depths(models, point)[0] >= 100
    assert distances(models, 2.0, 1e-5)[version] > 50
    few = generator.standard_cauchy(size=(30, 2))
    assert deep_point(few, 2.0, 1e-5, version, random_state=0) is None
    with pytest.raises(nolook.ParameterError, match="version"):
        deep_point(models, 2.0, 1e-5, "2024")
