from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.algorithms import node_counts
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.accounting import total_delta
from nolook.privacy.guarantee import Budget, GaussianEvent
from nolook.privacy.noise import SeededSource
from nolook.statistics.cell_counts import CellCounts
from nolook.tables import table_from_arrays

GRID = LinearGrid(1, 64, 1)
POINTS = GRID.points()


def values(rows=20_000, seed=0):
    return np.random.default_rng(seed).binomial(63, 0.4, rows) + 1.0


def release(data, budget, relation="add-remove", seed=0, grid=GRID):
    plan = ecdf_release(budget, relation, [grid])
    cells = CellCounts(grid.points()).update(data[:100]).update(data[100:]).value
    return release_counts([cells], plan, SeededSource(seed))[0]


@pytest.fixture
def unsmoothed(monkeypatch):
    """Leave counts as they are before they are made to rise."""
    monkeypatch.setattr(node_counts, "rising", lambda noisy, _: noisy)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.1), Budget(1.0, 1e-6)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("columns", [1, 3, 50])
def test_a_plan_spends_its_budget_and_no_more(budget, relation, columns):
    events = ecdf_release(budget, relation, [GRID] * columns).events()
    assert total_delta(events, budget.epsilon) <= budget.delta
    assert total_delta(events, 0.99 * budget.epsilon) > budget.delta
    assert isinstance(events[0], GaussianEvent) == (budget.delta > 0)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_several_columns_know_one_number_of_rows(relation, delta):
    data = np.column_stack([values(), values(seed=1) ** 2, np.full(20_000, 5.0)])
    grids = [GRID, LinearGrid(1, 4096, 1), LinearGrid(0, 10, 1)]
    plan = ecdf_release(Budget(2.0, delta), relation, grids)
    found = plan.run(table_from_arrays(data), SeededSource(0), lambda _: None)
    alone = [
        ecdf_release(Budget(2.0, delta), relation, [grid]).run(
            table_from_arrays(column[:, None]), SeededSource(0), lambda _: None
        )[0]
        for grid, column in zip(grids, data.T, strict=True)
    ]
    assert len({each.rows for each in found}) == 1
    if relation == "replace":
        assert found[0].counted == alone[0].counted
        assert (found[0].rows, found[0].counted.error) == (20_000, 0.0)
    else:
        assert found[0].rows == pytest.approx(20_000, abs=6 * found[0].counted.error)
    for each, grid, column in zip(found, grids, data.T, strict=True):
        assert each.counts[-1] == each.rows
        true = np.searchsorted(np.sort(column), grid.points(), side="right") / 20_000
        np.testing.assert_allclose(each.cdf(grid.points()), np.append(true[:-1], 1), atol=0.02)


@pytest.mark.parametrize("budget", [Budget(1e5), Budget(1e5, 1e-6)])
@pytest.mark.parametrize("grid", [GRID, LinearGrid(1, 40, 1), LinearGrid(3, 4, 1)])
def test_hardly_any_noise_gives_the_counts(budget, grid):
    data, points = values(), grid.points()
    found = release(data, budget, grid=grid)
    expected = np.searchsorted(np.sort(data), points, side="right")
    expected[-1] = len(data)  # values beyond the grid are in its last cell
    np.testing.assert_allclose(found.counts, expected, atol=1.0)
    assert found.rows == pytest.approx(len(data), abs=1.0)


@pytest.mark.parametrize("budget", [Budget(0.5), Budget(0.5, 1e-6)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_standard_errors_hold_for_repeated_releases(unsmoothed, budget, relation):
    data = values()
    true = np.searchsorted(np.sort(data), POINTS, side="right") / len(data)
    found = [release(data, budget, relation, seed).noise_alone for seed in range(400)]
    t = POINTS[:-1]
    errors = np.array([one.cdf(t) - true[:-1] for one in found])
    # The standard deviation of 400 errors is within 15 % of the true one, five deviations or so.
    ratio = errors.std(axis=0) / found[0].cdf_error(t)
    assert 0.8 < ratio.min() <= ratio.max() < 1.25
    means = np.array([one.trimmed_mean(0.0) for one in found])
    assert 0.85 < means[:, 0].std() / means[:, 1].mean() < 1.15
    assert means[:, 0].mean() == pytest.approx(data.mean(), abs=5 * means[:, 0].std() / 20)


def test_smoothed_counts_never_fall_and_end_at_the_number_of_rows():
    for rows in (0, 1, 50, 3000):
        for seed in range(5):
            found = release(values(rows), Budget(0.3), seed=seed)
            assert (np.diff(found.counts) >= 0).all()
            assert found.counts[0] >= 0
            assert found.counts[-1] == found.rows >= 1
            assert found.cdf(POINTS[-1]) == 1.0


def test_the_number_of_rows_is_public_under_replacement_only():
    data = values(5000)
    assert release(data, Budget(0.1), "replace").rows == 5000
    assert len({release(data, Budget(0.1), seed=seed).rows for seed in range(20)}) > 5


def test_smoothing_lowers_the_error(request):
    data = values(2000)
    true = np.searchsorted(np.sort(data), POINTS, side="right") / len(data)

    def error():
        found = [release(data, Budget(0.2), "replace", seed) for seed in range(60)]
        return np.mean([(one.counts / one.rows - true) ** 2 for one in found])

    smoothed = error()
    request.getfixturevalue("unsmoothed")
    assert smoothed < 0.9 * error()


def test_the_release_does_not_tell_neighbours_apart_beyond_its_budget(unsmoothed):
    # A row in the first cell changes every count; the likelihood of a threshold test stays
    # within e^epsilon, at a confidence that chance does not break.
    epsilon, runs, few = 1.0, 1000, LinearGrid(1, 8, 1)
    data = np.append(values(30), 1.0)
    neighbour = data[:-1]
    statistic = [
        np.array([
            release(table, Budget(epsilon), seed=seed, grid=few).counts.sum()
            for seed in range(base, base + runs)
        ])
        for table, base in ((data, 0), (neighbour, runs))
    ]  # fmt: skip
    for shift in (0.0, 1.0):
        cut = np.quantile(statistic[1], 0.9) + shift
        above = [np.mean(one >= cut) for one in statistic]
        slack = 5 * math.sqrt(above[0] / runs) + 5 * math.exp(epsilon) * math.sqrt(above[1] / runs)
        assert above[0] <= math.exp(epsilon) * above[1] + slack
        assert above[0] > above[1]
