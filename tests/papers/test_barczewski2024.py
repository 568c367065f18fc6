"""The paper's constants: noise of the scale it states, and errors it states for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.privacy.noise import SeededSource
from papers.barczewski2024 import (
    binary_tree,
    chi_squared,
    hosmer_lemeshow,
    node_variance,
    roc_rates,
    tree_counts,
)
from papers.barczewski2024.binary_tree import laplace_node_variance, tree_sensitivity

pytestmark = pytest.mark.papers


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_published_number_is_at_least_the_one_needed(relation):
    for levels in range(31):
        assert levels + 1 >= tree_sensitivity(levels, relation) >= 1
        assert node_variance(levels, 1.0) >= laplace_node_variance(levels, 1.0, relation)


@pytest.mark.parametrize("levels", [0, 1, 4, 10])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 7.0])
def test_the_scale_is_the_published_one(levels, epsilon, monkeypatch):
    scales = []

    def draw(scale, size, source):
        scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(binary_tree, "discrete_laplace", draw)
    tree_counts(np.ones(2**levels, dtype=np.int64), epsilon, SeededSource(0))
    assert scales == [pytest.approx((levels + 1) / epsilon, rel=1e-12)]
    # Private under replacement: no smaller than what epsilon needs.
    assert scales[0] >= tree_sensitivity(levels, "replace") / epsilon


@pytest.mark.parametrize(("levels", "epsilon"), [(3, 1.0), (6, 0.5), (8, 0.1)])
def test_the_published_error_formula_holds(levels, epsilon):
    published = 2.0 * (levels + 1) ** 3 / epsilon**2
    node = node_variance(levels, epsilon)
    # Discrete noise of scale s has variance 2 s^2 - 1/6 + O(1/s^2), continuous noise 2 s^2.
    assert (levels + 1) * node == pytest.approx(published - (levels + 1) / 6, rel=1e-4)
    source = SeededSource(44)
    cells = np.ones(2**levels, dtype=np.int64)
    noise = np.array([tree_counts(cells, epsilon, source) for _ in range(3_000)]) - cells.cumsum()
    of_runs = np.mean(noise.astype(float) ** 2, axis=1)
    spread = of_runs.std(ddof=1) / math.sqrt(len(of_runs))
    assert abs(of_runs.mean() - (levels + 1) * node) < 4.0 * spread
    assert 4.0 * spread < 0.1 * published


def scored(rows=20_000):
    generator = np.random.default_rng(0)
    scores = generator.random(rows)
    return scores, generator.random(rows) < scores


def test_with_hardly_any_noise_the_rates_are_the_exact_ones():
    scores, positive = scored()
    points = np.arange(1, 65) / 64
    rates = roc_rates(scores, positive, points, 1e6, SeededSource(0))
    for found, value in zip(rates, (False, True), strict=True):
        above = [np.mean(scores[positive == value] > point) for point in points[::-1]]
        np.testing.assert_allclose(found, [*above, 1.0], atol=1e-4)


@pytest.mark.parametrize("literal", [False, True])
def test_with_hardly_any_noise_the_statistic_is_the_exact_one(literal):
    scores, positive = scored()
    groups = 8  # so that the exact borders are near points of the grid
    found = hosmer_lemeshow(scores, positive, groups, 1e6, SeededSource(0), literal=literal)
    counts = np.cumsum(np.histogram(scores, np.arange(257) / 256)[0])
    place = np.searchsorted(counts, np.arange(1, groups) / groups * len(scores))
    group = np.searchsorted((place + 1) / 256, scores)
    O1, E1, n = (np.bincount(group, weights) for weights in (positive, scores, None))
    assert found == pytest.approx(chi_squared(O1, n - O1, E1, n - E1), rel=1e-3)
