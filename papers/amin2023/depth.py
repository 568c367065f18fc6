"""Exact and approximate Tukey depth of points in the plane (the paper's figure 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["POINTS", "approximate_depth", "exact_depth"]

Vector = NDArray[np.float64]

#: Those of figure 3.
POINTS = np.array([(1, 1), (7, 3), (5, 7), (3, 3), (5, 5), (6, 3)], dtype=np.float64)


def approximate_depth(points: Vector, place: Vector) -> int:
    """Return the least number of points in any half-plane along an axis that holds a place."""
    beyond = [(points >= place).sum(axis=0), (points <= place).sum(axis=0)]
    return int(np.min(beyond))


def exact_depth(points: Vector, place: Vector) -> int:
    """Return the least number of points in any half-plane that holds a place.

    The number changes only where the border passes a point: directions just beside those, and
    between them, are enough.
    """
    away = points - place
    here = int((~away.any(axis=1)).sum())
    away = away[away.any(axis=1)]
    borders = np.arctan2(away[:, 1], away[:, 0]) + np.pi / 2
    borders = np.unique(np.concatenate([borders, borders + np.pi]) % (2 * np.pi))
    if not len(borders):
        return here
    following = np.append(borders[1:], borders[0] + 2 * np.pi)
    angles = (borders + following) / 2  # with no point on the border
    ahead = away @ np.array([np.cos(angles), np.sin(angles)]) >= 0
    return here + int(ahead.sum(axis=0).min())
