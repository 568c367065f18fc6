"""The clip of a column's sums, chosen from a noisy histogram of distances from its centre.

The proof is ``tabulation.md``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.special import softmax

from nolook._arrays import Matrix, Vector
from nolook.algorithms._simulation import simulation_generator
from nolook.algorithms.histogram_noise import BinNoise

__all__ = ["HALVES", "LARGEST", "Clip", "chosen_clip"]

# Edges of the distances from the centre, in scales: half octaves. The clip of a column of which
# nothing stands out is 4 scales, and that of any column at least 2.
HALVES = np.arange(-10.0, 30.0, 0.5)
LARGEST = 2.0**1000
_USUAL, _LEAST = 24, 45  # the latter in half bins
_NORMAL_KURTOSIS = 3.0
# Where most values of a column are alike, by this share more than others, and hardly another is
# seen, by this share of what is, the others may be anywhere.
_ALIKE, _ALONE = 0.35, 0.5
_LONGEST = 6  # bins that are looked at together: three octaves
# Paths that counts may follow beyond the last bin shown, and bins of each: the first is any share
# of it, since a column with one tail has a peak where its lower end is; from there counts fall to a
# share of up to the most, which falls by a factor of at least that, times chance (a logarithm).
_PATHS, _HIDDEN, _MOST, _STEADY, _CHANCE = 2048, 20, 0.85, 0.85, 0.25
# Of what clipping may move, weighed against the noise of all rows: that of groups is larger.
_WEIGHT = 0.36
# How surely clipping moves a mean, takes from a mean square, and moves a row by no more than is
# said; a mean over all paths would be that of the few with the longest tails.
_SURELY, _DEVIATIONS = [0.95, 0.85, 0.5], 1.96  # of a normal number, as surely as the first
_SURE = 5.0  # deviations of its noise by which a bin must stand out: a false one is far away

#: As of :func:`chosen_clip`.
Clip: TypeAlias = tuple[float, float, float, float, float]


def chosen_clip(counts: Vector, edges: Vector, alike: float, noise: BinNoise, error: float) -> Clip:
    """Choose the clip at which noise and what is clipped balance: an edge or middle of a bin.

    Parameters
    ----------
    counts : ndarray
        Noisy counts of distances up to each edge, and beyond the last one.
    edges : ndarray
    alike : float
        By which share of the rows the fullest of equal bins exceeds all others.
    noise : BinNoise
    error : float
        Standard deviation of the noise of a sum, in clips.

    Returns
    -------
    clip, clipped, squared, beyond, kurtosis : float
        `clipped` is how far clipping may move the mean of all rows with probability .95, over 1.96:
        as a standard deviation. `squared` is what it takes from the mean square, at most, in
        squares of the clip, and `beyond` the mean square of how far it moves a row, in clips. Where
        no value stands out they are 0, infinite and 0; where values do beyond the last edge, or
        those that are alike are all that do, infinite, infinite and 0. The kurtosis is that of
        clipped values, 3 (as of normal ones) where the counts tell nothing.
    """
    last = noise.farthest(counts, _SURE, _LONGEST)
    if last is None:
        return float(edges[_USUAL]), 0.0, np.inf, 0.0, _NORMAL_KURTOSIS
    atom, near = alike > _ALIKE, counts[: last + 1].clip(0.0)
    if last == edges.size or (atom and near[-1] > _ALONE * near.sum()):
        return float(edges[_USUAL]), np.inf, np.inf, 0.0, _NORMAL_KURTOSIS
    held = np.tile(counts[:-1].clip(0.0), (_PATHS, 1))
    held[:, last + 1 :] = 0.0
    paths, chances = _hidden(held[0, last], counts[last + 1 : -1][:_HIDDEN], noise)
    held[:, last + 1 : last + 1 + paths.shape[1]] = paths
    # A clip may be in the middle of a bin, each half of which then holds as much.
    held = np.repeat(held / 2.0, 2, axis=1)
    ends = np.exp2(np.arange(1.0, 2 * HALVES.size + 1.0) / 4.0 + HALVES[0] - 0.5)
    middles = (ends + np.append(0.0, ends[:-1])) / 2.0
    # By how much all values beyond each end exceed it, and their squares its own, in these.
    first, second = (_beyond(held * middles**n) / ends**n - _beyond(held) for n in (1, 2))
    excess = np.array([first, second, second - 2.0 * first])[..., _LEAST:]
    sure = np.quantile(excess, _SURELY, axis=1, weights=chances, method="inverted_cdf")
    sizes = np.einsum("iie->ie", sure)
    best = _LEAST + int(np.argmin(ends[_LEAST:] * np.hypot(error, _WEIGHT * sizes[0])))
    clip = float(edges[best // 2]) * (1.0 if best % 2 else 2.0**-0.25)
    likely, far = chances @ held, np.minimum(middles / ends[best], 1.0)
    moved, taken, beyond = (sizes[:, best - _LEAST] / (rows := likely.sum())).tolist()
    kurtosis = rows * (likely @ far**4) / (likely @ far**2) ** 2
    return clip, clip * moved / _DEVIATIONS, taken, beyond, float(kurtosis)


def _beyond(parts: Matrix) -> Matrix:
    """Return the sums of what is after each place."""
    return np.cumsum(parts[:, ::-1], axis=1)[:, ::-1] - parts


def _hidden(shown: float, counts: Vector, noise: BinNoise) -> tuple[Matrix, Vector]:
    """Return paths of the counts beyond the last bin shown, and how likely each is."""
    draws = simulation_generator().random((_PATHS, 3 + counts.size))
    shares = _MOST * draws[:, 1:2] * _STEADY ** (draws[:, 2:3] * np.arange(counts.size))
    shares *= np.exp(_CHANCE * (2.0 * draws[:, 3:] - 1.0))
    shares[:, :1] = draws[:, :1]
    paths = np.asarray(max(shown, noise.deviation) * np.cumprod(shares, axis=1))
    variances = noise.deviation**2 + paths
    squares = (counts - paths) ** 2 / variances
    fits = -np.sqrt(2.0 * squares) if noise.laplace else -0.5 * squares
    return paths, softmax((fits - 0.5 * np.log(variances)).sum(axis=1))
