"""Depths, volumes and distances of any set of models, one a row: exact, and not private."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.tukey import SAMPLE_SHARE, tukey_depth
from nolook.privacy.budgets import with_room
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    distance_to_unsafety,
    sorted_columns,
)
from papers.amin2023.tukey import RAW_GRID
from papers.amin2023.tukey_em import Lemma, published_depth, published_distance

__all__ = ["distances", "log_volumes", "mechanism_rule", "model_depths"]

Vector = NDArray[np.float64]


def model_depths(models: Vector, places: Vector | None = None) -> NDArray[np.int64]:
    """Return the approximate Tukey depth of places among models (Definition 2.5).

    Parameters
    ----------
    models : ndarray of shape (m, d)
    places : ndarray of shape (p, d), optional
        Default: the models themselves.

    Returns
    -------
    ndarray of int64, shape (p,)
    """
    places = models if places is None else np.atleast_2d(places)
    ordered = np.sort(models, axis=0)
    below = [np.searchsorted(o, p, side="right") for o, p in zip(ordered.T, places.T, strict=True)]
    left = [np.searchsorted(o, p, side="left") for o, p in zip(ordered.T, places.T, strict=True)]
    above = len(models) - np.array(left)
    depths: NDArray[np.int64] = np.minimum(below, above).min(axis=0)
    return depths


def log_volumes(models: Vector) -> Vector:
    """Return the logarithms of the volumes of depth at least 1, 2, ... (Lemma 3.3).

    Volumes are numbers of points of the grid of 2^-30.

    Returns
    -------
    ndarray of shape ((m + 1) // 2,)
    """
    volumes = compute_volumes(sorted_columns(RAW_GRID.round(models)))
    # Whole numbers may be too large for a float.
    return np.array([_log(volume) for volume in volumes])


def _log(volume: int) -> float:
    shift = max(volume.bit_length() - 64, 0)
    return float(np.log(float(volume >> shift)) + shift * np.log(2.0))


def distances(models: Vector, epsilon: float, delta: float) -> dict[str, int]:
    """Return the distance to unsafety of a set of models by each version; -1 if it is unsafe.

    Parameters
    ----------
    models : ndarray of shape (m, d)
    epsilon, delta : float
        Of the whole mechanism.

    Returns
    -------
    dict of str to int
        By "rows", "2022" (Lemma 3.6) and "2023" (Lemma 9.5).
    """
    volumes = compute_volumes(sorted_columns(RAW_GRID.round(models)))
    depth = published_depth(len(models))
    found = {"rows": distance_to_unsafety(volumes, mechanism_rule(len(models), epsilon, delta))}
    lemmas: tuple[Lemma, ...] = ("2022", "2023")
    for lemma in lemmas:
        found[lemma] = published_distance(volumes, depth, epsilon / 2, delta, lemma)
    return found


def mechanism_rule(models: int, epsilon: float, delta: float) -> TukeyRule:
    """Return the constants of the mechanism for rows, with nothing spent on a basis."""
    test = with_room((1.0 - SAMPLE_SHARE) * epsilon)
    return TukeyRule(tukey_depth(models), test, SAMPLE_SHARE * epsilon, delta)
