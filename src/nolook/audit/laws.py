"""Exact laws of outputs, straight from the definitions: slow, plain, and nothing of the samplers.

A law is an array of chances that add up to 1. Two laws give the exact privacy loss of a pair of
tables, and draws can be held against them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc

__all__ = [
    "all_points",
    "canonical_law",
    "exact_delta",
    "exact_epsilon",
    "exponential_law",
    "fit_chance",
    "laplace_law",
    "loss_of_subset",
    "passing_chance",
    "peeling_law",
    "point_law",
    "race_law",
    "tree_law",
    "tukey_depths",
]

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = Sequence[float] | NDArray[np.int64] | Vector

_STEPS = 200  # of a bisection: more than doubles can tell apart
_REACH = 40  # of noise, in scales
_LEAST_EXPECTED = 5.0  # draws in a cell of a chi-square test


def exact_delta(first: Vector, second: Vector, epsilon: float) -> float:
    """Return the smallest delta at which two laws are within an epsilon, both ways.

    Parameters
    ----------
    first, second : ndarray of shape (outcomes,)
        Of the same outcomes.
    epsilon : float

    Returns
    -------
    float
    """
    factor = math.exp(epsilon)
    there = np.maximum(first - factor * second, 0.0).sum()
    back = np.maximum(second - factor * first, 0.0).sum()
    return float(max(there, back))


def exact_epsilon(first: Vector, second: Vector, delta: float = 0.0) -> float:
    """Return the smallest epsilon at which two laws are within a delta, both ways.

    Parameters
    ----------
    first, second : ndarray of shape (outcomes,)
        Of the same outcomes, above 0 each where delta is 0.
    delta : float, default=0.0

    Returns
    -------
    float
        Infinite where no epsilon will do.
    """
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


def fit_chance(outcomes: Integers, law: Vector) -> float:
    """Return the chance that draws from a law fit it worse than these (chi-square).

    Parameters
    ----------
    outcomes : ndarray of int64, shape (draws,)
        Indices into the law.
    law : ndarray of shape (outcomes,)

    Returns
    -------
    float
    """
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
    """Return the law of ``center`` plus discrete Laplace noise, clipped to -limit..limit.

    Parameters
    ----------
    scale : float
    center : int
        Between the limits.
    limit : int

    Returns
    -------
    ndarray of shape (2 limit + 1,)
    """
    ratio = math.exp(-1.0 / scale)
    distance = np.abs(np.arange(-limit, limit + 1) - center)
    law: Vector = (1 - ratio) / (1 + ratio) * ratio**distance
    law[[0, -1]] = ratio ** distance[[0, -1]] / (1 + ratio)
    return law


def exponential_law(scores: Integers | Vector, sensitivity: float, epsilon: float) -> Vector:
    """Return the law of the exponential mechanism over the scores' indices.

    Parameters
    ----------
    scores : ndarray of int64, shape (n,)
    sensitivity, epsilon : float

    Returns
    -------
    ndarray of shape (n,)
    """
    weights = np.exp(epsilon / (2 * sensitivity) * (scores - scores.max()))
    law: Vector = weights / weights.sum()
    return law


def peeling_law(scores: Scores, k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return the law of peeling over ordered choices, the sensitivity being 1.

    Parameters
    ----------
    scores : sequence of d numbers
    k : int
    epsilon : float

    Returns
    -------
    dict
        From the indices chosen, in order, to their chance.
    """
    weights = [math.exp(epsilon / k * float(score) / 2) for score in scores]
    law = {}
    for order in permutations(range(len(weights)), k):
        chance = 1.0
        for place, i in enumerate(order):
            left = math.fsum(weight for j, weight in enumerate(weights) if j not in order[:place])
            chance *= weights[i] / left
        law[order] = chance
    return law


def loss_of_subset(scores: Scores, subset: tuple[int, ...]) -> float:
    """Return half the distance from the best score missed to the worst one held, or 0."""
    held = [scores[i] for i in subset]
    missed = [score for i, score in enumerate(scores) if i not in subset]
    return max(0.0, float(max(missed) - min(held)) / 2)


