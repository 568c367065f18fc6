"""Exact laws of outputs, straight from the definitions: slow and plain, and without the samplers.

A law is an array of chances that add up to 1. Two laws give the exact privacy loss of a pair of
tables, and draws can be tested against a law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, ndtr, ndtri

from nolook._arrays import Integers, Vector

__all__ = [
    "all_points",
    "canonical_law",
    "draws_of_a_group",
    "exact_delta",
    "exact_epsilon",
    "exact_mu",
    "exponential_law",
    "fit_chance",
    "flip_law",
    "gaussian_law",
    "laplace_law",
    "log_ratios",
    "loss_of_subset",
    "passing_chance",
    "peeling_law",
    "point_law",
    "race_law",
    "tukey_depths",
]

Scores = Sequence[float] | NDArray[np.int64] | Vector

_STEPS = 200  # of a bisection: more than doubles can tell apart
_LEAST_EXPECTED = 5.0  # draws in a cell of a chi-square test


def exact_delta(first: Vector, second: Vector, epsilon: float) -> float:
    """Return the smallest delta at which two laws are close at an epsilon, both ways."""
    factor = math.exp(epsilon)
    there = np.maximum(first - factor * second, 0.0).sum()
    back = np.maximum(second - factor * first, 0.0).sum()
    return float(max(there, back))


def exact_epsilon(first: Vector, second: Vector, delta: float = 0.0) -> float:
    """Return the smallest epsilon, or infinity, at which two laws are close at a delta."""
    if delta == 0.0:
        seen = (first > 0) | (second > 0)
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(first[seen]) - np.log(second[seen])).max())
    low, high = 0.0, 700.0
    if exact_delta(first, second, high) > delta:
        return math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if exact_delta(first, second, middle) <= delta else (middle, high)
    return high


def exact_mu(first: Vector, second: Vector) -> float:
    """Return the smallest mu at which two laws are close (Gaussian DP), both ways.

    The events that tell most are those of outcomes likelier than some ratio (Neyman and Pearson).
    """
    order = np.argsort(log_ratios(first, second))
    shown = np.abs(_normal_places(first[order]) - _normal_places(second[order]))
    return float(np.nan_to_num(shown, nan=0.0, posinf=np.inf).max(initial=0.0))


def log_ratios(first: Vector, second: Vector) -> Vector:
    """Return the log-likelihood ratio of each outcome, the best possible score."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.log(first) - np.log(second), nan=0.0))


def _normal_places(law: Vector) -> Vector:
    """Return the normal quantiles at the cumulative chances of the first outcomes."""
    below, above = np.cumsum(law)[:-1], np.cumsum(law[::-1])[::-1][1:]
    return np.asarray(np.where(below < 0.5, ndtri(below), -ndtri(above)))


def fit_chance(outcomes: Integers, law: Vector) -> float:
    """Return the chance that draws from a law fit it worse than these, its indices (chi-square)."""
    observed = np.bincount(outcomes, minlength=len(law)).astype(np.float64)
    expected = law * len(outcomes)
    rare = expected < _LEAST_EXPECTED
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < _LEAST_EXPECTED:  # all rare ones together are still too few
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    statistic = np.sum((observed - expected) ** 2 / expected)
    return float(gammaincc((len(expected) - 1) / 2, statistic / 2))


def laplace_law(scale: float, center: int, limit: int) -> Vector:
    """Return the law of a centre plus discrete Laplace noise, clipped to -limit..limit.

    The centre lies between the limits.
    """
    ratio = math.exp(-1.0 / scale)
    distance = np.abs(np.arange(-limit, limit + 1) - center)
    law: Vector = (1 - ratio) / (1 + ratio) * ratio**distance
    law[[0, -1]] = ratio ** distance[[0, -1]] / (1 + ratio)
    return law


