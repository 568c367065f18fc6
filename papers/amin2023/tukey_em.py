"""The Tukey mechanism as published: for reproduction only, it is NOT private for rows.

Its proof treats neighbouring sets of models as differing by a model added or removed. A row
changes a model into another one, so depths may rise in one place and fall in another, and
the weights, twice as steep as those of `privacy.mechanisms.tukey_depth`, differ by up to twice the
epsilon claimed. Papers: Amin et al. 2023 (Algorithms 1 and 2, Lemma 3.6); Dick et al. 2023 (Lemma
9.5). Models and volumes are those of the grid, so no model needs to be perturbed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.mechanisms.tukey_depth import (
    compute_volumes,
    restricted_tukey,
    sorted_columns,
)
from nolook.privacy.noise import ByteSource, discrete_laplace

__all__ = [
    "LEMMAS",
    "Lemma",
    "published_depth",
    "published_distance",
    "published_threshold",
    "published_tukey",
]

#: Which lemma bounds the distance to an unsafe set: 3.6 of Amin et al. or 9.5 of Dick et al.
Lemma = Literal["2022", "2023"]
LEMMAS = ("2022", "2023")


def published_depth(models: int) -> int:
    """Return t: a quarter of the number of models, at least 1."""
    return max(1, models // 4)


def published_threshold(epsilon: float, delta: float) -> float:
    """Return what distance plus noise must reach (Amin et al., Algorithm 1, line 3)."""
    return math.log(1 / (2 * delta)) / epsilon


def published_distance(
    volumes: list[int], depth: int, epsilon: float, delta: float, lemma: Lemma
) -> int:
    """Return the distance to unsafety of Lemma 3.6 (2022) or Lemma 9.5 (2023).

    Parameters
    ----------
    volumes : list of int
    depth : int
    epsilon, delta : float
        Of the whole test; the lemma is used with delta / (8 exp(epsilon)).
    lemma : {"2022", "2023"}

    Returns
    -------
    int
    """
    allowed = math.log(delta / 8) - epsilon
    logs = np.array([math.log(volume) for volume in volumes])
    top = len(logs)
    depths = np.arange(1, top + 1)
    inner = np.append(logs[1:], -np.inf)
    with np.errstate(divide="ignore"):
        weights = logs + np.log1p(-np.exp(inner - logs)) + epsilon * depths
    weights_from = np.logaddexp.accumulate(weights[::-1])[::-1]
    for k in range(depth - 2, -1, -1):
        if lemma == "2022":
            gains = np.arange(1, top - depth - k)  # g > 0 with t + k + g + 1 <= top
            if gains.size == 0:
                continue
            least = np.min(logs[depth - k - 2] - logs[depth + k + gains] - epsilon * gains / 2)
        else:
            if depth + k - 1 > top:
                continue
            exponent = epsilon * (depth + k + 1)
            least = logs[depth - k - 2] - weights_from[depth + k - 2] + exponent
        if least <= allowed:
            return k
    return -1


def published_tukey(
    models: NDArray[np.int64], epsilon: float, delta: float, lemma: Lemma, source: ByteSource
) -> NDArray[np.int64] | None:
    """Run TukeyEM (Amin et al., Algorithm 2): half of epsilon for the test, half for the point.

    Parameters
    ----------
    models : ndarray of int64, shape (m, d)
    epsilon, delta : float
        What the paper claims for the whole; it does not hold for rows.
    lemma : {"2022", "2023"}
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (d,), or None
        None if the test failed.
    """
    half = epsilon / 2
    columns = sorted_columns(models)
    volumes = compute_volumes(columns)
    depth = published_depth(len(models))
    distance = published_distance(volumes, depth, half, delta, lemma)
    noisy = distance + int(discrete_laplace(1 / half, 1, source)[0])
    if noisy < published_threshold(half, delta):
        return None
    point = restricted_tukey(columns, volumes, depth, Fraction(half), source)
    return np.array(point, dtype=np.int64)
