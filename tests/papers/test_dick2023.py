"""Boosted AdaSSP without scales, and SubLasso with the penalty in the columns' units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import nolook
from nolook.privacy.accounting import gaussian_delta
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.dick2023 import PublishedLassoSelector, RawLassoSelector, UnscaledBoostedAdaSSPRegressor
from papers.dick2023.boosted_adassp import UnscaledBoostedAdaSSP
from papers.dick2023.sublasso import equal_parts, raw_votes
from tests.algorithms.boosting import data, gram_of, no_stage, plain

pytestmark = pytest.mark.papers


def run(X, y, mu, rounds, seed=0):
    table = table_from_arrays(X, y)
    return UnscaledBoostedAdaSSP(mu, rounds).run(table, SeededSource(seed), no_stage)


@pytest.mark.parametrize("rounds", [1, 100])
def test_events_add_up_to_mu_and_every_release_has_one_sigma(rounds):
    matrix, eigenvalue, gradients = (
        event.mu for event in UnscaledBoostedAdaSSP(0.3, rounds).events()
    )
    assert math.hypot(eigenvalue, matrix, gradients) == pytest.approx(0.3, rel=1e-12)
    assert eigenvalue == matrix == pytest.approx(0.3 / math.sqrt(rounds + 2))
    assert gradients == pytest.approx(eigenvalue * math.sqrt(rounds))


@pytest.mark.parametrize("rounds", [1, 2, 40])
def test_with_hardly_any_noise_it_is_the_published_rule(rounds):
    X, y = data()
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1))[:, None]
    theta = run(X, y, 1e7, rounds).theta
    np.testing.assert_allclose(theta, plain(Z, y, rounds, 1)[-1], rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("rounds", [1, 7])
def test_a_round_has_the_noise_that_is_claimed(rounds):
    # Labels of zero: after one round the model is the solution for nothing but noise.
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    mu = 2.0
    gram, target = gram_of(X), np.zeros(len(X))
    noise = [gram @ run(X, target, mu, rounds, seed).theta for seed in range(60)]
    # Every round takes off what noise the last one added: one round's noise is left.
    assert 0.87 < np.std(noise) / (math.sqrt(rounds + 2) / mu) < 1.13


def test_every_stage_and_round_is_announced():
    X, y = data(100)
    seen = []
    release = UnscaledBoostedAdaSSP(1.0, 5)
    release.run(table_from_arrays(X, y), SeededSource(0), seen.append)
    assert len(seen) == release.progress_steps
    assert seen[-1] == "round 5"


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_rows_and_targets_of_norm_one_are_fitted():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 3)) / 3
    y = X @ [0.3, -1.2, 0.1] + generator.normal(size=20_000) / 10
    model = UnscaledBoostedAdaSSPRegressor(1.0, 1e-6, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.row_norm_ == 1.0
    assert model.target_range_ == (-math.inf, math.inf)


@pytest.mark.parametrize(("epsilon", "delta"), [(math.log(3), 1e-5), (0.1, 1e-8), (8.0, 1e-6)])
def test_the_whole_budget_is_spent_and_no_more(epsilon, delta):
    guarantee = UnscaledBoostedAdaSSPRegressor(epsilon, delta).fit(*data(50)).privacy_
    assert guarantee.private
    mu = math.sqrt(sum(event.mu**2 for event in guarantee.mechanisms))
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-6), epsilon) > delta


@pytest.mark.parametrize("cell", [1e300, -1.7e308, 5e-324, 0.0])
def test_extreme_cells_get_an_ordinary_answer(cell):
    X, y = data(300)
    X[:, 1] = cell
    for target in (y, X[:, 1]):
        model = UnscaledBoostedAdaSSPRegressor(random_state=0).fit(X, target)
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert np.isfinite(model.predict(np.zeros((1, 3)))).all()


def test_the_units_decide_what_is_voted_for():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(5000, 6)) * 10.0 ** np.arange(6)
    y = 0.9 * X[:, 0] - 2 * X[:, 2] / 100 + generator.normal(size=5000)
    selector = RawLassoSelector(2, 50.0, 50).fit(X, y)
    # A narrow column's coefficient is below the penalty of 1.
    assert 2 in selector.order_
    assert 0 not in selector.order_
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.order_))
    assert selector.privacy_.private
    assert 0 in RawLassoSelector(2, 50.0, 50, alpha=0.01).fit(X, y).order_


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.inf, "raw", None])
def test_bad_penalties_are_refused_in_one_line(alpha):
    with pytest.raises(nolook.ParameterError, match=r"^alpha is ") as caught:
        RawLassoSelector(2, alpha=alpha).fit(*data(20))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("rows", "m"), [(10, 3), (12, 3), (2, 5), (0, 1)])
def test_parts_are_equal_and_random(rows, m):
    found = {tuple(equal_parts(rows, m, SeededSource(seed))) for seed in range(40)}
    for parts in found:
        sizes = np.bincount(np.array(parts, dtype=np.int64), minlength=m)
        assert sizes.max() - sizes.min() <= 1
    assert len(found) > 1 or rows == 0


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_published_votes_are_those_of_raw_models_with_a_penalised_intercept(alpha):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 5)) * [1, 10, 100, 3, 0] + [5, 3, 2, -80, 7]
    y = X @ [1, 0.1, 0, 0.2, 0] + generator.normal(size=400) + 13
    parts, m, k = np.arange(400) % 40, 40, 2
    expected = np.zeros(5, dtype=int)
    for part in range(m):
        own = np.column_stack([X, np.ones(400)])[parts == part]
        model = Lasso(alpha, fit_intercept=False, max_iter=10**6, tol=1e-12)
        sizes = np.abs(model.fit(own, y[parts == part]).coef_[:-1])
        best = np.argsort(-sizes, kind="stable")[:k]
        expected[best[sizes[best] > 0]] += 1
    found = raw_votes(np.vstack([X.T, y]), parts, m, k, alpha)
    # A sweep stops at moves of 1e-6, which may decide between two that are nearly equal.
    assert np.abs(found - expected).sum() <= 2


def test_as_published_a_column_far_from_zero_is_voted_for_and_nothing_is_promised():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 3)) * [1, 0.1, 1] + [0, 26.0, 0]
    y = 1.5 * X[:, 0] + 13 + 0.1 * generator.normal(size=4000)
    published = PublishedLassoSelector(1, 50.0, 200, random_state=0)
    assert published.fit(X, y).order_[0] in {0, 1}
    assert not published.privacy_.private
    both = PublishedLassoSelector(2, 50.0, 200, alpha=0.1, random_state=0).fit(X, y)
    assert set(both.order_) == {0, 1}
    assert 1 not in RawLassoSelector(1, 50.0, 200, alpha=0.1, random_state=0).fit(X, y).order_
