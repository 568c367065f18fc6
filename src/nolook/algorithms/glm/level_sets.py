"""Columns that are all levels of one category: effects as differences from the levels' mean.

Such columns add up to 1 in every row, so that only differences of their slopes are known. They are
recognised by their public names and by the released second moments: post-processing. Where each
slope gets less by the mean of all, and the intercept more, predictions stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nolook._arrays import Matrix

if TYPE_CHECKING:
    from nolook.algorithms.glm.frame import NoisyFrame

__all__ = ["level_sets", "named_alike", "turned"]

_DEVIATIONS = 3.0  # of noise, above which a mean square is not 0 ...
_SHARPEST = 0.05  # ... and which must be this small to tell: then hardly a row has another sum
_ROUNDING = 0.001


def named_alike(names: Sequence[str], fewest: int = 3) -> dict[str, list[str]]:
    """Group columns that are named as levels of one category are, such as cut_Fair, cut_Good.

    Examples
    --------
    >>> named_alike(["cut_Fair", "cut_Good", "cut_Ideal", "item_1", "item_2", "item_3", "x"])
    {'cut': ['cut_Fair', 'cut_Good', 'cut_Ideal']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        of, _, level = re.sub("[.:]", "_", name).rpartition("_")
        # Names with = are those of a declared category, whose first level is left out.
        if of and not level.isdecimal() and "=" not in name:
            found.setdefault(of, []).append(name)
    return {of: each for of, each in found.items() if len(each) >= fewest}


def level_sets(frame: NoisyFrame) -> tuple[tuple[int, ...], ...]:
    """Return sets of features, counted among those kept, that add up to 1 as far as noise shows."""
    names = [name for name, kept in zip(frame.scaling.names, frame.kept, strict=False) if kept]
    sets = named_alike(frame.scaling.names[:-1], 2).values()
    kept = (each for each in sets if {*names}.issuperset(each) and not any(frame.curves))
    placed = (tuple(names.index(name) for name in each) for each in kept)
    return tuple(each for each in placed if _adds_up(frame, each))


def _adds_up(frame: NoisyFrame, places: tuple[int, ...]) -> bool:
    """Tell whether some features add up to 1 in all rows, as far as noise shows."""
    center, scale = (one[:-1][frame.kept] for one in (frame.scaling.center, frame.scaling.scale))
    way = np.zeros(len(center) + 1)
    way[0] = center[[*places]].sum() - 1.0
    way[np.add(places, 1)] = scale[[*places]]
    along = frame.spread.back.T @ way
    noise = _DEVIATIONS * frame.gram_sigma * float(along @ along)
    square, rows = float(along @ frame.gram @ along), max(float(frame.gram[0, 0]), 1.0)
    return noise <= _SHARPEST * rows and abs(square) <= noise + _ROUNDING * rows


def turned(frame: NoisyFrame) -> Matrix:
    """Return the map of a model of (1, x), in scales, to the one with differences for each set."""
    center, scale = (one[:-1][frame.kept] for one in (frame.scaling.center, frame.scaling.scale))
    mapped = np.eye(len(center) + 1)
    for each in level_sets(frame):
        lines, own = np.add(each, 1), scale[[*each]]
        mean = 1.0 / (len(each) * own)  # of the slopes in their own units
        mapped[np.ix_(lines, lines)] -= np.outer(own, mean)
        mapped[0, lines] += (1.0 - center[[*each]].sum()) * mean
    return mapped