def gaussian_law(sigma: float, center: int, limit: int) -> Vector:
    """Return the law of a centre plus rounded Gaussian noise, clipped to -limit..limit."""
    borders = np.arange(-limit, limit) + 0.5 - center
    low, high = np.append(-np.inf, borders) / sigma, np.append(borders, np.inf) / sigma
    # The smaller ones of two tails lose no digits.
    return np.asarray(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def exponential_law(scores: Integers | Vector, sensitivity: float, epsilon: float) -> Vector:
    """Return the law of the exponential mechanism over the scores' indices."""
    weights = np.exp(epsilon / (2 * sensitivity) * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


def flip_law(scores: Integers | Vector, sensitivity: float, epsilon: float) -> Vector:
    """Return the law of permute-and-flip over the scores' indices.

    It is that of the largest score with exponential noise.
    """
    return race_law(epsilon / (2 * sensitivity) * np.asarray(scores, dtype=np.float64))


def peeling_law(scores: Scores, k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return each ordered choice's chance under pure peeling; the scores' sensitivity is 1."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(k):
        longer: dict[tuple[int, ...], float] = {}
        for before, chance in law.items():
            left = [i for i in range(len(scores)) if i not in before]
            one = flip_law(np.array([scores[i] for i in left]), 1, epsilon / k)
            longer |= {(*before, i): chance * p for i, p in zip(left, one.tolist(), strict=True)}
        law = longer
    return law


def draws_of_a_group(weights: tuple[float, float], sizes: tuple[int, int], k: int) -> Vector:
    """Return the law of how many of the first group are among k drawn one after the other.

    Each member left of a group is drawn with a probability in proportion to the group's weight.
    """
    law = np.array([1.0])
    for drawn in range(k):
        first = np.arange(drawn + 1)
        heavy, light = weights[0] * (sizes[0] - first), weights[1] * (sizes[1] - (drawn - first))
        chance = heavy / (heavy + light)
        law = np.append(law * (1 - chance), 0.0) + np.append(0.0, law * chance)
    return law


def loss_of_subset(scores: Scores, subset: tuple[int, ...]) -> float:
    """Return half the distance from the best score missed to the worst one held, or 0."""
    held = [scores[i] for i in subset]
    missed = [score for i, score in enumerate(scores) if i not in subset]
    return max(0.0, float(max(missed) - min(held)) / 2)


def race_law(utilities: ArrayLike, sizes: ArrayLike | None = None) -> Vector:
    """Return each class's chance of the largest utility plus noise, the best of its members'.

    A class has `sizes` members, by default one. Written with p = exp(-noise), a class's best value
    is below a level with probability (1 - w p)^m, a polynomial: Gaussian quadrature is exact.
    """
    utilities = np.asarray(utilities, dtype=np.float64)
    sizes = np.ones(len(utilities), dtype=np.int64) if sizes is None else np.asarray(sizes)
    weights = np.exp(utilities - utilities.max())
    nodes, masses = np.polynomial.legendre.leggauss(int(sizes.sum()) // 2 + 2)
    p = (nodes + 1) / 2
    below = 1 - weights[:, None] * p
    everyone = np.prod(below ** sizes[:, None], axis=0)
    return np.asarray(sizes * weights * np.sum(everyone / below * masses / 2, axis=1))


def canonical_law(scores: Scores, k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return each subset's chance under the canonical Lipschitz mechanism; the sensitivity is 1.

    Subsets are increasing indices.
    """
    subsets = list(combinations(range(len(scores)), k))
    losses = np.array([loss_of_subset(scores, subset) for subset in subsets])
    return dict(zip(subsets, race_law(-epsilon / 2 * losses).tolist(), strict=True))


def all_points(low: int, high: int, d: int) -> Integers:
    """Return every point of {low..high}^d, shape (points, d)."""
    return np.array(list(product(range(low, high + 1), repeat=d)), dtype=np.int64)


def tukey_depths(models: Integers, grid: Integers) -> Integers:
    """Return the approximate Tukey depth of each grid point, truncated at half the models."""
    at_most = (models[None, :, :] <= grid[:, None, :]).sum(axis=1)
    at_least = (models[None, :, :] >= grid[:, None, :]).sum(axis=1)
    depths: Integers = np.minimum(at_most, at_least).min(axis=1)
    return np.minimum(depths, (len(models) + 1) // 2)


def point_law(models: Integers, grid: Integers, depth: int, rate: float) -> Vector:
    """Return the restricted exponential mechanism's law over grid points.

    Only points at least so deep have a chance; it grows by exp(rate) with each unit of depth.
    """
    deep = tukey_depths(models, grid)
    weights = np.where(deep >= min(depth, deep.max()), np.exp(rate * (deep - deep.max())), 0.0)
    return np.asarray(weights / weights.sum())


def passing_chance(distance: int, threshold: float, scale: float) -> float:
    """Return the chance that a distance plus discrete Laplace noise reaches a threshold."""
    ratio = math.exp(-1.0 / scale)
    missing = math.ceil(threshold) - distance
    if missing > 0:
        return float(ratio**missing / (1 + ratio))
    return 1.0 - float(ratio ** (1 - missing) / (1 + ratio))
