from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import astuple
from sklearn.base import clone

import nolook
from nolook.estimators.catalogue import METHODS
from nolook.privacy.accounting import gaussian_mu, total_delta

REGRESSORS = [entry.load() for entry in METHODS.values()]


def data(rows=20_000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 8)) * 10.0 ** np.arange(8) + 3
    return X, X[:, 2] / 100 - X[:, 6] / 1e6 + 0.3 * generator.normal(size=rows)


def pipeline(regressor=nolook.LinearRegression, seed=None, k=2, **settings):
    settings = {"epsilon": 2.0, "delta": 1e-5} | settings
    selector = nolook.KendallSelector(k, random_state=seed)
    return nolook.PrivatePipeline(selector, regressor(random_state=seed), **settings)


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("regressor", REGRESSORS)
def test_the_features_that_matter_are_chosen_and_fitted(regressor):
    X, y = data()
    fitted = pipeline(regressor, seed=0).fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [2, 6]
    assert fitted.score(X, y) > 0.9
    assert np.flatnonzero(fitted.coef_).tolist() == [2, 6]
    np.testing.assert_allclose(
        fitted.predict(X[:5]), fitted.regressor_.predict(frame(X[:5][:, [2, 6]], fitted))
    )


def frame(columns, fitted):
    return pd.DataFrame(columns, columns=fitted.regressor_.feature_names_in_)


@pytest.mark.parametrize(
    ("regressor", "split"),
    [
        # Every day each regression with one of the splits, and each of these.
        pytest.param(regressor, split, marks=[pytest.mark.slow] * ((i + j) % 4 > 0))
        for i, regressor in enumerate(REGRESSORS)
        for j, split in enumerate([0.1, 0.2, 1 / 3, 0.9])
    ],
)
def test_one_budget_pays_for_both(regressor, split, open_ledger):
    X, y = data(3000)
    budget = nolook.Budget(0.7, 1e-7)
    model = pipeline(regressor, epsilon=0.7, delta=1e-7, split=split)
    with open_ledger(budget) as ledger:
        try:
            guarantee = model.fit(X, y, ledger=ledger).privacy_
        except nolook.PrivateFitFailed:
            guarantee = model.plan().guarantee
        (entry,) = ledger.history()
        assert (entry.cost, entry.state) == (budget, "complete")
    assert (guarantee.budget, guarantee.private) == (budget, True)
    assert total_delta(guarantee.mechanisms, 0.7) <= 1e-7
    # The regression has what it always had, and the choices more than their share.
    regression = regressor(epsilon=0.7 * (1 - split), delta=1e-7).plan().guarantee.mechanisms
    choices = guarantee.mechanisms[: -len(regression)]
    for event, other in zip(guarantee.mechanisms[len(choices) :], regression, strict=True):
        np.testing.assert_allclose(astuple(event)[1:], astuple(other)[1:], rtol=1e-9)
    drawn = sum(event.epsilon * getattr(event, "choices", 1) for event in choices)
    assert drawn > split * 0.7 * (1 - 1e-9)
    if split < 0.5 and regressor is not nolook.TukeyRegressor:
        assert drawn > 1.2 * split * 0.7
    assert model.regressor.epsilon == 1.0  # the parts given are left as they were


def test_a_failed_regression_is_raised_and_paid_for(open_ledger):
    model = pipeline(nolook.TukeyRegressor)
    with open_ledger() as ledger:
        with pytest.raises(nolook.TooFewRows):
            model.fit(*data(50), ledger=ledger)
        (entry,) = ledger.history()
        assert entry.state == "complete"
    assert not hasattr(model, "privacy_")


def test_a_seed_in_either_part_makes_the_whole_not_private():
    X, y = data(3000)
    for seeds in ((0, None), (None, 0)):
        model = nolook.PrivatePipeline(
            nolook.KendallSelector(2, random_state=seeds[0]),
            nolook.LinearRegression(random_state=seeds[1]),
            epsilon=1.0,
            delta=1e-6,
        )
        assert not model.fit(X, y).privacy_.private


def test_names_files_and_missing_values_pass_through(tmp_path):
    X, y = data()
    columns = [f"c{i}" for i in range(8)]
    named = pd.DataFrame(X, columns=columns).assign(label=y)
    named.to_parquet(tmp_path / "t.parquet")
    table = nolook.read_table(tmp_path / "t.parquet", "label")
    from_file = pipeline(seed=1).fit(table)
    from_frame = pipeline(seed=1).fit(named[columns], y)
    np.testing.assert_array_equal(from_file.coef_, from_frame.coef_)
    assert from_file.regressor_.feature_names_in_.tolist() == ["c2", "c6"]
    np.testing.assert_array_equal(
        from_file.predict(named[columns]), from_frame.predict(named[columns])
    )
    X[3, 1] = np.nan
    without = pipeline(seed=1).fit(np.delete(X, 3, axis=0), np.delete(y, 3))
    np.testing.assert_array_equal(pipeline(seed=1).fit(X, y).coef_, without.coef_)


def test_clone_and_parameters():
    model = pipeline(nolook.TukeyRegressor, seed=3, split=0.4)
    again = clone(model)
    assert again.get_params()["regressor__on_failure"] == "raise"
    assert (again.split, again.selector.k) == (0.4, 2)
    again.set_params(selector__k=3, regressor__n_models=700)
    assert (again.selector.k, model.selector.k) == (3, 2)


