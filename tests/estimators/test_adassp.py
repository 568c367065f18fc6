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
        pytest.param("amin_california", 0.50, 0.60, marks=pytest.mark.slow),
        pytest.param("amin_nba", 0.60, 0.60, marks=pytest.mark.slow),
        ("amin_diamonds", 0.85, 0.88),
        pytest.param("MiamiHousing2016", 0.65, 0.69, marks=pytest.mark.slow),
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
