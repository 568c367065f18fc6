"""The Tukey mechanism's output distribution, straight from the definitions, on a small grid."""

from __future__ import annotations

import itertools
import math

import numpy as np

from nolook.privacy.mechanisms.propose_test_release import distance_scale


def depths(models, grid):
    """Approximate Tukey depth of each grid point, truncated; models (m, d), grid (points, d)."""
    at_most = (models[None, :, :] <= grid[:, None, :]).sum(axis=1)
    at_least = (models[None, :, :] >= grid[:, None, :]).sum(axis=1)
    return np.minimum(np.minimum(at_most, at_least).min(axis=1), (len(models) + 1) // 2)


def all_points(low, high, d):
    """Every point of {low..high}^d, shape (points, d)."""
    return np.array(list(itertools.product(range(low, high + 1), repeat=d)))


def point_probabilities(models, grid, depth, rate):
    """P(point) of the restricted exponential mechanism."""
    deep = depths(models, grid)
    weights = np.where(deep >= min(depth, deep.max()), np.exp(rate * (deep - deep.max())), 0.0)
    return weights / weights.sum()


def passing_probability(distance, threshold, epsilon):
    """P(distance + discrete Laplace noise >= threshold)."""
    ratio = math.exp(-1 / distance_scale(epsilon))
    missing = math.ceil(threshold) - distance
    if missing > 0:
        return ratio**missing / (1 + ratio)
    return 1 - ratio ** (1 - missing) / (1 + ratio)


def hockey_stick(first, second, epsilon):
    """Smallest delta at which `first` is within exp(epsilon) of `second`, both ways."""
    factor = math.exp(epsilon)
    return max(
        np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum()
    )
