from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.estimators.poisson import PoissonRegression
from nolook.report.model_findings import model_findings
from tests.contracts.columns import column

ROWS = 8_000
SLOPES = np.array([0.5, -0.3, 0.0])


def data(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    return X, generator.poisson(2.0 * np.exp(X @ SLOPES)).astype(np.float64)


def exposed(rows=ROWS, seed=0):
    """Return a frame whose counts are in proportion to the days."""
    generator = np.random.default_rng(seed)
    X, days = generator.normal(size=(rows, 3)), generator.uniform(10.0, 400.0, size=rows)
    counts = generator.poisson(days / 100.0 * np.exp(X @ SLOPES))
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(days=days, y=counts)


def fitted(frame, exposure="days", seed=0, **options):
    return PoissonRegression(8.0, exposure=exposure, random_state=seed, **options).fit(
        frame.drop(columns="y"), frame["y"]
    )


def test_rate_ratios_are_exponentials_of_the_coefficients():
    model = PoissonRegression(random_state=0).fit(*data())
    frame = model.to_frame()
    names = ["rate_ratio", "rate_ratio_low", "rate_ratio_high"]
    found = frame[names].to_numpy()
    expected = np.exp(np.column_stack([model.coef_, model.coef_interval_]))
    np.testing.assert_array_equal(found[:-1], expected)
    assert np.isnan(found[-1]).all()
    assert frame.index[-1] == "intercept"


def test_predictions_are_exponentials_of_clipped_columns():
    X, y = data()
    model = PoissonRegression(random_state=0).fit(X, y)
    low, high = model.scaling_.low[:-1], model.scaling_.high[:-1]
    expected = np.exp(model.intercept_ + X.clip(low, high) @ model.coef_)
    np.testing.assert_allclose(model.predict(X), expected.clip(*model.target_range_), rtol=1e-12)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.1)
    assert model.target_range_[0] == 0.0


def test_large_counts_are_not_said_to_be_clipped():
    X, y = data()
    model = PoissonRegression(random_state=0).fit(X, 100.0 * y)
    assert model.target_range_[1] > 100.0 * y.max()
    assert model.clipped_share_[-1] < 0.03


def test_with_an_exposure_means_are_in_proportion_to_it():
    frame = exposed()
    model, X = fitted(frame), frame.drop(columns="y")
    np.testing.assert_allclose(model.coef_, [*SLOPES, 0.0], atol=0.1)
    assert np.isnan(model.coef_interval_[3]).all()
    low, high = model.exposure_range_
    assert 0.0 < low < 10.0
    assert high > 300.0
    for factor in (0.5, 1.0):
        held = X.assign(days=X["days"].clip(2 * low, high) * factor)
        np.testing.assert_allclose(
            model.predict(held) / factor, model.predict(X.assign(days=held["days"] / factor))
        )
    ends = X.assign(days=-5.0), X.assign(days=low), X.assign(days=1e9), X.assign(days=high)
    predicted = [model.predict(each) for each in ends]
    np.testing.assert_array_equal(predicted[0], predicted[1])
    np.testing.assert_array_equal(predicted[2], predicted[3])


def test_a_missing_exposure_is_the_usual_one():
    frame = exposed()
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.05).assign(y=frame["y"])
    model = PoissonRegression(8.0, exposure="days", random_state=0)
    model.fit(nolook.read_table(gaps, "y", missing="centre"))
    X = frame.drop(columns="y")
    predicted = model.predict(X.assign(days=np.nan))
    usual = X.assign(days=model.scaling_.center[3])
    np.testing.assert_array_equal(predicted, model.predict(usual))
    assert np.isfinite(model.predict(X.assign(a=np.nan, days=np.nan))).all()
    plain = fitted(frame)
    with pytest.raises(TableError):
        plain.predict(X.assign(days=np.nan))


@pytest.mark.parametrize("values", [np.zeros(ROWS), -np.ones(ROWS), np.full(ROWS, 7.0)])
def test_exposures_that_tell_nothing_get_an_ordinary_answer(values):
    model = fitted(exposed().assign(days=values))
    low, high = model.exposure_range_
    assert 0.0 < low <= high
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_)


def test_the_only_feature_may_be_the_exposure():
    frame = exposed()[["days", "y"]]
    model = fitted(frame)
    assert model.coef_.tolist() == [0.0]
    assert [one.name for one in model.coefficients] == ["intercept"]
    rate = frame["y"].sum() / frame["days"].sum()
    if model.detected_:
        assert np.exp(model.intercept_) == pytest.approx(rate, rel=0.2)
    assert "proportional to days" in str(model.summary()) or not model.detected_


