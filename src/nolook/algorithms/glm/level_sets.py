"""Columns that are all levels of one category: effects as differences from the levels' mean.

Such columns add up to 1 in every row, so that only differences of their slopes are known. They are
recognised by how their public names begin and by the released second moments: post-processing.
Where each slope gets less by the mean of all, weighted by their levels' rows, and the intercept
more, predictions stay as they are.
"""

from __future__ import annotations

import re
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np

from nolook._arrays import Matrix, Vector

if TYPE_CHECKING:
    from nolook.algorithms.glm.frame import NoisyFrame

__all__ = ["level_sets", "turned"]

_DEVIATIONS = 3.0  # of noise, above which a mean square is not 0 ...
_SHARPEST = 0.05  # ... and which must be this small to tell: then hardly a row has another sum


def level_sets(frame: NoisyFrame) -> list[list[int]]:
    """Return sets of features, counted among those kept, that seem to be a category's levels.

    Their names begin alike, up to one of the characters _.: and, as far as noise shows, each is
    0 or 1 and they add up to 1. Of sets within one another the largest is returned.
    """
    if any(frame.curves):
        return []
    names = [*compress(frame.scaling.names, frame.kept)]
    one, *features = _ways(frame) @ frame.spread.back
    begun: dict[str, list[int]] = {}
    for place, (name, own) in enumerate(zip(names, features, strict=True)):
        # Names with = are those of a declared category, whose first level is left out.
        other = "=" in name or not _vanishes(frame, own, own - one, np.inf)
        for cut in () if other else re.finditer("(?<=.)[_.:]", name):
            begun.setdefault(name[: cut.start()], []).append(place)
    found: list[list[int]] = []
    for places in sorted(begun.values(), key=len, reverse=True):
        rest = np.sum([features[place] for place in places], axis=0) - one
        if len(places) > 1 and {*chain(*found)}.isdisjoint(places) and _vanishes(frame, rest, rest):
            found.append(places)
    return found


def _ways(frame: NoisyFrame) -> Matrix:
    """Return one, and each feature, as sums of one and of features in scales."""
    center, scale = (one[:-1][frame.kept] for one in (frame.scaling.center, frame.scaling.scale))
    return np.vstack((np.eye(1, 1 + len(center)), np.c_[center, np.diag(scale)]))


@np.errstate(all="ignore")  # scales may be any numbers
def _vanishes(frame: NoisyFrame, left: Vector, right: Vector, most: float = _SHARPEST) -> bool:
    """Tell whether two such sums may have the mean product 0: with noise of at most `most`."""
    noise = _DEVIATIONS * frame.gram_sigma * np.linalg.norm(left) * np.linalg.norm(right)
    total, rows = left @ frame.gram @ right, max(frame.gram[0, 0], 1.0)
    return bool(noise <= most * rows and abs(total) <= noise + 0.001 * rows)


def turned(frame: NoisyFrame) -> Matrix:
    """Return the map of a model of (1, x), in scales, to the one with differences for each set."""
    ways, back = _ways(frame), frame.spread.back
    mapped = np.eye(len(ways))
    for lines in (np.add(each, 1) for each in level_sets(frame)):
        rows = (ways[lines] @ back @ frame.gram @ back[0]).clip(1.0)  # of each level
        mean = rows / (rows.sum() * ways[lines, lines])  # of the slopes in their own units
        mapped[:, lines] -= np.outer(ways[lines].sum(axis=0) - ways[0], mean)
    return mapped
