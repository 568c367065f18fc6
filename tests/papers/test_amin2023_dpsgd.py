"""DP-SGD on standardised columns: its noise, its samples, its steps."""

from __future__ import annotations

import math
from functools import partial

import mpmath
import numpy as np
import pandas as pd
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import stats
from sklearn.linear_model import LinearRegression as LeastSquares

import nolook
from nolook.privacy.accounting import gaussian_delta
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource
from nolook.tables import read_table, table_from_arrays
from papers.amin2023 import DPSGDRegressor
from papers.amin2023 import dpsgd as module
from papers.amin2023.clipped_gradients import gradient_radius, gradient_sensitivity
from papers.amin2023.dpsgd import DPSGD, SAMPLE_EVERY, noise_multiplier, sampled_delta

pytestmark = pytest.mark.papers

LN3 = Budget(math.log(3), 1e-5)


def quiet(_):
    pass


def data(rows=20_000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3)) * [1.0, 30.0, 1e-3] + 5
    return X, X @ [1.0, -0.1, 500.0] + generator.normal(size=rows)


def one_step_delta(multiplier, epsilon):
    """Delta of one sampled Gaussian release, the larger of both directions, exactly.

    The likelihood ratio 1 - q + q exp((2 x - 1) / (2 sigma^2)) grows with x, so the events that
    decide are half-lines.
    """
    with mpmath.workdps(40):
        sigma, q = mpmath.mpf(multiplier), mpmath.mpf(1) / SAMPLE_EVERY
        odds = mpmath.exp(epsilon)

        def beyond(ratio):
            """P(likelihood ratio > `ratio`), without and with the row."""
            if ratio <= 1 - q:
                return mpmath.mpf(1), mpmath.mpf(1)
            x = (1 + 2 * sigma**2 * mpmath.log((ratio - 1 + q) / q)) / 2
            absent, present = mpmath.ncdf(-x / sigma), mpmath.ncdf((1 - x) / sigma)
            return absent, (1 - q) * absent + q * present

        absent, present = beyond(odds)
        removed = present - odds * absent
        absent, present = beyond(1 / odds)
        added = (1 - absent) - odds * (1 - present)
        return max(removed, added)


ALONE = 1e-9  # a mu of scales that reveal nothing


