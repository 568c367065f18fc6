"""The clip of a column's sums, chosen from a noisy histogram of distances from its centre.

The proof is ``tabulation.md``.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from nolook._arrays import Vector
from nolook.algorithms.histogram_noise import BinNoise

__all__ = ["HALVES", "LARGEST", "Clip", "chosen_clip"]

# Edges of the distances from the centre, in scales: half octaves. The clip of a column of which
# nothing stands out is 4 scales, and that of any column at least 2.
HALVES = np.arange(-10.0, 30.0, 0.5)
LARGEST = 2.0**1000
_USUAL, _LEAST = 24, 22
_NORMAL_KURTOSIS = 3.0
_LONGEST = 6  # bins that are looked at together: three octaves
# Of two neighbouring bins that noise hides; bins after the last one shown, two octaves.
_HIDDEN_RATIO, _NEAR = 0.42, 3
# By which the largest plausible excess is divided where it is weighed against noise.
_CAUTION = 3.0
_SURE = 5.0  # deviations of its noise by which a bin must stand out: a false one is far away

#: As of :func:`chosen_clip`.
Clip: TypeAlias = tuple[float, float, float]


def chosen_clip(counts: Vector, edges: Vector, noise: BinNoise, error: float) -> Clip:
    """Choose the clip at which noise and what is clipped balance: an edge or middle of a bin.

    Parameters
    ----------
    counts : ndarray
        Noisy counts of distances up to each edge, and beyond the last one.
    edges : ndarray
    noise : BinNoise
    error : float
        Standard deviation of the noise of a sum, in clips.

    Returns
    -------
    clip, clipped, kurtosis : float
        `clipped` is how far clipping moves the mean of all rows, as far as the counts tell;
        infinite if values stand out beyond the last edge. The kurtosis is that of clipped values,
        3 (as of normal ones) where the counts tell nothing.
    """
    # Every short run of bins may stand out where none of them does.
    first, end = np.triu_indices(counts.size)
    first, end = first[end - first < _LONGEST], end[end - first < _LONGEST]
    sums = np.append(0.0, np.cumsum(counts))
    surely = noise.surely(np.arange(counts.size) + 1, _SURE)
    shown = sums[end + 1] - sums[first] > surely[end - first]
    if not shown.any():
        return float(edges[_USUAL]), 0.0, _NORMAL_KURTOSIS
    farthest = first[shown].max()
    last = int(end[shown & (first == farthest)].min())
    if last == edges.size:
        return float(edges[-1]), math.inf, _NORMAL_KURTOSIS
    held = counts[:-1].clip(0.0)
    held[last + 1 :] = _hidden(held[: last + 1], counts[last + 1 : -1], noise.deviation)
    # A clip may be in the middle of a bin, each half of which then holds as much.
    held = np.repeat(held / 2.0, 2)
    inner = np.sqrt(np.append(edges[0] / 2.0, edges[:-1])) * np.sqrt(edges)
    edges = np.column_stack([inner, edges]).ravel()
    # Of what lies in the bins beyond each edge: how much, and how far beyond it.
    middles = (edges + np.append(0.0, edges[:-1])) / 2.0
    mass = np.append(np.cumsum(held[:0:-1])[::-1], 0.0)
    excess = np.append(np.cumsum((held * middles)[:0:-1])[::-1], 0.0) - mass * edges
    least = 2 * _LEAST + 1
    best = least + int(np.argmin(np.hypot(error * edges, excess / _CAUTION)[least:]))
    far = np.minimum(middles / edges[best], 1.0)
    squares, fourths = (float(held @ far**power) / held.sum() for power in (2, 4))
    return float(edges[best]), float(excess[best] / held.sum()), fourths / squares**2


def _hidden(shown: Vector, counts: Vector, deviation: float) -> Vector:
    """Return the largest plausible counts of the bins beyond the last one shown.

    Each a share of the one before or, near the last one shown, its noisy count, and no more than a
    deviation above that.
    """
    found, held = [], max(float(shown[-1]), deviation)
    for place, count in enumerate(counts.clip(0.0).tolist()):
        likely = max(_HIDDEN_RATIO * held, count if place < _NEAR else 0.0)
        held = min(likely, count + deviation)
        found.append(held)
    return np.array(found)