def race_law(utilities: ArrayLike, sizes: ArrayLike | None = None) -> Vector:
    """Return each class's chance of the largest utility plus noise, the best of its members'.

    Written with p = exp(-noise), a class's best value is below a level with probability
    (1 - w p)^m, a polynomial: Gaussian quadrature integrates it without error.

    Parameters
    ----------
    utilities : array of shape (classes,)
    sizes : array of int, shape (classes,), optional
        How many members each has; by default one.

    Returns
    -------
    ndarray of shape (classes,)
    """
    utilities = np.asarray(utilities, dtype=np.float64)
    sizes = np.ones(len(utilities), dtype=np.int64) if sizes is None else np.asarray(sizes)
    weights = np.exp(utilities - utilities.max())
    nodes, masses = np.polynomial.legendre.leggauss(int(sizes.sum()) // 2 + 2)
    p = (nodes + 1) / 2
    below = 1 - weights[:, None] * p
    everyone = np.prod(below ** sizes[:, None], axis=0)
    law: Vector = sizes * weights * np.sum(everyone / below * masses / 2, axis=1)
    return law


def canonical_law(scores: Scores, k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return the canonical Lipschitz mechanism's law over subsets, the sensitivity being 1.

    Parameters
    ----------
    scores : sequence of d numbers
    k : int
    epsilon : float

    Returns
    -------
    dict
        From the indices chosen, increasing, to their chance.
    """
    subsets = list(combinations(range(len(scores)), k))
    losses = np.array([loss_of_subset(scores, subset) for subset in subsets])
    return dict(zip(subsets, race_law(-epsilon / 2 * losses).tolist(), strict=True))


def all_points(low: int, high: int, d: int) -> Integers:
    """Return every point of {low..high}^d, shape (points, d)."""
    return np.array(list(product(range(low, high + 1), repeat=d)), dtype=np.int64)


def tukey_depths(models: Integers, grid: Integers) -> Integers:
    """Return the approximate Tukey depth of each grid point, truncated at half the models.

    Parameters
    ----------
    models : ndarray of int64, shape (m, d)
    grid : ndarray of int64, shape (points, d)

    Returns
    -------
    ndarray of int64, shape (points,)
    """
    at_most = (models[None, :, :] <= grid[:, None, :]).sum(axis=1)
    at_least = (models[None, :, :] >= grid[:, None, :]).sum(axis=1)
    depths: Integers = np.minimum(at_most, at_least).min(axis=1)
    return np.minimum(depths, (len(models) + 1) // 2)


def point_law(models: Integers, grid: Integers, depth: int, rate: float) -> Vector:
    """Return the restricted exponential mechanism's law over grid points.

    Parameters
    ----------
    models : ndarray of int64, shape (m, d)
    grid : ndarray of int64, shape (points, d)
    depth : int
        Only points at least so deep have a chance.
    rate : float
        Exponent per unit of depth.

    Returns
    -------
    ndarray of shape (points,)
    """
    deep = tukey_depths(models, grid)
    weights = np.where(deep >= min(depth, deep.max()), np.exp(rate * (deep - deep.max())), 0.0)
    law: Vector = weights / weights.sum()
    return law


def passing_chance(distance: int, threshold: float, scale: float) -> float:
    """Return the chance that a distance plus discrete Laplace noise reaches a threshold."""
    ratio = math.exp(-1.0 / scale)
    missing = math.ceil(threshold) - distance
    if missing > 0:
        return float(ratio**missing / (1 + ratio))
    return 1.0 - float(ratio ** (1 - missing) / (1 + ratio))


def tree_law(cells: tuple[int, ...], scale: float, limit: int) -> Vector:
    """Return the law of a tree's noisy counts, each clipped.

    Parameters
    ----------
    cells : tuple of int
        Of length N, a power of 2.
    scale : float
        Of the noise of every node.
    limit : int
        Counts are clipped to -limit..limit.

    Returns
    -------
    ndarray of shape ((2 limit + 1)^N,)
        The first count is the slowest index.
    """
    return _subtree_law(tuple(np.cumsum(cells).tolist()), scale, limit)


@cache
def _subtree_law(counts: tuple[int, ...], scale: float, limit: int) -> Vector:
    """Return the law of noisy counts, without the noise of nodes above their own tree."""
    if len(counts) == 1:
        return _clipped_law(scale, counts[0], limit)
    half = len(counts) // 2
    # Of the root's noise all is summed over but a part that doubles cannot hold.
    reach = math.ceil(_REACH * scale)
    law = np.zeros((2 * limit + 1) ** len(counts))
    for root, chance in zip(range(-reach, reach + 1), laplace_law(scale, 0, reach), strict=True):
        moved = tuple(count + root for count in counts)
        left = _subtree_law(moved[:half], scale, limit)
        right = _subtree_law(moved[half:], scale, limit)
        law += chance * np.outer(left, right).ravel()
    return law


def _clipped_law(scale: float, center: int, limit: int) -> Vector:
    """Return :func:`laplace_law` for any centre."""
    far = limit + abs(center)
    whole = laplace_law(scale, center, far)
    cut = far - limit
    law = whole[cut : len(whole) - cut].copy()
    law[0] += whole[:cut].sum()
    law[-1] += whole[len(whole) - cut :].sum()
    return law
