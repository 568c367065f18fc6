"""Survival curves and the log-rank test by noisy forests: by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms import survival
from nolook.algorithms.forest import best_forest
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.survival import Times, log_rank
from nolook.kernels.forests import block_counts


def times(values, happened, points, *, scale=1e-9, single=False, seed=0):
    generator, cells = np.random.default_rng(seed), len(points)
    forest = best_forest(cells, "laplace", shares=True)
    found = []
    for chosen in (happened, ~happened):
        place = np.minimum(np.searchsorted(points, values[chosen]), cells - 1)
        blocks = block_counts(np.bincount(place, minlength=cells), forest.lengths)
        noise = generator.laplace(scale=scale * forest.levels, size=forest.blocks)
        found.append(NoisyForest(forest, blocks + noise, 2.0 * (scale * forest.levels) ** 2))
    return Times(Forests(np.asarray(points, float), tuple(found)), np.full(cells, single))


def exposed(rows, hazard=1.0, censoring=0.5, seed=0):
    generator = np.random.default_rng(seed)
    end = generator.exponential(1 / hazard, rows)
    seen = np.minimum(generator.exponential(1 / censoring, rows), 3.0)
    return np.minimum(end, seen), end <= seen


POINTS = np.append(-np.log1p(-np.arange(1.0, 32) / 32) / 1.5, 4.0)


def kaplan_meier(values, happened, at):
    """Multiply 1 - d/n over the event times up to each place."""
    events = np.unique(values[happened])
    factors = [1 - happened[values == one].sum() / (values >= one).sum() for one in events]
    return np.array(
        [np.prod([f for f, e in zip(factors, events, strict=True) if e <= t]) for t in at]
    )


def test_whole_times_give_the_curve_of_kaplan_and_meier():
    generator = np.random.default_rng(0)
    values, happened = generator.integers(1, 30, 4000).astype(float), generator.random(4000) < 0.4
    curve = times(values, happened, np.arange(1.0, 32.0), single=True).curve()
    at = np.arange(1.0, 25.0)
    np.testing.assert_allclose(curve.at(at)[0], kaplan_meier(values, happened, at), atol=1e-6)
    np.testing.assert_allclose(np.interp(5.0, curve.times, curve.at_risk), (values > 5).sum())


def test_of_a_curve_that_never_begins_nothing_is_known():
    none = survival.Curve(*np.array([[0.0], [1.0], [1.0], [1.0], [3.0]]), whole=True)
    assert np.isnan(none.at(np.array([0.0, 0.25, 1.0]))).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_ends_with_the_last_cell_throughout_which_rows_are_at_risk(seed):
    generator = np.random.default_rng(seed)
    seen = generator.integers(460, 1461, 14_000).astype(float)
    ends = np.ceil(generator.exponential(2_000.0, seen.size))
    values, happened = np.minimum(ends, seen), ends <= seen
    points = np.append(np.arange(50.0, 1_451.0, 50.0), [1_500.0, 1_600.0, 1_700.0])
    curve = times(values, happened, points, scale=3.0, seed=seed).curve()
    assert curve.at_risk[-1] > 50.0
    assert curve.times[-1] < 1_460.0
    assert np.isnan(curve.at(np.array([1_480.0, 1_500.0]))).all()


def test_a_curve_has_the_one_time_at_which_all_that_are_left_are_censored():
    generator = np.random.default_rng(0)
    ends = np.ceil(generator.exponential(30.0, 4_000))
    values, happened = np.minimum(ends, 20.0), ends <= 20.0
    curve = times(values, happened, np.arange(1.0, 33.0), single=True).curve()
    assert curve.times[-1] == 20.0
    exact = kaplan_meier(values, happened, np.array([20.0]))
    np.testing.assert_allclose(curve.at(np.array([20.0]))[0], exact, atol=1e-6)


def test_wide_cells_give_nearly_the_same_curve_where_the_plain_factor_does_not():
    values, happened = exposed(20_000)
    points = np.array([0.3, 0.7, 1.2, 1.6, 2.0, 2.4, 2.8, 4.0])
    wide, plain = (
        times(values, happened, points, single=single).curve().at(points[:6])[0]
        for single in (False, True)
    )
    exact = kaplan_meier(np.round(values, 3), happened, points[:6])
    assert np.abs(wide - exact).max() < 0.01 < np.abs(plain - exact).max()


def test_intervals_hold_the_survival_and_the_median(monkeypatch):
    monkeypatch.setattr(survival, "_REPEATS", 100)
    at, held, medians = np.array([0.3, 0.8, 1.5]), [], []
    for seed in range(120):
        values, happened = exposed(1500, seed=seed)
        curve = times(values, happened, POINTS, scale=3.0, seed=seed).curve()
        _, low, high = curve.at(at)
        held.append((low <= np.exp(-at)) & (np.exp(-at) <= high))
        _, low, high = curve.median()
        medians.append(low <= np.log(2.0) <= high)
    assert np.mean(held, axis=0).min() > 0.88
    assert np.mean(medians) > 0.88


@pytest.mark.parametrize("leave_out", [False, True])
def test_the_log_rank_test_holds_its_level_under_unequal_censoring_only_with_the_noise(
    leave_out, monkeypatch
):
    monkeypatch.setattr(survival, "_REPEATS", 100)
    pairs = [
        tuple(
            times(
                *exposed(1600, censoring=c, seed=2 * run + c), POINTS, scale=3.0, seed=2 * run + c
            )
            for c in (1, 4)
        )
        for run in range(120)
    ]
    if leave_out:
        none = np.zeros((100, len(POINTS)))
        monkeypatch.setattr(survival, "forest_noise", lambda *_: none)
    rejected = np.mean([log_rank(pair) < 0.05 for pair in pairs])
    assert (rejected > 0.12) == leave_out
    assert rejected < 0.11 or leave_out


@pytest.mark.parametrize("alike", [1, 4])
def test_a_level_and_intervals_hold_where_rows_are_alike_only_if_that_is_allowed_for(
    alike, monkeypatch
):
    monkeypatch.setattr(survival, "_REPEATS", 100)
    at, held, rejected = np.array([0.3, 0.8, 1.5]), [], []
    for run in range(120):
        pair = []
        for censoring in (1, 4):
            values, happened = exposed(400, censoring=censoring, seed=2 * run + censoring)
            four = np.repeat(values, 4), np.repeat(happened, 4)
            found = times(*four, POINTS, seed=2 * run + censoring)
            pair.append(evolve(found, forests=found.forests.of_units(alike)))
        rejected.append(log_rank(tuple(pair)) < 0.05)
        _, low, high = pair[0].curve().at(at)
        held.append((low <= np.exp(-at)) & (np.exp(-at) <= high))
    assert (np.mean(rejected) > 0.15) == (np.mean(held) < 0.8) == (alike == 1)
    assert np.mean(rejected) < 0.11 or alike == 1
    assert np.mean(held, axis=0).min() > 0.88 or alike == 1


def test_different_hazards_are_found_and_too_few_rows_are_said():
    groups = [times(*exposed(3000, hazard, seed=3), POINTS, scale=2.0) for hazard in (1.0, 1.3)]
    assert log_rank(tuple(groups)) < 0.01
    assert log_rank((groups[0], groups[0], groups[1])) < 0.01
    few = [times(*exposed(60, seed=seed), POINTS, scale=10.0, seed=seed) for seed in (1, 2)]
    assert log_rank(tuple(few)) is None


def test_a_curve_ends_where_hardly_anyone_is_left_and_a_median_may_not_be_reached():
    curve = times(*exposed(2000, 0.05, 2.0), POINTS, scale=4.0).curve()
    assert curve.times[-1] < 2.5
    assert curve.median()[0] is None
    assert np.isnan(curve.at(np.array([3.5]))).all()
    assert times(np.zeros(0), np.zeros(0, bool), POINTS, scale=3.0).curve().times.size <= 2
