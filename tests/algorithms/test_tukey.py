from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as LeastSquares

import nolook
from nolook.algorithms.moment_regression import MomentRelease
from nolook.algorithms.row_count_bound import count_rows, row_count_bound
from nolook.algorithms.tukey import (
    LIMIT,
    MODEL_GRID,
    Basis,
    choose_models,
    fit_models,
    release_basis,
    rows_needed,
    tukey_plan,
    whitening,
)
from nolook.algorithms.tukey_models import models_needed
from nolook.kernels.moments import UNIT
from nolook.privacy import accounting
from nolook.privacy.guarantee import ApproximateEvent, Budget, PureEvent
from nolook.privacy.mechanisms.tukey_depth import tukey_release
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.public_design import public_scaling
from scripts import tukey_models

LN3 = Budget(math.log(3), 1e-5)


def quiet(_):
    pass


def data(rows=20_000, features=3, seed=0, noise=1.0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * 10.0 ** np.arange(features) + 5
    return X, X @ (1.0 / 10.0 ** np.arange(features)) + noise * generator.normal(size=rows)


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("budget", [LN3, Budget(0.1, 1e-9), Budget(1e4, 0.1)])
def test_the_parts_use_the_budget_up(auto, budget):
    plan = tukey_plan(budget, None if auto else 700)
    events = plan.events()
    guarantee = accounting.guarantee(events, budget, relation="add-remove", private=True)
    assert guarantee.budget == budget
    pure = [event.epsilon for event in events if isinstance(event, PureEvent)]
    assert pure == ([0.05 * budget.epsilon] if auto else [])
    (tukey,) = (event for event in events if isinstance(event, ApproximateEvent))
    assert tukey.epsilon == pytest.approx(budget.epsilon * (0.70 if auto else 0.75))
    rule = plan.rule(700)
    assert rule.epsilon_test + rule.epsilon_sample <= tukey.epsilon
    assert rule.delta == tukey.delta
    if budget.epsilon < 10:
        assert rule.epsilon_test + rule.epsilon_sample == pytest.approx(tukey.epsilon)


@pytest.mark.parametrize("d", [1, 2, 5, 9, 27])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.77, 5e-6), (0.3, 1e-7), (4.0, 1e-5)])
def test_the_table_has_the_smallest_number_that_passes(d, epsilon, delta):
    m = models_needed(d, epsilon, delta)
    assert tukey_models.passing(d, m, epsilon, delta, 30) > 0.97
    assert tukey_models.passing(d, int(0.93 * m) - 8, epsilon, delta, 30) < 0.99


