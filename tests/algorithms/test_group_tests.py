"""Tests of groups by noisy forests: statistics as SciPy's, levels, and a null without noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nolook.algorithms import group_tests
from nolook.algorithms.forest import best_forest
from nolook.algorithms.group_tests import Forests, p_value
from nolook.algorithms.node_counts import NoisyForest
from nolook.kernels.forests import block_counts

SMALL = 1e-9  # noise, in rows


def forests(groups, scale=SMALL, cells=32, seed=0, weights=(None, None, None)):
    """Count normal values of groups in cells of about equal mass, with Laplace noise."""
    generator = np.random.default_rng(seed)
    points = stats.norm.ppf(np.arange(1, cells) / cells)
    forest = best_forest(cells, "laplace", shares=True)
    found = []
    for values, own in zip(groups, weights, strict=False):
        counts = np.bincount(np.searchsorted(points, values), own, minlength=cells)
        blocks = block_counts(counts, forest.lengths)
        noise = generator.laplace(scale=scale * forest.levels, size=forest.blocks)
        found.append(NoisyForest(forest, blocks + noise, 2.0 * (scale * forest.levels) ** 2))
    return Forests(np.append(points, 10.0), tuple(found))


def normal(*sizes, shift=0.0, seed=1):
    generator = np.random.default_rng(seed)
    return [generator.normal(shift * place, size=size) for place, size in enumerate(sizes)]


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3])
def test_without_noise_p_values_are_those_of_scipy(shift):
    groups = normal(600, 900, shift=shift)
    pair = forests(groups, cells=512)
    found = pair.differ((0, 1))
    ranks = stats.mannwhitneyu(*groups).pvalue
    assert abs(found.ranks - ranks) < 0.04
    assert abs(found.distance - stats.ks_2samp(*groups).pvalue) < 0.08
    exact = stats.mannwhitneyu(groups[1], groups[0]).statistic / (600 * 900)
    total, of_four = (pair.of_units(most).exceeds(1, 0) for most in (1, 4))
    assert abs(total.value - exact) < 0.003
    assert total.low < total.value < total.high
    assert abs((of_four.high - of_four.low) / (total.high - total.low) - 2.0) < 0.2
    distance = stats.ks_2samp(*groups).statistic
    assert abs(pair.distance(1, 0) - distance) < 0.01


@pytest.mark.parametrize("shift", [0.0, 0.08])
def test_several_groups_are_compared_as_kruskal_and_wallis_do(shift):
    groups = normal(500, 700, 400, shift=shift, seed=3)
    found = forests(groups, cells=512).differ(range(3))
    assert abs(found.ranks - stats.kruskal(*groups).pvalue) < 0.04


def levels(runs, scale, sizes=(300, 500)):
    seeds = range(runs)
    pairs = [forests(normal(*sizes, seed=seed + 10), scale, seed=seed) for seed in seeds]
    found = [pair.differ(range(len(sizes))) for pair in pairs]
    assert None not in found
    return np.mean([[each.ranks < 0.05, each.distance < 0.05] for each in found], axis=0)


@pytest.mark.parametrize("scale", [3.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_levels_hold_whatever_the_noise(scale, monkeypatch):
    monkeypatch.setattr(group_tests, "_REPEATS", 199)
    ranks, distance = levels(400, scale)
    assert 0.02 < ranks < 0.09
    assert 0.02 < distance < 0.09


@pytest.mark.parametrize("alike", [1, 5])
def test_a_level_holds_where_rows_are_alike_only_if_that_is_allowed_for(alike, monkeypatch):
    monkeypatch.setattr(group_tests, "_REPEATS", 199)
    found = []
    for seed in range(150):
        # Units with five rows of one value, four of them in a group that the unit chose.
        generator = np.random.default_rng(seed)
        values, group = generator.normal(size=200), generator.random(200) < 0.5
        of_rows = np.repeat(group, 5) ^ (np.arange(1000) % 5 == 0)
        rows = np.repeat(values, 5)
        pair = forests((rows[of_rows], rows[~of_rows]), 1.0, seed=seed).of_units(alike)
        pair = pair.differ((0, 1))
        found.append([pair.ranks < 0.05, pair.distance < 0.05])
    ranks, distance = np.mean(found, axis=0)
    assert (ranks > 0.15) == (distance > 0.15) == (alike == 1)
    assert max(ranks, distance) < 0.09 or alike == 1


@pytest.mark.parametrize("bound", [10, 1])
def test_a_level_holds_with_survey_weights_if_they_are_divided_by_their_bound(bound, monkeypatch):
    monkeypatch.setattr(group_tests, "_REPEATS", 199)
    found = []
    for seed in range(150):
        own = np.random.default_rng(seed).choice([1, 10], (2, 400), p=[0.7, 0.3])
        pair = forests(normal(400, 400, seed=seed + 10), 5.0, seed=seed, weights=own)
        tested = pair.of_units(bound).differ((0, 1))
        found.append([tested.ranks < 0.05, tested.distance < 0.05])
    assert (np.mean(found, axis=0) > 0.15).all() == (bound == 1)
    assert np.max(np.mean(found, axis=0)) < 0.09 or bound == 1


def test_a_null_hypothesis_without_noise_would_reject_too_often(monkeypatch):
    monkeypatch.setattr(group_tests, "_REPEATS", 199)
    monkeypatch.setattr(
        group_tests, "forest_noise", lambda group, n, _: np.zeros((n, group.forest.cells))
    )
    assert levels(200, 3.0)[0] > 0.12


def test_there_is_no_p_value_where_noise_is_nearly_all():
    assert forests(normal(300, 500), scale=20.0).differ((0, 1)) is None
    few = forests([np.zeros(0), *normal(500)], scale=3.0)
    assert not few.enough(0)
    assert few.enough(1)
    assert few.differ((0, 1)) is None


def test_whether_rows_are_too_few_follows_from_their_number_and_the_law_of_the_noise_only():
    for rows, scale in ((300, 3.0), (300, 4.0)):
        fine, coarse = (forests(normal(rows), scale, cells).groups[0] for cells in (16, 2))
        noise = 2.0 * 16 * scale**2
        assert group_tests.too_few(fine) == group_tests.too_few(coarse) == (noise > 2.5 * rows)
        assert group_tests.too_few(fine, fine) == group_tests.too_few(fine)


def test_a_p_value_counts_the_release_itself():
    assert p_value(5.0, np.arange(9.0)) == 0.5
    assert p_value(100.0, np.arange(9.0)) == 0.1
