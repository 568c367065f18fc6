from __future__ import annotations

import math

import numpy as np
import pytest

import nolook
from nolook.algorithms.ecdf import ecdf_plan, release_ecdf
from nolook.privacy.accounting import total_delta
from nolook.privacy.guarantee import Budget, GaussianEvent
from nolook.privacy.noise import SeededSource

POINTS = np.arange(1.0, 65.0)


def values(rows=20_000, seed=0):
    return np.random.default_rng(seed).binomial(63, 0.4, rows) + 1.0


def release(data, budget, relation="add-remove", smoothing="l2", seed=0, points=POINTS):
    plan = ecdf_plan(budget, relation)
    return release_ecdf([data[:100], data[100:]], points, plan, smoothing, SeededSource(seed))


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.1), Budget(1.0, 1e-6)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("columns", [1, 3, 50])
def test_a_plan_spends_its_budget_and_no_more(budget, relation, columns):
    plan = ecdf_plan(budget, relation, columns)
    events = plan.events() * columns
    assert total_delta(events, budget.epsilon) <= budget.delta
    # Composed more sharply than by adding up, a Gaussian plan leaves a little.
    assert total_delta(events, 0.9 * budget.epsilon) > budget.delta
    assert (plan.rows is None) == (relation == "replace")
    assert isinstance(plan.tree, GaussianEvent) == (budget.delta > 0)


def test_a_budget_too_small_for_any_noise_is_refused():
    for budget in (Budget(1e-300), Budget(1e-12), Budget(1e-12, 1e-13)):
        with pytest.raises(nolook.ParameterError, match="epsilon is") as caught:
            ecdf_plan(budget, "add-remove")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("budget", [Budget(1e5), Budget(1e5, 1e-6)])
@pytest.mark.parametrize("smoothing", ["l2", "l1", None])
@pytest.mark.parametrize("points", [POINTS, POINTS[:40], np.array([3.0])])
def test_hardly_any_noise_gives_the_counts(budget, smoothing, points):
    data = values()
    found = release(data, budget, smoothing=smoothing, points=points)
    expected = np.searchsorted(np.sort(data), points, side="right")
    expected[-1] = len(data)  # values beyond the grid are in its last cell
    np.testing.assert_allclose(found.counts, expected, atol=1.0)
    assert found.rows == pytest.approx(len(data), abs=1.0)


@pytest.mark.parametrize("budget", [Budget(0.5), Budget(0.5, 1e-6)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_standard_errors_hold_for_repeated_releases(budget, relation):
    data = values()
    true = np.searchsorted(np.sort(data), POINTS, side="right") / len(data)
    found = [release(data, budget, relation, None, seed) for seed in range(400)]
    t = POINTS[:-1]
    errors = np.array([one.cdf(t) - true[:-1] for one in found])
    # The standard deviation of 400 errors is within 15 % of the true one, five deviations or so.
    ratio = errors.std(axis=0) / found[0].cdf_error(t)
    assert 0.8 < ratio.min() <= ratio.max() < 1.25
    means = np.array([one.trimmed_mean(0.0) for one in found])
    assert 0.85 < means[:, 0].std() / means[:, 1].mean() < 1.15
    assert means[:, 0].mean() == pytest.approx(data.mean(), abs=5 * means[:, 0].std() / 20)


@pytest.mark.parametrize("smoothing", ["l2", "l1", "isotonic"])
def test_smoothed_counts_never_fall_and_end_at_the_number_of_rows(smoothing):
    for rows in (0, 1, 50, 3000):
        for seed in range(5):
            found = release(values(rows), Budget(0.3), smoothing=smoothing, seed=seed)
            assert (np.diff(found.counts) >= 0).all()
            assert found.counts[0] >= 0
            assert found.counts[-1] == found.rows >= 1
            assert found.cdf(POINTS[-1]) == 1.0


def test_the_number_of_rows_is_public_under_replacement_only():
    data = values(5000)
    assert release(data, Budget(0.1), "replace").rows == 5000
    assert len({release(data, Budget(0.1), seed=seed).rows for seed in range(20)}) > 5


def test_smoothing_lowers_the_error():
    data = values(2000)
    true = np.searchsorted(np.sort(data), POINTS, side="right") / len(data)
    errors = {}
    for smoothing in ("l2", "l1", "isotonic", None):
        found = [release(data, Budget(0.2), "replace", smoothing, seed) for seed in range(60)]
        errors[smoothing] = np.mean([(one.counts / one.rows - true) ** 2 for one in found])
    assert errors["l2"] < 0.9 * errors[None]
    assert max(errors["l1"], errors["isotonic"]) < errors[None]


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_release_does_not_tell_neighbours_apart_beyond_its_budget(shift):
    # A row in the first cell changes every count; the likelihood of a threshold test stays
    # within e^epsilon, at a confidence that chance does not break.
    epsilon, runs = 1.0, 4000
    data = np.append(values(30), 1.0)
    neighbour = data[:-1]
    statistic = [
        np.array([
            release(table, Budget(epsilon), "add-remove", None, seed, POINTS[:8]).counts.sum()
            for seed in range(base, base + runs)
        ])
        for table, base in ((data, 0), (neighbour, runs))
    ]  # fmt: skip
    cut = np.quantile(statistic[1], 0.9) + shift
    above = [np.mean(one >= cut) for one in statistic]
    slack = 5 * math.sqrt(above[0] / runs) + 5 * math.exp(epsilon) * math.sqrt(above[1] / runs)
    assert above[0] <= math.exp(epsilon) * above[1] + slack
    assert above[0] > above[1]