@pytest.mark.parametrize("multiplier", [0.7, 1.5, 4.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_one_sampled_step_agrees_with_its_exact_delta(multiplier, epsilon):
    exact = float(one_step_delta(multiplier, epsilon))
    assert exact <= sampled_delta(ALONE, multiplier, 1, epsilon) <= exact * 1.01 + 1e-5


@pytest.mark.parametrize("steps", [10, 100])
def test_sampled_steps_lie_between_bounds_known_otherwise(steps):
    multiplier, epsilon = 3.0, 1.0
    delta = sampled_delta(ALONE, multiplier, steps, epsilon)
    once = dp_event.PoissonSampledDpEvent(1 / SAMPLE_EVERY, dp_event.GaussianDpEvent(multiplier))
    accountant = rdp_privacy_accountant.RdpAccountant()
    accountant.compose(dp_event.SelfComposedDpEvent(once, steps))
    assert delta <= accountant.get_delta(epsilon)  # Renyi divergences are looser
    assert delta >= float(one_step_delta(multiplier, epsilon))
    # As many steps without sampling cost far more.
    assert gaussian_delta(math.sqrt(steps) / multiplier, epsilon) > 10 * delta


def test_scales_and_samples_compose():
    both = sampled_delta(0.3, 3.0, 20, 0.4)
    assert max(gaussian_delta(0.3, 0.4), sampled_delta(ALONE, 3.0, 20, 0.4)) < both
    assert both < sampled_delta(0.3, 3.0, 20, 0.35)


@pytest.mark.parametrize(("mu", "multiplier", "steps"), [(1.0, 0.3, 9), (9.0, 3.0, 9)])
def test_a_grid_that_is_too_long_is_not_trusted(mu, multiplier, steps):
    # The step alone, or the scales, would need some hundred thousand points.
    assert sampled_delta(mu, multiplier, steps, 1.0) == 1.0


def kept(budget, steps, multiplier):
    """Whether scales and steps keep a budget, sampled or not."""
    mu = math.hypot(*(event.mu for event in module._scales(budget).events()))
    whole = gaussian_delta(math.hypot(mu, math.sqrt(steps) / multiplier), budget.epsilon)
    return min(whole, sampled_delta(mu, multiplier, steps, budget.epsilon)) <= budget.delta


@pytest.mark.parametrize("budget", [LN3, Budget(0.3, 1e-6), Budget(8.0, 1e-3), Budget(1.0, 1e-12)])
@pytest.mark.parametrize("steps", [1, 60])
def test_the_noise_is_the_least_that_keeps_the_budget(budget, steps):
    sigma = noise_multiplier(budget, steps)
    assert kept(budget, steps, sigma)
    assert not kept(budget, steps, sigma / 1.01)


def test_the_budget_is_what_is_stated():
    for budget in (LN3, Budget(2.0, 1e-6)):
        (event,) = DPSGD(budget, 20).events()
        assert (event.epsilon, event.delta) == (budget.epsilon, budget.delta)
    promise = DPSGDRegressor(LN3.epsilon, LN3.delta, n_steps=20).plan().guarantee
    assert (promise.budget, promise.private) == (LN3, True)
    assert promise.relation == "add-remove"


def test_sampling_saves_noise_and_a_tiny_delta_does_not_count_on_it():
    sampled, whole = noise_multiplier(LN3, 60), noise_multiplier(Budget(LN3.epsilon, 1e-12), 60)
    assert whole > 4 * sampled


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_without_noise_it_is_gradient_descent_on_samples():
    X, y = data()
    fitted = DPSGDRegressor(2000.0, 0.1, random_state=0).fit(X, y)
    ols = LeastSquares().fit(X, y)
    np.testing.assert_allclose(fitted.coef_, ols.coef_, rtol=0.05)
    assert fitted.score(X, y) == pytest.approx(ols.score(X, y), abs=1e-3)


def test_it_takes_the_steps_of_a_plain_loop(monkeypatch):
    X, y = data(3_000)
    samples, found = [], []

    def keep(original, kept):
        def spy(*arguments):
            kept.append(original(*arguments))
            return kept[-1]

        return spy

    monkeypatch.setattr(module, "_poisson_sample", keep(module._poisson_sample, samples))
    monkeypatch.setattr(module.ScaleSearch, "run", keep(module.ScaleSearch.run, found))
    monkeypatch.setattr(module, "gaussian_release", lambda exact, *_: exact)
    theta, scaling = DPSGD(LN3, 30).run(table_from_arrays(X, y), SeededSource(0), quiet)

    center, scale = scaling.center, scaling.scale
    z = np.column_stack([np.ones(3_000), ((X - center[:-1]) / scale[:-1]).clip(-5, 5)])
    target = ((y - center[-1]) / scale[-1]).clip(-5, 5)
    rows = found[0].rows.value
    model, velocity, models = np.zeros(4), np.zeros(4), []
    for drawn in samples:
        total = np.zeros(4)
        for row, value in zip(z[drawn], target[drawn], strict=True):
            gradient = (row @ model - value) * row
            total += gradient * min(1.0, 2.0 / np.linalg.norm(gradient))
        velocity = 0.9 * velocity + 0.1 * total * SAMPLE_EVERY / rows
        model = model - 8.0 / 4 * velocity
        models.append(model)
    np.testing.assert_allclose(theta, np.mean(models[15:], axis=0), atol=1e-3)


def test_a_gradient_gets_noise_of_the_size_that_is_stated(monkeypatch):
    # An empty table's gradients are noise alone; it has no detected feature, just the constant.
    released = []
    original = module.gaussian_release

    def spy(values, *rest):
        out = original(values, *rest)
        released.append(out.astype(float))
        assert not values.any()
        return out

    monkeypatch.setattr(module, "gaussian_release", spy)
    table = table_from_arrays(np.empty((0, 3)), np.empty(0))
    for seed in range(6):
        DPSGD(LN3, 60).run(table, SeededSource(seed), quiet)
    draws = np.concatenate(released)
    assert draws.size == 6 * 60
    deviation = noise_multiplier(LN3, 60) * gradient_sensitivity(gradient_radius(1.0))
    statistic = np.sum((draws / deviation) ** 2)
    assert 1e-4 < stats.chi2.sf(statistic, draws.size) < 1 - 1e-4
    # The same test refuses noise 30 % too small and 30 % too large.
    for wrong in (0.7, 1.3):
        p = stats.chi2.sf(np.sum((draws / (wrong * deviation)) ** 2), draws.size)
        assert min(p, 1 - p) < 1e-4


def test_each_row_is_drawn_by_itself_with_the_stated_probability():
    source = SeededSource(3)
    first, second = (module._poisson_sample(80_000, source) for _ in range(2))
    for sample in (first, second):
        assert stats.binomtest(int(sample.sum()), 80_000, 1 / SAMPLE_EVERY).pvalue > 1e-4
    both = int((first & second).sum())
    assert stats.binomtest(both, 80_000, 1 / SAMPLE_EVERY**2).pvalue > 1e-4
    assert [module._poisson_sample(units, source).size for units in (0, 3)] == [0, 3]


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "many", 10**6])
def test_a_bad_number_of_steps_costs_nothing(value, costs_nothing):
    costs_nothing(partial(DPSGDRegressor(n_steps=value).fit, *data(20)), "n_steps")


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("name", ["amin_nba", "amin_california", "MiamiHousing2016"])
def test_real_tables_are_fitted_nearly_as_by_least_squares(shared_data, name):
    import pyarrow.parquet as pq

    table = pq.read_table(shared_data(f"{name}.parquet"))
    features = [column for column in table.column_names if column != "target"]
    X = np.column_stack([table[column].to_numpy().astype(float) for column in features])
    y = table["target"].to_numpy().astype(float)
    fitted = DPSGDRegressor(LN3.epsilon, LN3.delta, random_state=0).fit(X, y)
    assert fitted.score(X, y) > LeastSquares().fit(X, y).score(X, y) - 0.03


def test_units_of_several_rows_are_refused():
    X, y = data(30)
    rows = pd.DataFrame(X).rename(columns=str).assign(y=y, unit=np.arange(30) // 2)
    with pytest.raises(nolook.ParameterError, match="no proof for units"):
        DPSGDRegressor(n_steps=3).fit(read_table(rows, "y", unit="unit"))


def test_a_missing_value_is_the_centre():
    X, y = data()
    frame = pd.DataFrame(X).rename(columns=str).assign(y=y)
    frame.loc[::3, "1"] = np.nan
    table = read_table(frame, "y", missing="centre")
    model = DPSGDRegressor(5.0, random_state=0).fit(table)
    rows = frame.iloc[:6, :3]
    filled = rows.fillna({"1": model.scaling_.center[1]})
    np.testing.assert_allclose(model.predict(rows), model.predict(filled))
