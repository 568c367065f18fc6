from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from nolook.algorithms import evaluation, hosmer_lemeshow, node_counts, range_search
from nolook.algorithms.evaluation import scores_release
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays

ROWS = list(itertools.product([-3.0, 0.0, 0.5, 1.0], [False, True]))


def scored(scores, positive):
    return table_from_arrays(scores[:, np.newaxis], positive)


def table(rows):
    return scored(np.array([s for s, _ in rows], float), np.array([p for _, p in rows], bool))


def quiet(_):
    pass


@pytest.mark.parametrize("groups", [None, 1, 10])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.3, 7.0])
def test_the_events_add_up_to_the_budget(epsilon, groups):
    release = scores_release(epsilon, groups=groups, bounds=(0.0, 1.0))
    spent = sum(event.epsilon for event in release.events())
    assert epsilon * (1 - 1e-9) < spent <= epsilon
    assert len(release.events()) == release.progress_steps == 3 + (groups is not None)


def once(function):
    """Remember the first answer: the same noisy counts always get it, and it takes long."""
    found = []

    def call(*given):
        if not found:
            found.append(function(*given))
        return found[0]

    return call


def drawn(monkeypatch, rows, release):
    """Return what a release adds noise to, with its scales; every table gets the same answers."""
    seen = []

    def laplace(values, sensitivity, epsilon, source):
        scale = Fraction(float(sensitivity)) / Fraction(epsilon)
        seen.extend((int(value), scale) for value in values.ravel().tolist())
        return np.zeros_like(values)

    for module in (node_counts, hosmer_lemeshow):
        monkeypatch.setattr(module, "laplace_release", laplace)
    release.run(table(rows), SeededSource(0), quiet)
    return seen


@pytest.mark.parametrize("groups", [pytest.param(None, marks=pytest.mark.slow), 4])
def test_the_exact_loss_keeps_the_budget_on_all_small_neighbours(monkeypatch, groups):
    """Of independent discrete Laplace noise it is the L1 distance over the scale, exactly."""
    release = scores_release(1.5, groups=groups, bounds=(0.0, 1.0))
    for name in ("_most_plausible", "read_linear"):
        monkeypatch.setattr(range_search, name, once(getattr(range_search, name)))
    worst = Fraction(0)
    for size in range(2):
        for rows in itertools.combinations_with_replacement(ROWS, size):
            one = drawn(monkeypatch, rows, release)
            for row in ROWS:
                other = drawn(monkeypatch, (*rows, row), release)
                assert [scale for _, scale in one] == [scale for _, scale in other]
                pairs = zip(one, other, strict=True)
                worst = max(worst, sum(abs(a - b) / scale for (a, scale), (b, _) in pairs))
    # More than the budget was not promised, and less than nearly all of it would waste it.
    assert 0.999 * 1.5 < worst <= 1.5


def test_groups_lie_between_quantiles_that_the_counts_tell():
    generator = np.random.default_rng(0)
    scores = generator.beta(1.0, 9.0, 20_000)
    rows = scored(scores, generator.random(20_000) < scores)
    judged = scores_release(1e4, groups=10).run(rows, SeededSource(0), quiet)
    counts = np.histogram(scores, judged.table.borders)[0]
    np.testing.assert_allclose(counts, 2000, atol=60)
    np.testing.assert_allclose(judged.table.counts, counts, atol=2)
    assert judged.counted.value == pytest.approx(20_000, abs=1)
    # Not all borders could be those of a grid of 1024ths.
    assert (judged.table.borders * 1024 % 1 != 0).any()


@pytest.mark.parametrize(
    ("found", "bounds", "used", "rows"),
    [
        ((-5e5, 1e4), (0.0, 1.0), (0.0, 1.0), 2000.0),
        ((0.2, 1.3), (0.0, 1.0), (0.2, 1.0), 2000.0),
        ((0.2, 1.3), (0.0, 1.0), (0.0, 1.0), 1000.0),
        ((3.0, 9.0), (0.0, 1.0), (0.0, 1.0), 2000.0),
        ((1 - 1e-14, 9.0), (0.0, 1.0), (0.0, 1.0), 2000.0),
        ((-7.0, 9.0), (-np.inf, np.inf), (-7.0, 9.0), 10.0),
        ((-7.0, 9.0), (2.0, 2.0), (-7.0, 9.0), 10.0),
        ((-7.0, 9.0), (np.nan, np.nan), (-7.0, 9.0), 2000.0),
        ((-1.0, 1e-320), (0.0, 1.0), (0.0, 1.0), 2000.0),
        ((-7.0, 9.0), (0.0, 5e-324), (-7.0, 9.0), 10.0),
        ((0.0, 2.0**-1006), (-np.inf, np.inf), (0.0, 2.0**-1006), 2000.0),
    ],
)
def test_a_grid_lies_within_bounds_that_leave_one(found, bounds, used, rows, monkeypatch):
    range_ = range_search.FoundRange(*found, rows, 0.5, 1.0, 0.0)
    monkeypatch.setattr(evaluation, "find_range", lambda *_: range_)
    release = scores_release(0.5, bounds=bounds)
    grid = evaluation.search_grid(table([]), release, SeededSource(0), quiet)
    assert (grid.low, grid.high) == used
    assert len(grid.points()) == 32


def test_the_number_of_rows_has_the_stated_error(monkeypatch):
    found = range_search.FoundRange(0.0, 1.0, 1000.0, 0.5, 1.0, 0.0)
    monkeypatch.setattr(evaluation, "find_range", lambda *_: found)
    rows = scored(np.linspace(0, 1, 1000), np.arange(1000) % 3 == 0)
    found = [
        release.run(rows, SeededSource(seed), quiet).counted
        for release in (
            scores_release(0.5, bounds=(0.0, 1.0)),
            scores_release(0.5, groups=3, bounds=(0.0, 1.0)),
        )
        for seed in range(90)
    ]
    off = [(each.value - 1000) / each.error for each in found]
    assert 0.8 < np.std(off) < 1.2