def test_hardly_any_rows_get_an_ordinary_answer():
    for rows in (0, 1, 2):
        fitted = pipeline(seed=0).fit(*data(rows))
        assert fitted.support_.sum() == 2
        assert np.isfinite(fitted.coef_).all()


def test_a_selector_that_finds_ranges_gets_its_share_of_delta():
    X, y = data(3000)
    selector = nolook.SISSelector(2, score="covariance")
    model = nolook.PrivatePipeline(
        selector, nolook.LinearRegression(), epsilon=8.0, delta=1e-6, split=0.25
    ).fit(X, y)
    assert model.privacy_.budget == nolook.Budget(8.0, 1e-6)
    assert model.selector_.privacy_.delta == pytest.approx(0.25e-6)
    assert model.regressor_.privacy_.delta == pytest.approx(0.75e-6)
    assert total_delta(model.privacy_.mechanisms, 8.0) <= 1e-6


def moments_first(epsilon=1.0, delta=1e-6, split=0.2, regressor=nolook.LinearRegression):
    return nolook.PrivatePipeline(
        nolook.MomentSelector(2), regressor(), epsilon=epsilon, delta=delta, split=split
    )


@pytest.mark.parametrize("regressor", [nolook.LinearRegression, nolook.BoostedAdaSSPRegressor])
@pytest.mark.parametrize("split", [0.01, 0.2, 1 / 3, 0.9])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1.0, 1e-6), (8.0, 1e-2), (1e3, 0.5)])
def test_parts_of_gaussian_noise_alone_share_its_square(regressor, split, epsilon, delta):
    plan = moments_first(epsilon, delta, split, regressor).plan()
    selection, regression = plan.release.selector.plan(), plan.release.regressor.plan()
    squares = [
        sum(event.mu**2 for event in part.guarantee.mechanisms) for part in (selection, regression)
    ]
    whole = gaussian_mu(nolook.Budget(epsilon, delta)) ** 2
    # The regression has what its part of the budget buys, and the selection all that is left.
    own = gaussian_mu(nolook.Budget((1 - split) * epsilon, (1 - split) * delta)) ** 2
    np.testing.assert_allclose(squares, [whole - own, own], rtol=1e-7)
    assert total_delta(plan.guarantee.mechanisms, epsilon) <= delta
    assert selection.guarantee.delta + regression.guarantee.delta <= delta * (1 + 1e-15)
    assert plan.guarantee.mechanisms == (
        *selection.guarantee.mechanisms,
        *regression.guarantee.mechanisms,
    )


def test_parts_with_other_noise_share_epsilon():
    release = moments_first(2.0, 1e-5, 0.25, nolook.TukeyRegressor).plan().release
    assert release.selector.epsilon == pytest.approx(0.5)
    assert release.regressor.epsilon == pytest.approx(1.5)


def test_the_number_of_features_may_be_left_to_the_selector():
    X, y = data(3000)
    model = nolook.PrivatePipeline(
        nolook.KendallSelector("auto"), nolook.LinearRegression(), epsilon=20.0, delta=1e-6
    ).fit(X, y)
    assert model.support_.sum() == model.selector_.k_ == (model.coef_ != 0.0).sum()


def test_a_pipeline_says_of_its_regression_what_that_says():
    X, y = data(400)
    model = pipeline(nolook.TukeyRegressor, epsilon=0.05)
    model.regressor.set_params(on_failure="constant")
    assert model.fit(X, y).regressor_.failed_
    assert model.failed_
    bounded = pipeline(nolook.AdaSSPRegressor).fit(X, y)
    assert bounded.row_norm_ == bounded.regressor_.row_norm_ < np.inf


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("regressor", [nolook.LinearRegression, nolook.AdditiveRegression])
def test_no_interval_is_given_for_columns_chosen_with_the_same_rows(regressor, tmp_path):
    X, y = data()
    fitted = pipeline(regressor, seed=0).fit(X, y)
    nolook.save(fitted, tmp_path / "model.json")
    for model in (fitted, nolook.load(tmp_path / "model.json")):
        for part in (model, model.regressor_):
            assert part.coef_interval_ is None
            assert part.intercept_interval_ is None
            assert all(curve.band is None for curve in part.curves_)
        shown = str(model.summary())
        assert "Intervals would not hold" in " ".join(shown.split())
        assert "other columns held equal" not in shown
        assert model.to_frame().isna().all(axis=None)
    alone = regressor(epsilon=2.0, random_state=0).fit(X[:, [2, 6]], y)
    assert alone.coef_interval_ is not None


def test_every_attribute_of_a_fitted_pipeline_can_be_read():
    X = np.random.default_rng(0).normal(size=(500, 8))
    steps = nolook.MomentSelector(k=4), nolook.LinearRegression()
    fitted = nolook.PrivatePipeline(*steps, epsilon=3.0, delta=1e-6).fit(X, X[:, 0])
    assert all(hasattr(fitted, name) for name in dir(fitted) if not name.startswith("_"))
    assert fitted.dropped.shape == (4,)