def test_the_tables_maker_agrees_with_the_mechanism():
    plan, source = tukey_plan(LN3, None), SeededSource(0)
    generator = np.random.default_rng(0)
    m = models_needed(4, plan.epsilon, plan.delta)
    passed = [
        tukey_release(MODEL_GRID.round(generator.normal(size=(m, 4))), plan.rule(m), source)
        is not None
        for _ in range(200)
    ]
    assert np.mean(passed) > 0.95
    few = [
        tukey_release(
            MODEL_GRID.round(generator.normal(size=(m // 2, 4))), plan.rule(m // 2), source
        )
        for _ in range(50)
    ]
    assert sum(point is not None for point in few) < 5


def test_more_models_are_needed_for_more_dimensions_and_less_budget():
    numbers = [models_needed(d, 0.5, 1e-6) for d in (1, 4, 16, 64, 128, 300, 1000)]
    assert numbers == sorted(numbers)
    epsilons = (1e5, 32.0, 4.0, 1.0, 0.3, 0.25, 0.2, 0.01, 1e-4)
    numbers = [models_needed(8, epsilon, 1e-6) for epsilon in epsilons]
    assert numbers == sorted(numbers)
    assert numbers[-1] == pytest.approx(100 * numbers[-2], rel=0.01)
    numbers = [models_needed(8, 0.5, delta) for delta in (0.3, 1e-3, 1e-6, 1e-12, 1e-30)]
    assert numbers == sorted(numbers)


def test_the_number_of_models_leaves_rows_for_each():
    plan = tukey_plan(LN3, None)
    for d in (2, 6, 11, 40):
        least, needed = models_needed(d, plan.epsilon, plan.delta), rows_needed(d, plan)
        for bound in (-100, 0, needed // 4, needed, 3 * d * least + 5, 10**6, 10**9):
            m = choose_models(bound, d, plan)
            if m is None:
                assert bound < needed
                continue
            assert m >= least
            assert bound // m >= min(3 * d, d + 2)
            if bound >= 3 * d * least:
                assert bound // m >= 3 * d
        assert choose_models(needed, d, plan) is not None


def test_the_bound_on_the_rows_is_rarely_too_high():
    table, source = table_from_arrays(*data(500)), SeededSource(1)
    bounds = np.array(
        [row_count_bound(count_rows(table, 0.5, source, quiet), 0.5) for _ in range(3000)]
    )
    assert np.mean(bounds > 500) <= 0.003
    # ln(1/2e-4) scales below on average, and less than 2 more for whole numbers: the mean of so
    # many deviates by .05, and both fail with a chance below 1e-7.
    assert bounds.mean() == pytest.approx(499 - math.log(5000) / 0.5, abs=1.5)


def test_whitening_makes_the_second_moments_the_identity():
    X, y = data(200_000, 4)
    X[:, 1] += 9 * X[:, 0]
    table = table_from_arrays(X, y)
    moments = MomentRelease(5.0).run(table, SeededSource(0), quiet)
    basis = whitening(moments)
    second = moments.matrix[:-1, :-1] / moments.matrix[0, 0]
    np.testing.assert_allclose(basis.T @ second @ basis, np.eye(5), atol=0.05)


def test_models_are_those_of_least_squares_on_their_rows():
    X, y = data(3000, 3, noise=0.01)
    table = table_from_arrays(X, y)
    plan = tukey_plan(Budget(1e4, 0.1), 20)
    found = release_basis(table, plan, SeededSource(0), quiet)
    models = fit_models(table, found, 20, SeededSource(1), quiet)
    assert models.shape == (20, 4)
    ols = LeastSquares().fit(X, y)
    for model in models:
        coefficients, intercept = found.scaling.original_units(found.matrix @ model)
        np.testing.assert_allclose(coefficients, ols.coef_, rtol=0.02)
        assert intercept == pytest.approx(ols.intercept_, abs=0.05)


def test_the_order_of_rows_changes_no_model_however_large_its_block():
    # Squares of so many rows near the limit add up to more than doubles hold exactly.
    n = 1_200_000
    generator = np.random.default_rng(0)
    X, y = (LIMIT - generator.integers(0, 50, (n, 1)) / UNIT for _ in range(2))
    basis = Basis(public_scaling(("x0", "y"), 1.0, LIMIT), np.eye(2), None)
    order = generator.permutation(n)
    one, other = (
        fit_models(table_from_arrays(*rows), basis, 1, SeededSource(0), quiet)
        for rows in ((X, y[:, 0]), (X[order], y[order, 0]))
    )
    np.testing.assert_array_equal(one, other)
    assert one.any()


def test_the_grid_is_public_and_takes_anything():
    points = MODEL_GRID.round(np.array([[np.nan, np.inf, -np.inf, 1e300, -1e300, 0.25, -3.0]]))
    step, largest = MODEL_GRID.step, MODEL_GRID.largest
    assert points.tolist() == [[0, largest, -largest, largest, -largest, 0.25 / step, -3 / step]]
    np.testing.assert_array_equal(MODEL_GRID.values(points)[0, 5:], [0.25, -3.0])
    assert largest <= 2**61


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_fits_are_close_to_least_squares():
    X, y = data()
    fitted = nolook.TukeyRegressor(2.0, 1e-5, random_state=0).fit(X, y)
    assert fitted.score(X, y) > LeastSquares().fit(X, y).score(X, y) - 0.02
    assert fitted.failed_ is False
    assert fitted.r2_ is not None


def with_a_rare_column(rows=20_000, seed=0):
    """A table, and the same with a column between the others that is 0 but in four rows."""
    X, y = data(rows, seed=seed)
    rare = np.zeros(rows)
    rare[:: rows // 4] = 1e6
    return X, np.insert(X, 1, rare, axis=1), y


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_a_column_without_evidence_is_left_out():
    X, more, y = with_a_rare_column()
    less, with_it = (
        [nolook.TukeyRegressor(2.0, 1e-5, random_state=seed).fit(table, y) for seed in range(6)]
        for table in (X, more)
    )
    error = max(1.0 - model.score(X, y) for model in less)
    # Noise shows such a column in one fit of 50: in all six, one in 10^10.
    hidden = [pair for pair in zip(with_it, less, strict=True) if not pair[0].scaling_.detected[1]]
    assert hidden
    for fitted, other in hidden:
        assert fitted.scaling_.detected.tolist() == [True, False, True, True, True]
        assert fitted.coef_[1] == 0.0
        assert fitted.coef_[[0, 2, 3]].all()
        # As if it were not there, also in the number of models, which grows with the columns.
        assert fitted.n_models_ == other.n_models_
        assert 1.0 - fitted.score(more, y) < 1.02 * error
        # Within three half-widths of its interval, or 5.9 standard errors: 4e-9.
        low, high = fitted.r2_interval_
        assert 2 * low - high < fitted.score(more, y) < 2 * high - low


def test_what_a_column_without_evidence_holds_moves_no_model():
    _, more, y = with_a_rare_column(4000)
    other = more.copy()
    other[:, 1] *= -7.0
    plan = tukey_plan(LN3, 20)
    # Noise shows such a column in one fit of 50: in six, one in 10^10.
    bases = (
        release_basis(table_from_arrays(more, y), plan, SeededSource(seed), quiet)
        for seed in range(6)
    )
    found = next(each for each in bases if not each.scaling.detected[1])
    assert found.scaling.detected.tolist() == [True, False, True, True, True]
    one, two = (
        fit_models(table_from_arrays(rows, y), found, 20, SeededSource(1), quiet)
        for rows in (more, other)
    )
    assert one.shape == (20, 4)
    np.testing.assert_array_equal(one, two)


def test_where_no_feature_shows_the_middle_is_predicted():
    _, y = data()
    fitted = nolook.TukeyRegressor(2.0, 1e-5, random_state=0)
    fitted.fit(np.zeros((y.size, 3)), y)
    assert not fitted.failed_
    # Noise shows one column in 50, whose coefficient nobody sees where it is 0.
    assert not fitted.coef_[~fitted.scaling_.detected[:-1]].any()
    # It is off by .0064 deviations: 15 times that.
    assert fitted.predict(np.zeros((1, 3))) == pytest.approx(y.mean(), abs=0.1 * y.std())


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_the_estimated_fit_is_near_the_true_one():
    X, y = data(60_000)
    fitted = nolook.TukeyRegressor(2.0, 1e-5, random_state=0).fit(X, y)
    low, high = fitted.r2_interval_
    assert low <= fitted.r2_ <= high
    assert low - 0.02 <= fitted.score(X, y) <= high + 0.02


@pytest.mark.parametrize("rows", [0, 5, 1500])
def test_too_few_rows_are_a_private_outcome(rows, open_ledger):
    with open_ledger() as ledger:
        with pytest.raises(
            nolook.TooFewRows, match="needs about 4,280 rows for 3 features"
        ) as info:
            nolook.TukeyRegressor(1.0, 1e-6).fit(*data(rows), ledger=ledger)
        (entry,) = ledger.history()
        assert (entry.cost, entry.state) == (nolook.Budget(1.0, 1e-6), "complete")
    assert isinstance(info.value, nolook.PrivateFitFailed)
    assert info.value.exit_status == 4


def test_a_failed_test_is_a_private_outcome(open_ledger):
    X, y = data(2000)
    with open_ledger() as ledger:
        with pytest.raises(nolook.PrivateFitFailed, match="failed with 60 models") as info:
            nolook.TukeyRegressor(1.0, 1e-6, n_models=60).fit(X, y, ledger=ledger)
        (entry,) = ledger.history()
        assert entry.state == "complete"
    assert not isinstance(info.value, nolook.TooFewRows)


@pytest.mark.parametrize("n_models", ["auto", 60])
def test_after_a_failure_the_constant_is_the_targets_private_median(n_models):
    X, y = data(2000)
    y = np.exp(y / 2)  # the mean is above .69 of them
    shares = []
    for seed in range(25):
        fitted = nolook.TukeyRegressor(
            1.5, 1e-6, n_models=n_models, on_failure="constant", random_state=seed
        ).fit(X, y)
        assert fitted.failed_
        assert not fitted.coef_.any()
        predicted = np.unique(fitted.predict(X))
        assert predicted.size == 1
        shares.append(np.mean(y <= predicted[0]))
        assert fitted.r2_ is None
        assert fitted.privacy_.epsilon == 1.5
    # One deviates by .14, and their mean by a fifth of that: chance to fail below 1e-7.
    assert abs(np.mean(shares) - 0.5) < 0.15


def test_rows_needed_are_enough():
    model = nolook.TukeyRegressor(1.0, 1e-6, random_state=0)
    rows = model.rows_needed(2)
    assert rows == 3384
    model.fit(*data(rows, 2))
    with pytest.raises(nolook.TooFewRows):
        model.fit(*data(rows // 2, 2))
    assert nolook.TukeyRegressor(1.0, 1e-6, n_models=100).rows_needed(2) == 300


@pytest.mark.parametrize("factor", [1000.0, 1e-3, 2.0**30])
@pytest.mark.parametrize("part", ["column", "target"])
def test_units_change_predictions_only_as_in_least_squares(factor, part):
    X, y = data(30_000)
    spread = y.std()
    before = nolook.TukeyRegressor(1.5, 1e-5, random_state=1).fit(X, y).predict(X)
    if part == "column":
        X[:, 1] *= factor
        after = nolook.TukeyRegressor(1.5, 1e-5, random_state=1).fit(X, y).predict(X)
    else:
        model = nolook.TukeyRegressor(1.5, 1e-5, random_state=1).fit(X, factor * y)
        after = model.predict(X) / factor
    # The same but for what the bins of the scales do: a small part of the noise of one fit.
    assert np.sqrt(np.mean((before - after) ** 2)) < 0.03 * spread


def test_as_many_stages_are_announced_as_the_plan_states():
    seen = []
    nolook.TukeyRegressor(2.0, 1e-5).fit(*data(), progress=lambda *step: seen.append(step))
    plan = tukey_plan(Budget(2.0, 1e-5), None)
    assert len(seen) == plan.progress_steps + 2 == seen[0][2]


@pytest.mark.parametrize("rows", [0, 1, 7, 400])
@pytest.mark.parametrize("n_models", [1, 2, 51, 600, "auto"])
def test_any_number_of_rows_and_models_gets_an_ordinary_answer(rows, n_models):
    model = nolook.TukeyRegressor(
        1.0, 1e-6, n_models=n_models, on_failure="constant", random_state=0
    )
    X, y = data(rows, 1)
    fitted = model.fit(X, y)
    assert np.isfinite([fitted.intercept_, *fitted.coef_]).all()
    assert np.isfinite(fitted.predict(data(5, 1)[0])).all()


@pytest.mark.parametrize("target", ["constant", "zero"])
def test_targets_all_alike_are_predicted(target):
    X, y = data(20_000)
    y[:] = {"constant": 7.5, "zero": 0.0}[target]
    fitted = nolook.TukeyRegressor(1.0, 1e-6, on_failure="constant", random_state=0).fit(X, y)
    # A column with one value has the scale of one bin of its histogram.
    np.testing.assert_allclose(fitted.predict(X), y, atol=0.3)


def test_a_second_fit_keeps_nothing_of_the_first():
    model = nolook.TukeyRegressor(8.0, on_failure="constant").fit(*data())
    assert model.r2_ is not None
    model.fit(*data(3))
    assert model.r2_ is model.r2_interval_ is None


def test_columns_that_nearly_follow_from_each_other_are_predicted_from():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 1)) + 1e-6 * generator.normal(size=(20_000, 12))
    y = X[:, 0] + X[:, 9] + 0.5 * generator.normal(size=20_000)
    fitted = nolook.TukeyRegressor(10.0, 1e-6, random_state=0).fit(X, y)
    # Where each block is solved by least squares R2 is -24.
    assert np.mean((fitted.predict(X) - y) ** 2) < 0.1 * y.var()
    assert np.abs(fitted.coef_).max() < 2.0


class _Worse(nolook.TukeyRegressor):
    def _store(self, released):
        super()._store(released)
        self.coef_, self.r2_interval_ = -self.coef_, np.array([-0.8, -0.2])


def test_a_model_that_predicts_no_better_than_the_centre_is_the_centre():
    fitted = _Worse(10.0, 1e-6, random_state=0).fit(*data())
    assert fitted.failed_
    assert not fitted.coef_.any()
    assert fitted.intercept_ == fitted.scaling_.center[-1]
    assert fitted.r2_ is fitted.r2_interval_ is None
