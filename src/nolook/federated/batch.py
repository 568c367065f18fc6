"""A batch: the public description that owners, servers and analyst share.

It fixes everything a release depends on but the reports: what is reported, the thresholds, the
budget and the least number of reports. Its digest names it in every report and every answer, so
nothing sent for one batch can serve another.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from nolook._validation import check_choice, check_count, check_epsilon
from nolook.algorithms.grids import LinearGrid, LogGrid, grid_kind, grid_of_doubles
from nolook.errors import ParameterError

__all__ = ["FORMAT", "FULL_LEVELS", "KINDS", "MOST_PLACES", "Batch", "Kind"]

Kind: TypeAlias = Literal["ecdf", "roc", "hosmer-lemeshow"]

#: What an owner's secret numbers are, one for each curve.
KINDS: dict[str, tuple[str, ...]] = {
    "ecdf": ("count",),
    "roc": ("positive", "negative"),
    "hosmer-lemeshow": ("positive", "negative", "probability"),
}
#: Up to 2^this many thresholds the servers compute whole curves; above, only counts asked for.
FULL_LEVELS = 16
#: So many counts are asked for at once.
MOST_PLACES = 4096

#: Of the content, and so of all that its digest names.
FORMAT = 1

_PROBABILITIES = LinearGrid(2.0**-10, 1.0, 2.0**-10)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MOST_REPORTS = 2**31


def _minimum(count: int) -> int:
    return check_count(count, "minimum", _MOST_REPORTS)


@frozen
class Batch:
    """The public parameters of one release from many owners.

    Neighbours differ in one report (replacement): the servers know how many there are.
    """

    #: At most 64 letters a to z, digits and hyphens: part of addresses and file names.
    name: str
    kind: Kind
    #: Privacy loss of all that is ever answered, above 0.
    epsilon: float = field(converter=check_epsilon)
    #: None is the grid of all doubles, for "ecdf"; "hosmer-lemeshow" has one of its own.
    grid: LinearGrid | LogGrid | None = None
    #: The fewest reports that are ever answered.
    minimum: int = field(default=100, converter=_minimum)

    def __attrs_post_init__(self) -> None:
        _check_name(self.name)
        check_choice("kind", self.kind, tuple(KINDS))
        if self.grid is not None and not isinstance(self.grid, LinearGrid | LogGrid):
            raise ParameterError(
                f"grid is a value of type {type(self.grid).__name__}; expected a LinearGrid, a "
                "LogGrid or None (for example nolook.LinearGrid(0, 120, 1))"
            )
        if self.kind == "hosmer-lemeshow" and self.grid is not None:
            raise ParameterError(
                "grid is given for hosmer-lemeshow; expected None (probabilities have their own)"
            )
        if self.kind == "roc" and self.levels > FULL_LEVELS:
            raise ParameterError(
                f"grid has {len(self.points())} thresholds; expected at most 2**{FULL_LEVELS} for "
                "an ROC curve (for example nolook.LinearGrid(1/256, 1, 1/256))"
            )

    @property
    def curves(self) -> tuple[str, ...]:
        """What is counted up to each threshold, by name."""
        return KINDS[self.kind]

    @property
    def levels(self) -> int:
        """L, at least 1: the thresholds are the first of 2^L."""
        return max(1, (len(self.points()) - 1).bit_length())

    @property
    def whole(self) -> bool:
        """Whether the servers compute whole curves."""
        return self.levels <= FULL_LEVELS

    @property
    def digest(self) -> bytes:
        """SHA-256 of the canonical content, 32 bytes."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).digest()

    def points(self) -> NDArray[np.float64]:
        """Return the thresholds, increasing, shape (points,)."""
        return _points(_PROBABILITIES if self.kind == "hosmer-lemeshow" else self.grid)

    def content(self) -> dict[str, Any]:
        """Return what a file says about the batch, fit for JSON."""
        grid = None
        if self.grid is not None:
            grid = [grid_kind(self.grid), self.grid.low, self.grid.high, self.grid.step]
        return {
            "format": FORMAT,
            "name": self.name,
            "kind": self.kind,
            "relation": "replace",
            "epsilon": self.epsilon,
            "grid": grid,
            "minimum": self.minimum,
        }

    def recipe(self) -> dict[str, Any]:
        """Return how the reports were read, as a table's recipe: one column of the batch's name."""
        return {"features": [self.name], "categories": {}, "missing": "error"}


@lru_cache(maxsize=8)
def _points(grid: LinearGrid | LogGrid | None) -> NDArray[np.float64]:
    points = (grid_of_doubles() if grid is None else grid).points()
    points.flags.writeable = False
    return points


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            "name is not a short word of a to z, digits and hyphens; expected one (ages-2026)"
        )
