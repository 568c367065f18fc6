from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import nolook
from nolook.algorithms import roc, roc_curve
from nolook.algorithms.roc import release_roc, roc_plan
from nolook.algorithms.roc_curve import RocCurve, area
from nolook.errors import ParameterError
from nolook.privacy.mechanisms.binary_tree import tree_sensitivity
from nolook.privacy.noise import SeededSource

POINTS = np.array([0.5, 1.0])
ROWS = list(itertools.product([0.25, 0.75], [False, True]))


def rows_of(rows):
    scores = np.array([score for score, _ in rows])
    positives = np.array([positive for _, positive in rows], dtype=bool)
    return lambda: [(scores, positives)]


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.3, 7.0])
def test_the_events_add_up_to_the_budget(epsilon, relation, search):
    plan = roc_plan(epsilon, relation, search=search)
    spent = sum(event.epsilon for event in plan.events())
    assert epsilon * (1 - 1e-9) < spent <= epsilon


def test_a_budget_too_small_for_any_noise_is_refused():
    with pytest.raises(ParameterError, match="expected a larger one"):
        roc_plan(1e-10, "add-remove", search=False)


def tree_distribution(cells, epsilon, relation):
    """Probabilities of two noisy cumulative counts: a root and two leaves, each with noise."""
    scale = tree_sensitivity(1, relation) / epsilon
    noise = np.arange(-60, 61)
    weight = np.exp(-np.abs(noise) / scale)
    weight /= weight.sum()
    window = np.arange(-8, 9)
    first, second = np.cumsum(cells)

    def leaf(count):
        places = window[:, np.newaxis] - count - noise
        return np.where(np.abs(places) <= 60, weight[places.clip(-60, 60) + 60], 0.0)

    return np.einsum("ir,jr,r->ij", leaf(first), leaf(second), weight)


def losses(monkeypatch, rows, plan):
    """Return the log probabilities of every outcome of each independent release."""
    found = []

    def tree(cells, epsilon, relation, source):
        found.append(np.log(tree_distribution(cells, epsilon, relation)))
        return np.cumsum(cells)

    def laplace(values, sensitivity, epsilon, source):
        window = np.arange(-8, 9)
        found.extend(-np.abs(window - value) * epsilon / sensitivity for value in values)
        return values

    monkeypatch.setattr(roc, "tree_laplace", tree)
    monkeypatch.setattr(roc, "laplace_release", laplace)
    release_roc(rows_of(rows), POINTS, plan, None, SeededSource(0))
    return found


def neighbours(relation):
    tables = [
        table for size in range(3) for table in itertools.combinations_with_replacement(ROWS, size)
    ]
    for first, second in itertools.product(tables, tables):
        removed = (Counter(first) - Counter(second)).total()
        added = (Counter(second) - Counter(first)).total()
        if (removed, added) == ((1, 1) if relation == "replace" else (1, 0)):
            yield first, second


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_exact_loss_keeps_the_budget_on_all_small_neighbours(monkeypatch, relation):
    """Losses of both classes add up; under add-remove one of them is always zero."""
    plan = roc_plan(1.5, relation, search=False)
    worst = 0.0
    for first, second in neighbours(relation):
        parts = zip(*(losses(monkeypatch, one, plan) for one in (first, second)), strict=True)
        worst = max(worst, sum(np.abs(p - q).max() for p, q in parts))
    # More than the budget was not promised, and less than nearly all of it would waste it.
    assert 0.99 * 1.5 < worst <= 1.5 * (1 + 1e-6)


def test_without_noise_the_curve_is_exact():
    generator = np.random.default_rng(0)
    scores = generator.random(500)
    positives = generator.random(500) < scores
    points = np.linspace(0.01, 1, 100)
    plan = roc_plan(1e5, "add-remove", search=False)
    curve = RocCurve(
        *release_roc(lambda: [(scores, positives)], points, plan, "l2", SeededSource(0))
    )
    fpr, tpr = curve.rates
    np.testing.assert_allclose(
        [np.mean(scores[positives] > t) for t in curve.thresholds[1:-1]], tpr[1:-1], atol=1e-9
    )
    np.testing.assert_allclose(
        [np.mean(scores[~positives] > t) for t in curve.thresholds[1:-1]], fpr[1:-1], atol=1e-9
    )


@pytest.mark.parametrize(
    ("relation", "runs"),
    [pytest.param("add-remove", 300, marks=pytest.mark.slow), ("replace", 150)],
)
def test_the_interval_covers_the_area_under_the_exact_curve(monkeypatch, relation, runs):
    monkeypatch.setattr(roc_curve, "_MOST_REPEATS", 60)  # to save time
    generator = np.random.default_rng(0)
    positives = generator.random(4000) < 0.3
    scores = 1 / (1 + np.exp(-generator.normal(size=4000) - positives))
    grid = nolook.LinearGrid(1 / 32, 1, 1 / 32)
    tied = np.ceil(scores * 32)
    above = np.sign(tied[positives][:, np.newaxis] - tied[~positives])
    exact = (above.mean() + 1) / 2
    covered = 0
    for seed in range(runs):
        curve = nolook.ROCCurve(0.4, grid, relation=relation, random_state=seed)
        low, high = curve.fit(scores, positives).auc_interval_
        covered += low <= exact <= high
    assert 0.90 <= covered / runs <= 0.99


def test_pairs_in_a_cell_count_half():
    fpr, tpr = np.array([0, 0.25, 1.0]), np.array([0, 0.5, 1.0])
    assert area(fpr, tpr) == pytest.approx(0.5 * 0.25 / 2 + 0.75 * 0.75)
