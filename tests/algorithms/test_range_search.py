from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nolook.algorithms import node_counts
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.range_search import find_range, first_look, range_events
from nolook.kernels.histogram import magnitude_counts
from nolook.privacy.noise import SeededSource
from nolook.tables.folding import Batches
from tests.contracts.columns import COLUMNS, column


def search(values, epsilon, relation="add-remove", seed=0):
    batches = Batches([(part[None], None) for part in np.array_split(values, 3)])
    found = find_range(batches, range_events(epsilon), relation, SeededSource(seed), lambda _: None)
    return found.low, found.high


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-8, 8), (1000, 1001), (-3e-7, -1e-7), (0, 1e9)])
def test_the_range_holds_the_values_and_not_much_more(low, high):
    generator = np.random.default_rng(0)
    values = generator.uniform(low, high, 20_000)
    for seed in range(5):
        found = search(values, 0.2, seed=seed)
        inside = np.mean((values >= found[0]) & (values <= found[1]))
        assert inside > 0.9
        assert found[1] - found[0] < 4 * max(high - low, max(abs(low), abs(high)) / 20)


def test_a_few_values_far_outside_do_not_widen_the_range():
    values = np.append(np.random.default_rng(0).random(20_000), np.full(20, 1e30))
    assert search(values, 0.5)[1] < 2


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        pytest.param(name, epsilon, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, name in enumerate([*COLUMNS, "empty", "infinite"])
        for j, epsilon in enumerate([1e-3, 10.0])
    ],
)
def test_every_column_has_a_range_with_room_for_a_grid(name, epsilon):
    special = {"empty": np.empty(0), "infinite": np.repeat([1.7976931348623157e308, -np.inf], 500)}
    values = special[name] if name in special else column(name, 1000)
    for seed in range(2):
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

    monkeypatch.setattr(node_counts, "laplace_release", exact)
    many = np.random.default_rng(0).random(5000)
    for values in (many, np.append(many[1:], 1e9) if distance == 2 else many[1:]):
        search(values, 0.5, relation)
    for (first, sensitivity, _), (second, _, _) in zip(seen[:2], seen[2:], strict=True):
        assert np.abs(first - second).sum() == sensitivity == distance
    assert sum(epsilon for _, _, epsilon in seen[:2]) == pytest.approx(0.5)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_the_number_of_rows_is_roughly_found(share):
    rows = round(5000 * share)
    values = np.random.default_rng(0).normal(size=rows)
    for seed in range(5):
        events = range_events(0.1)
        found = find_range(
            Batches([(values[None], None)]),
            events,
            "add-remove",
            SeededSource(seed),
            lambda _: None,
        )
        assert 0.6 < found.rows / rows < 1.6


def test_few_rows_suffice_where_no_bin_stands_out():
    """All bins together show the range, although each is drowned by its noise."""
    values = 1 / (1 + np.exp(-np.random.default_rng(0).normal(size=3000)))
    near = 0
    for seed in range(20):
        low, high = search(values, 0.01, seed=seed)
        near += -1.0 <= low <= 0.5 <= high <= 4.0
    assert near >= 17


@pytest.mark.parametrize("seeds", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_no_range_is_wide_by_a_rare_draw_of_the_noise(seeds):
    """Laplace noise of one bin is often further off than normal noise ever is."""
    values = np.random.default_rng(1).random(3000)
    wide = [np.ptp(search(values, 0.05, seed=seed)) > 3.0 for seed in range(seeds)]
    assert sum(wide) == 0


@pytest.mark.parametrize("laplace", [False, True])
def test_values_are_found_only_where_they_stand_out_from_the_noise(laplace):
    generator, noise = np.random.default_rng(0), BinNoise(10.0, laplace)
    draw = partial(generator.laplace, 0.0, 10.0 / 2**0.5) if laplace else generator.normal
    values = generator.normal(50.0, 10.0, (1, 400))
    for rows, least, most in ((0, 0.0, 0.05), (30, 0.0, 0.1), (400, 1.0, 1.0)):
        exact = magnitude_counts(values[:, :rows])[0]
        drawn = (exact + draw(size=exact.size) * (1.0 if laplace else 10.0) for _ in range(40))
        share = np.mean([first_look(counts, noise).found for counts in drawn])
        assert least <= share <= most
