"""What intervals are compared with is the least squares that the release names."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks import logistic_coverage, populations
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.whitening import Spread


def a_model(limit: float, row_norm: float, coef=(1.0, 1.0)) -> SimpleNamespace:
    scaling = Scaling(
        ("a", "b", "y"),
        np.array([1.0, -2.0, 3.0]),
        np.array([2.0, 0.5, 4.0]),
        np.ones(3, dtype=bool),
        limit,
    )
    return SimpleNamespace(
        scaling_=scaling, row_norm_=row_norm, coef_=np.array(coef), intercept_=0.5
    )


def some_rows(rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.standard_t(4, size=(rows, 2)) * [2.0, 0.5] + [1.0, -2.0]
    y = X @ [1.0, -3.0] + np.abs(X[:, 0]) * generator.normal(size=rows)
    return X, y


def test_without_clipping_it_is_plain_least_squares():
    X, y = some_rows()
    found = populations.bounded_truth(a_model(1e9, np.inf), X, y)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(found.values, [*plain.coef_, plain.intercept_], rtol=1e-8)


def test_columns_and_target_are_clipped_and_rows_weighted():
    X, y = some_rows()
    found = populations.bounded_truth(a_model(1.5, 1.3), X, y)
    features, target = X.clip([-2.0, -2.75], [4.0, -1.25]), y.clip(-3.0, 9.0)
    norms = np.sqrt(1 + (((features - [1.0, -2.0]) / [2.0, 0.5]) ** 2).sum(axis=1))
    weights = np.minimum(1, 1.3 / norms) ** 2
    plain = LinearRegression().fit(features, target, sample_weight=weights)
    np.testing.assert_allclose(found.values, [*plain.coef_, plain.intercept_], rtol=1e-8)


def test_the_target_of_weighted_least_squares_has_a_limit_of_its_own():
    X, y = some_rows()
    y[0] = 1e6  # 203 is 50 scales from the centre
    model = a_model(1.5, np.inf)
    model.weight_norm_ = 1.3
    found = populations.bounded_truth(model, X, y)
    same = populations.bounded_truth(model, X, y.clip(max=203.0))
    np.testing.assert_array_equal(found.values, same.values)
    assert (found.values != populations.bounded_truth(model, X, y.clip(max=202.0)).values).all()
    assert populations.clipped_shares(model, X, y)[-1] == 1 / len(y)


def test_errors_are_cut_where_a_row_would_move_a_sum_by_more():
    X, y = some_rows()
    y[:20] += 500.0
    model = a_model(1e9, np.inf)
    plain = populations.bounded_truth(model, X, y).values
    model.influence_bound_ = 0.8
    found = populations.bounded_truth(model, X, y).values
    standard = (X - [1.0, -2.0]) / [2.0, 0.5]
    rest = (y - X @ found[:-1] - found[-1]) / 4.0
    most = 0.8 / np.maximum(np.linalg.norm(standard, axis=1), 2.0)
    design = np.column_stack([np.ones(len(y)), standard])
    assert np.abs(design.T @ rest.clip(-most, most)).max() < 1e-3
    assert 0.01 < np.mean(np.abs(rest) > most) < 0.5
    truth = np.array([1.0, -3.0])
    assert (np.abs(found - plain)[:-1] > 3 * np.abs(found[:-1] - truth)).any()


def test_where_rows_leave_a_model_open_it_is_the_shortest():
    X, y = some_rows()
    X[:, 1] = X[:, 0]
    found = populations.bounded_truth(a_model(1e9, np.inf), X, y)
    slopes = found.values[:-1] * [2.0, 0.5]
    level = found.values[-1] + found.values[:-1] @ [1.0, -2.0] - 3.0
    # The second column is 4 times the first and 6, in scales: nothing changes along this.
    assert np.append(level, slopes) @ [6.0, 4.0, -1.0] == pytest.approx(0.0, abs=1e-8)


def test_a_dropped_column_takes_no_part():
    X, y = some_rows()
    found = populations.bounded_truth(a_model(1.5, 1.3, (0.0, 1.0)), X, y)
    X[:, 0] = 1e6  # neither its values nor the norms they make matter
    again = populations.bounded_truth(a_model(1.5, 1.3, (0.0, 1.0)), X, y)
    assert found.values[0] == found.errors[0] == 0.0
    np.testing.assert_array_equal(found.values, again.values)


@pytest.mark.parametrize("most", [np.inf, 0.5])
def test_standard_errors_are_the_spread_over_samples(most):
    X, y = some_rows()
    model, generator, rows = a_model(2.0, 1.5), np.random.default_rng(1), 2000
    model.influence_bound_ = most
    drawn = []
    for _ in range(300):
        chosen = generator.integers(len(y), size=rows)
        drawn.append(populations.bounded_truth(model, X[chosen], y[chosen]).values)
    errors = populations.bounded_truth(model, X, y).errors / np.sqrt(rows)
    assert np.std(drawn, axis=0) == pytest.approx(errors, rel=0.15)


def test_r2_and_shares_are_of_the_clipped_rows():
    X, y = some_rows()
    model = a_model(1.5, np.inf)
    features, target = X.clip([-2.0, -2.75], [4.0, -1.25]), y.clip(-3.0, 9.0)
    wrong, around = target - features.sum(axis=1) - 0.5, target - target.mean()
    expected = 1 - (wrong @ wrong) / (around @ around)
    assert populations.true_r2(model, X, y) == pytest.approx(expected)
    assert populations.true_r2(model, X, y, 4) >= expected
    shares = [np.mean(features != X, axis=0), np.mean(target != y)]
    np.testing.assert_array_equal(populations.clipped_shares(model, X, y), np.hstack(shares))


@pytest.mark.parametrize("name", populations.SIMULATED)
def test_simulated_populations_have_the_effects_they_name(name):
    X, y = populations.simulated(name)
    slopes = LinearRegression().fit(X, y).coef_
    for place, effect in populations.SIMULATED[name].items():
        assert slopes[place] == pytest.approx(effect, rel=0.05)
    table = populations.as_table(name, X[:10], y[:10])
    assert table.binary.tolist() == [name == "rare declared level", False, False, False]


@pytest.mark.parametrize("norm", [np.inf, 1.6])
def test_the_truth_of_a_logistic_model_is_the_likelihoods_with_rows_weighted(norm):
    X, _ = some_rows()
    y = np.random.default_rng(1).random(len(X)) < 1.0 / (1.0 + np.exp(-np.abs(X).sum(axis=1) + 4.0))
    model = a_model(1.5, np.inf)
    model.weight_norm_, model.spread_ = norm, Spread(np.array([0.3, 0.1]), np.diag([0.8, 1.3]))
    clipped = X.clip([-2.0, -2.75], [4.0, -1.25])
    x = ((clipped - [1.0, -2.0]) / [2.0, 0.5] - [0.3, 0.1]) * [0.8, 1.3]
    weights = np.minimum(1.0, norm / np.hypot(1.0, np.linalg.norm(x, axis=1))) ** 2
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    plain.fit(clipped, y, sample_weight=weights)
    found = logistic_coverage.truth(model, X, y)
    np.testing.assert_allclose(found, plain.coef_[0], rtol=1e-4)


def test_a_law_holds_for_the_slopes_it_is_drawn_by():
    for law, slope, constant, *_ in logistic_coverage.LAWS:
        X, y = logistic_coverage.drawn(law, slope, constant, 100_000, 0)
        found = LogisticRegression(C=np.inf).fit(X, y).coef_[0]
        np.testing.assert_allclose(found, logistic_coverage.slopes_of(slope), atol=0.12)
