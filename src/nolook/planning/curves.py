"""The accuracy of releases on simulated tables, read from a file made without any data.

The file, `curves.json`, is the result of `scripts/planning_curves.py`. Between its points the
logarithms of places are interpolated, and of values where these are widths or errors.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["WIDEST", "Curve", "Range", "curve_of"]

#: Half the width from which an interval says nothing; a column without an interval has this one.
WIDEST = 2.0


_AXES = ("rows", "columns", "mu", "epsilon times rows")
_LEAST = 1e-6  # whose logarithm stands for that of 0


@frozen
class Range:
    """A number on an ordinary table, and the lowest and the highest of all simulated tables."""

    low: float
    expected: float
    high: float


@frozen
class Curve:
    """One measure of one method: axes in order, and values of shape (axes..., 3)."""

    axes: dict[str, NDArray[np.float64]]
    values: NDArray[np.float64]
    logarithmic: bool

    def at(self, **place: float) -> Range | None:
        """Return the range at a place; None where too little is there to have been simulated.

        A budget above those of the axes counts as the largest of them. More rows than were
        simulated count as the most that were, with as little noise for their number.
        """
        if "mu" in place:
            most = float(self.axes["rows"][-1])
            place["mu"] *= max(1.0, place["rows"] / most)
            place["rows"] = min(place["rows"], most)
        for name in self.axes.keys() - {"rows", "columns"}:
            place[name] = min(place[name], float(self.axes[name][-1]))
        values = np.log(self.values.clip(_LEAST)) if self.logarithmic else self.values
        corners = []
        for name, axis in self.axes.items():
            if not axis[0] <= place[name] <= axis[-1]:
                return None
            i = int(np.searchsorted(axis, place[name]).clip(1, len(axis) - 1))
            share = np.log(place[name] / axis[i - 1]) / np.log(axis[i] / axis[i - 1])
            corners.append(((i - 1, 1.0 - share), (i, share)))
        found = np.zeros(3)
        for corner in product(*corners):
            indices, shares = zip(*corner, strict=True)
            found += float(np.prod(shares)) * values[indices]
        found = np.exp(found) if self.logarithmic else found
        return Range(*np.minimum(found, WIDEST).tolist())


@cache
def _document() -> dict[str, Any]:
    text = files("nolook.planning").joinpath("curves.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def curve_of(method: str, measure: str) -> Curve | None:
    """Return the curve of a measure, None if there is none."""
    own = _document().get(method, {})
    if measure not in own:
        return None
    axes = {name: np.array(own[name], dtype=float) for name in _AXES if name in own}
    logarithmic = measure not in {"loss", "hidden"}
    return Curve(axes, np.array(own[measure], dtype=float), logarithmic)
