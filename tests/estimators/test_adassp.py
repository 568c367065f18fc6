"""What AdaSSP and boosted AdaSSP do beyond the contracts of all regressors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as LeastSquares

import nolook
from nolook.privacy.accounting import gaussian_delta


def data(rows=20_000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3)) * [1.0, 20.0, 1e-3] + 5
    return X, X @ np.array([1.0, -0.2, 300.0]) + generator.normal(size=rows)


@pytest.mark.parametrize(
    "model",
    [
        nolook.AdaSSPRegressor,
        lambda *args: nolook.AdaSSPRegressor(*args, bound_X=10.0, bound_y=3.0),
        nolook.BoostedAdaSSPRegressor,
        lambda *args: nolook.BoostedAdaSSPRegressor(*args, n_rounds=7),
    ],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(math.log(3), 1e-5), (0.1, 1e-8), (8.0, 1e-6)])
def test_the_whole_budget_is_spent_and_no_more(model, epsilon, delta):
    guarantee = model(epsilon, delta).fit(*data(50)).privacy_
    mu = math.sqrt(sum(event.mu**2 for event in guarantee.mechanisms))
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-6), epsilon) > delta


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_a_large_budget_gives_least_squares():
    X, y = data()
    best = LeastSquares().fit(X, y).score(X, y)
    for model in (nolook.AdaSSPRegressor(1e4, 0.1), nolook.BoostedAdaSSPRegressor(1e4, 0.1)):
        assert model.fit(X, y).score(X, y) > best - 0.01


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize(
    ("table", "adassp", "boosted"),
    [
        ("amin_california", 0.50, 0.60),
        ("amin_nba", 0.60, 0.60),
        ("amin_diamonds", 0.85, 0.88),
        ("MiamiHousing2016", 0.65, 0.69),
        ("pol", 0.38, 0.42),
    ],
)
def test_real_tables_are_fitted_well(table, adassp, boosted, shared_data):
    source = nolook.read_table(shared_data(f"{table}.parquet"), "target")
    frame = np.concatenate(list(source.batches()), axis=1).T
    X, y = frame[:, :-1], frame[:, -1]
    for kind, least in (
        (nolook.AdaSSPRegressor, adassp),
        (nolook.BoostedAdaSSPRegressor, boosted),
    ):
        models = [kind(math.log(3), 1e-5, random_state=seed).fit(X, y) for seed in range(3)]
        assert np.median([model.score(X, y) for model in models]) > least


def test_files_and_arrays_give_the_same_model(demo_table):
    source = nolook.read_table(demo_table, "target")
    frame = np.concatenate(list(source.batches()), axis=1).T
    for kind in (nolook.AdaSSPRegressor, nolook.BoostedAdaSSPRegressor):
        file = kind(random_state=0).fit(source)
        array = kind(random_state=0).fit(frame[:, :-1], frame[:, -1])
        np.testing.assert_array_equal(file.coef_, array.coef_)
        assert file.intercept_ == array.intercept_


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_public_bounds_bound_rows_targets_and_predictions():
    X, y = data()
    X, y = (X - 5) / 30, (y - y.mean()) / 50
    model = nolook.AdaSSPRegressor(5.0, 1e-5, bound_X=3.0, bound_y=1.0, random_state=0).fit(X, y)
    assert model.target_range_ == (-1.0, 1.0)
    assert model.row_norm_ == pytest.approx(math.sqrt(2), abs=1e-4)
    assert model.score(X, y) > 0.5
    assert model.privacy_.mechanisms[0].name == "smallest eigenvalue of the second moments"
    # Shrunk as in training: the row (1, x / bound_X) to norm sqrt(2).
    (far,) = model.predict([[0.0, 30.0, 0.0]])
    shrink = math.sqrt(2) / math.hypot(1.0, 10.0)
    expected = shrink * (model.intercept_ + 30 * model.coef_[1])
    assert abs(expected) < 1.0 < abs(expected / shrink)
    assert far == pytest.approx(expected, rel=1e-3)


def test_bounds_are_the_unit_of_the_noise():
    X, y = data(1000)
    small = nolook.AdaSSPRegressor(bound_X=2.0, bound_y=4.0, random_state=0).fit(X, y)
    large = nolook.AdaSSPRegressor(bound_X=20.0, bound_y=40.0, random_state=0).fit(10 * X, 10 * y)
    np.testing.assert_allclose(small.coef_, large.coef_)
    np.testing.assert_allclose(10 * small.intercept_, large.intercept_)


@pytest.mark.parametrize("cell", [1e300, -1.7e308, 5e-324, 0.0])
def test_extreme_cells_within_public_bounds_get_an_ordinary_answer(cell):
    X, y = data(300)
    X[:, 1] = cell
    for label in (y, X[:, 1]):
        model = nolook.AdaSSPRegressor(bound_X=1.0, bound_y=1.0, random_state=0).fit(X, label)
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert np.isfinite(model.predict(np.zeros((1, 3)))).all()
