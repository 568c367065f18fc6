from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms import range_search
from nolook.algorithms.range_search import (
    _thresholds,
    find_range,
    occupied_range,
    range_events,
    trimmed_range,
)
from nolook.kernels.histogram import MAGNITUDE_BINS, magnitude_counts
from nolook.privacy.noise import SeededSource
from tests.contracts.columns import COLUMNS, column


def search(values, epsilon, relation="add-remove", seed=0):
    def batches():
        return np.array_split(values, 3)

    return find_range(batches, range_events(epsilon), relation, SeededSource(seed), lambda _: None)


def test_empty_bins_hardly_ever_pass_with_laplace_noise():
    """What stands for sigma keeps the false alarms of normal noise, and is not far too large."""

    def alarms(sigma):
        return np.exp(-sigma * _thresholds(1)).sum() / 2

    assert alarms(range_search._TAIL) <= 1e-4 < alarms(0.99 * range_search._TAIL)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-8, 8), (1000, 1001), (-3e-7, -1e-7), (0, 1e9)])
def test_the_range_holds_the_values_and_not_much_more(low, high):
    generator = np.random.default_rng(0)
    values = generator.uniform(low, high, 20_000)
    for seed in range(5):
        found = search(values, 0.2, seed=seed)
        inside = np.mean((values >= found[0]) & (values <= found[1]))
        assert inside > 0.9
        assert found[1] - found[0] < 3 * max(high - low, max(abs(low), abs(high)) / 46)


def test_a_few_values_far_outside_do_not_widen_the_range():
    values = np.append(np.random.default_rng(0).random(20_000), np.full(20, 1e30))
    assert search(values, 0.5)[1] < 2


@pytest.mark.parametrize("name", [*COLUMNS, "empty", "infinite"])
@pytest.mark.parametrize("epsilon", [1e-3, 10.0])
def test_every_column_has_a_range_with_room_for_a_grid(name, epsilon):
    special = {"empty": np.empty(0), "infinite": np.repeat([1.7976931348623157e308, -np.inf], 500)}
    values = special[name] if name in special else column(name, 1000)
    for seed in range(5):
        low, high = search(values, epsilon, seed=seed)
        assert np.isfinite([low, high]).all()
        assert high - low > max(abs(low), abs(high)) / 128
        assert (np.diff(np.linspace(low, high, 1024)) > 0).all()


@pytest.mark.parametrize(("relation", "distance"), [("add-remove", 1), ("replace", 2)])
def test_one_row_moves_the_released_counts_by_the_sensitivity(monkeypatch, relation, distance):
    """The worst neighbours move by exactly what the noise is made for, in both steps."""
    seen = []

    def exact(values, sensitivity, epsilon, source):
        seen.append((values.copy(), sensitivity, epsilon))
        return values

    monkeypatch.setattr(range_search, "laplace_release", exact)
    many = np.random.default_rng(0).random(5000)
    for values in (many, np.append(many[1:], 1e9) if distance == 2 else many[1:]):
        search(values, 0.5, relation)
    for (first, sensitivity, epsilon), (second, _, _) in zip(seen[:2], seen[2:], strict=True):
        assert np.abs(first - second).sum() == sensitivity == distance
        assert epsilon == 0.25


def test_noise_alone_is_hardly_ever_taken_for_data():
    generator = np.random.default_rng(0)
    exact = magnitude_counts(generator.normal(size=(1, 100_000)) + 10).astype(float)
    sigma = 60.0
    expected = occupied_range(exact, sigma)
    runs = 400  # false alarms have probability 1e-4 a run: more than 5 have less than 1e-11
    wrong = 0
    for _ in range(runs):
        low, high, _ = occupied_range(
            exact + generator.normal(scale=sigma, size=exact.shape), sigma
        )
        wrong += not (expected[0][0] / 4 <= low[0] and high[0] <= expected[1][0] * 2)
    assert wrong <= 5


def test_without_noise_the_occupied_range_holds_every_frequent_value():
    columns = np.array([np.linspace(-6.0, 11.0, 1000), np.linspace(0.26, 3.9, 1000)])
    low, high, visible = occupied_range(magnitude_counts(columns).astype(float), 1e-9)
    assert low[0] == -8.0
    assert high[0] == 16.0
    assert (low[1], high[1]) == (0.25, 4.0)
    assert visible.all()


def test_zero_only_means_a_range_around_zero():
    counts = np.zeros((1, MAGNITUDE_BINS))
    counts[0, MAGNITUDE_BINS // 2] = 500.0
    low, high, _ = occupied_range(counts, 1.0)
    assert (low[0], high[0]) == (-1.0, 1.0)


def test_the_tails_are_trimmed():
    counts = np.zeros((1, 50))
    counts[0, 10:20] = 1000.0
    counts[0, 40] = 3.0  # less than half a percent
    low, high = trimmed_range(counts, 1e-6, np.array([0.0]), np.array([1.0]))
    assert (low[0], high[0]) == (9.0, 19.0)