@pytest.mark.parametrize("wrong", ["y", "hours", ""])
def test_an_exposure_that_is_no_feature_is_refused_before_anything_is_charged(wrong, tmp_path):
    frame = exposed(200)
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-4), name="a") as ledger:
        model = PoissonRegression(exposure=wrong)
        with pytest.raises(ParameterError, match=r"^exposure names '.*', which is not a feature"):
            model.fit(frame.drop(columns="y"), frame["y"], ledger=ledger)
        assert ledger.spent.epsilon == 0.0


def test_arrays_have_names_for_exposures_too():
    frame = exposed()
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    model = PoissonRegression(8.0, exposure="x3", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, fitted(frame).coef_)


def test_a_model_that_noise_hides_keeps_its_slopes_and_says_nothing_of_them():
    X, y = data(1000)
    models = [PoissonRegression(0.3, random_state=seed).fit(X, y) for seed in range(12)]
    hidden = [model for model in models if not model.detected_]
    assert len(hidden) >= 3
    for model in hidden:
        assert model.coef_interval_ is model.intercept_interval_ is None
        assert model.deviance_explained_ is model.deviance_explained_interval_ is None
        assert [one.name for one in model.coefficients] == ["intercept"]
        headings = [section.heading for section in model_findings(model).sections]
        assert "Coefficients" not in headings
        assert np.isfinite(model.predict(X)).all()
    # Where the target itself was seen they are of use still.
    assert any(model.coef_.any() for model in hidden)


@pytest.mark.parametrize("name", ["constant", "huge", "one outlier", "mostly one value"])
def test_a_degenerate_feature_does_not_spoil_the_fit(name):
    X, y = data()
    X[:, 2] = column(name, ROWS)
    model = PoissonRegression(2.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[:2], SLOPES[:2], atol=0.2)
    means = model.predict(X)
    assert np.corrcoef(means, np.exp(X[:, :2] @ SLOPES[:2]))[0, 1] > 0.9


def test_duplicate_columns_share_their_coefficient():
    X, y = data()
    model = PoissonRegression(random_state=0).fit(np.column_stack([X[:, :2], X[:, 0]]), y)
    assert model.coef_[[0, 2]].sum() == pytest.approx(0.5, abs=0.15)


def test_units_do_not_change_what_is_found():
    X, y = data()
    one = PoissonRegression(random_state=0).fit(X, y)
    other = PoissonRegression(random_state=0).fit(X * 1024.0, y * 2.0**-10)
    # Two fits of other noise differ by 0.015 (one standard deviation of 30 fits): 4 of them.
    np.testing.assert_allclose(other.coef_ * 1024.0, one.coef_, atol=0.06)
    # Noise falls into other places of the first histograms: as much, but not the same.
    assert other.intercept_ == pytest.approx(one.intercept_ - 10 * np.log(2.0), abs=0.05)
    assert other.deviance_explained_ == pytest.approx(one.deviance_explained_, abs=0.2)


def test_where_rows_of_a_unit_count_in_full_there_are_no_intervals():
    frame = exposed().assign(who=np.arange(ROWS) // 2)
    table = nolook.read_table(
        frame, "y", features=["a", "b", "c", "days"], unit="who", rows_per_unit=2
    )
    model = PoissonRegression(8.0, exposure="days", random_state=0).fit(table)
    assert model.coef_interval_ is model.intercept_interval_ is None
    assert model.detected_
    assert "proportional to days" in str(model.summary())


@pytest.mark.parametrize("selector", [nolook.KendallSelector(k=2), nolook.MomentSelector(k=2)])
def test_a_pipeline_says_what_its_regression_does(selector, tmp_path):
    X, y = data()
    pipeline = nolook.PrivatePipeline(selector, PoissonRegression(), epsilon=4.0, delta=1e-6).fit(
        X, y
    )
    assert pipeline.support_.tolist() == [True, True, False]
    np.testing.assert_array_equal(pipeline.coef_[:2], pipeline.regressor_.coef_)
    assert pipeline.deviance_explained_ == pipeline.regressor_.deviance_explained_
    assert "the logarithm of the mean" in str(pipeline.summary())
    np.testing.assert_array_equal(pipeline.predict(X), pipeline.regressor_._predict(X[:, :2]))
    nolook.save(pipeline, tmp_path / "m.json")
    again = nolook.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))


def test_a_pipeline_of_classes_has_log_odds():
    X, _ = data()
    y = X[:, 0] + np.random.default_rng(1).logistic(size=ROWS) > 0.0
    parts = nolook.KendallSelector(k=1), nolook.LogisticRegression()
    pipeline = nolook.PrivatePipeline(*parts, epsilon=4.0, delta=1e-6).fit(X, y)
    chosen = X[:, pipeline.support_]
    log_odds = pipeline.decision_function(X)
    np.testing.assert_array_equal(log_odds, pipeline.regressor_._linear_predictor(chosen))
    p = pipeline.predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, 1.0 / (1.0 + np.exp(-log_odds)))
