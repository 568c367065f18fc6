"""Public grids: the thresholds at which a distribution is counted. No grid sees any data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen

from nolook._arrays import Vector
from nolook._validation import check_positive, real_number, refusal
from nolook.errors import ParameterError

__all__ = [
    "GRIDS",
    "GRID_KINDS",
    "PROBABILITIES",
    "DoublesGrid",
    "Grid",
    "LinearGrid",
    "LogGrid",
]

_MOST_POINTS = 2**24
_LEAST_RATIO = 2.0**-36

# The grid of all doubles: 2^17 thresholds at most. Steps are a 1024th of a power of two
# where most measurements lie, and two powers of two elsewhere.
_FINE_FROM, _FINE_TO, _STEPS = -17, 46, 1024
_LEAST, _MOST = -1074, 1023


class Grid(Protocol):
    """A public grid of thresholds."""

    def points(self) -> Vector:
        """Return the thresholds, increasing, shape (points,)."""


def _finite(value: object, name: str) -> float:
    number = real_number(value)
    if number is None or not math.isfinite(number):
        raise refusal(name, value, "a finite number", "the grid's end")
    return number


def _checked(check: Callable[[object, str], float], name: str) -> Any:  # noqa: ANN401
    return field(converter=lambda value: check(value, name))


@frozen
class LinearGrid:
    """Thresholds at equal distances, both ends included.

    Parameters
    ----------
    low, high : float
        The ends; public. Values outside count in the end cells.
    step : float
        Distance between thresholds, above 0. If it does not divide the range, the last step is
        shorter.

    Raises
    ------
    ParameterError
        If the ends are not finite and increasing, there would be more than 2^24 points, or
        neighbouring points would be the same number.

    Examples
    --------
    >>> LinearGrid(0, 1, 0.25).points()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    low: float = _checked(_finite, "low")
    high: float = _checked(_finite, "high")
    step: float = _checked(check_positive, "step")

    def __attrs_post_init__(self) -> None:
        half_step = self.step / 2 or math.ulp(0.0)
        _check(self, (self.high / 2 - self.low / 2) / half_step)
        largest = max(abs(self.low), abs(self.high))
        if self.step < 4 * math.ulp(largest):
            raise ParameterError(
                f"step is {self.step!r}, which is lost in the rounding of {largest!r} (use a "
                "larger step)"
            )

    def points(self) -> Vector:
        """Return the thresholds, increasing, shape (points,)."""
        # A millionth of a step short of the end is the end.
        count = max(1, math.ceil((self.high / 2 - self.low / 2) / (self.step / 2) - 1e-6))
        # Halves, since the width of the range may exceed the largest double.
        points = 2.0 * (self.low / 2 + self.step / 2 * np.arange(count, dtype=np.float64))
        points[0] = self.low
        # Rounding may bring the last one to the end where numbers are large for their steps.
        return np.append(points[points < self.high], self.high)


@frozen
class LogGrid:
    """Thresholds at equal ratios, both ends included.

    Parameters
    ----------
    low, high : float
        The ends, above 0; public. Values outside count in the end cells.
    step : float
        The relative distance, above 0: 0.01 for steps of one percent. The last may be shorter.

    Raises
    ------
    ParameterError
        If the ends are not positive and increasing, there would be more than 2^24 points, or
        neighbouring points would be the same number.

    Examples
    --------
    >>> LogGrid(1, 8, 1.0).points()
    array([1., 2., 4., 8.])
    """

    low: float = _checked(check_positive, "low")
    high: float = _checked(check_positive, "high")
    step: float = _checked(check_positive, "step")

    def __attrs_post_init__(self) -> None:
        _check(self, self._steps())
        if self.step < _LEAST_RATIO:
            raise ParameterError(
                f"step is {self.step!r}, which is lost in rounding; expected {_LEAST_RATIO!r} or "
                "more"
            )

    def points(self) -> Vector:
        """Return the thresholds, increasing, shape (points,)."""
        count = max(1, math.ceil(self._steps() - 1e-6))
        logs = math.log(self.low) + math.log1p(self.step) * np.arange(count)
        points: Vector = np.exp(logs)
        points[0] = self.low
        return np.append(points[points < self.high], self.high)

    def _steps(self) -> float:
        return (math.log(self.high) - math.log(self.low)) / math.log1p(self.step)


#: What files call the kinds of grids.
GRIDS: dict[str, type[LinearGrid | LogGrid]] = {"linear": LinearGrid, "log": LogGrid}
GRID_KINDS = {grid: name for name, grid in GRIDS.items()}


@frozen
class DoublesGrid:
    """The grid for values of which nothing is known; fewer than 2^17 points.

    From 2^-17 to 2^46 (7.6e-6 to 7e13), of either sign, steps are at most a 1024th of a value, so
    whole numbers up to 2048 have a threshold each. Zero has one, and beyond there is one every two
    powers of two, up to the largest double.

    Parameters
    ----------
    whole : bool
        Only those of them that are whole numbers, for a column of such.
    """

    whole: bool = False

    @cache  # noqa: B019 -- there are two
    def points(self) -> Vector:
        """Return the thresholds, increasing, shape (points,)."""
        fine = [np.ldexp(1.0 + np.arange(_STEPS) / _STEPS, e) for e in range(_FINE_FROM, _FINE_TO)]
        small = np.ldexp(1.0, np.arange(_LEAST, _FINE_FROM, 2))
        large = np.ldexp(1.0, np.arange(_FINE_TO, _MOST, 2))
        positive = np.concatenate([small, *fine, large, [np.finfo(np.float64).max]])
        points = np.concatenate([-positive[::-1], [0.0], positive])
        points = points[points == np.rint(points)] if self.whole else points
        points.flags.writeable = False
        return points


def _check(grid: LinearGrid | LogGrid, steps: float) -> None:
    """Refuse a range without width, and too many steps in it."""
    if not grid.low < grid.high:
        raise ParameterError(
            f"low is {grid.low!r} and high is {grid.high!r}; expected low below high"
        )
    if not steps <= _MOST_POINTS - 1:
        raise ParameterError(
            f"step is {grid.step!r}: more than {_MOST_POINTS} points (use a larger step)"
        )


#: Thresholds of probabilities.
PROBABILITIES = LinearGrid(2.0**-10, 1.0, 2.0**-10)
