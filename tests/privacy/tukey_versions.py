"""Versions of the Tukey mechanism, and neighbouring models: one replaced by any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nolook.audit.exact_laws import all_points, exact_delta, passing_chance, point_law
from nolook.privacy.mechanisms.propose_test_release import distance_scale, passing_threshold
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    distance_to_unsafety,
    sorted_columns,
)

# (d, largest coordinate, models): small enough to list every point of the grid.
SIZES = ((1, 60, 41), (1, 60, 60), (2, 9, 40), (2, 9, 57))
SHAPES = ("normal", "tight", "uniform", "two groups", "heavy tail", "far apart")


def models_of(shape, m, d, limit, generator):
    normal = generator.normal(size=(m, d))
    drawn = {
        "normal": normal * limit / 8,
        "tight": normal * limit / 60,
        "uniform": generator.uniform(-limit, limit, (m, d)),
        "two groups": normal + np.where(np.arange(m) % 2, limit / 2, -limit / 2)[:, None],
        "heavy tail": normal / generator.uniform(0.02, 1, (m, d)),
        "far apart": np.where(np.arange(m)[:, None] < m // 3, -limit, normal),
    }[shape]
    return np.clip(np.rint(drawn), -limit, limit).astype(np.int64)


def neighbours(models, limit, generator):
    """Yield sets with one model replaced: the ends and the middle, moved to either side."""
    order = models[:, 0].argsort()
    d = models.shape[1]
    goals = [
        np.full(d, limit),
        np.full(d, -limit),
        np.zeros(d),
        generator.integers(-limit, limit, d),
    ]
    for place in (order[0], order[-1], order[len(order) // 2], order[len(order) // 8]):
        for goal in goals:
            other = models.copy()
            other[place] = goal
            yield other


@dataclass(frozen=True, eq=False)
class Version:
    """One version of the mechanism: everything its output depends on, for m models."""

    distance: Callable
    threshold: Callable
    epsilon_test: float
    depth: Callable
    rate: float
    claimed: tuple  # epsilon and delta of the point drawn from safe models

    def distance_of(self, models):
        return self.distance(compute_volumes(sorted_columns(models)), len(models))

    def points(self, models, grid):
        return point_law(models, grid, self.depth(len(models)), self.rate)

    def output(self, models, grid):
        """Distribution over the grid's points and failure."""
        distance, threshold = self.distance_of(models), self.threshold()
        passed = passing_chance(distance, threshold, distance_scale(self.epsilon_test))
        return np.append(passed * self.points(models, grid), 1 - passed)


def version_for_rows(epsilon_test, epsilon_sample, delta):
    def rule(m):
        return TukeyRule(max(2, m // 8), epsilon_test, epsilon_sample, delta)

    return Version(
        distance=lambda volumes, m: distance_to_unsafety(volumes, rule(m)),
        threshold=lambda: passing_threshold(epsilon_test, delta),
        epsilon_test=epsilon_test,
        depth=lambda m: rule(m).depth,
        rate=epsilon_sample / 2,
        claimed=(epsilon_sample, delta),
    )


def pairs():
    """Neighbouring sets of models in one and two dimensions, and the grid they lie on."""
    generator = np.random.default_rng(7)
    for d, limit, m in SIZES:
        grid = all_points(-limit, limit, d)
        for shape in SHAPES:
            models = models_of(shape, m, d, limit, generator)
            for other in neighbours(models, limit, generator):
                yield models, other, grid


def unkept(version, dimension):
    """Whether each pair that one side calls safe differs by more than is claimed for it."""
    found = []
    for models, other, grid in pairs():
        if grid.shape[1] != dimension:
            continue
        if max(version.distance_of(models), version.distance_of(other)) < 0:
            continue
        epsilon, delta = version.claimed
        distance = exact_delta(version.points(models, grid), version.points(other, grid), epsilon)
        found.append(distance > delta * (1 + 1e-9))
    return np.array(found)
