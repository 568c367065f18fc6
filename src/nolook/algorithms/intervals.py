"""95 % intervals of ratios that are read off noisy counts (Fieller 1954).

The exact ratio R of `above` and `below` makes ``above - R * below`` zero. An interval holds all R
for which this difference of the noisy terms is no larger than their noise explains. Where
the noise may be all of `below`, nothing is known of R.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._arrays import Vector

__all__ = ["DEVIATIONS", "NORMAL_95", "Measure", "Pair", "ratio_interval", "simulated_interval"]

#: What ratios have above, and below.
Pair: TypeAlias = tuple[Vector, Vector]
_Squares: TypeAlias = tuple[ArrayLike, ArrayLike, ArrayLike]

#: Standard deviations of normal noise on either side of a 95 % interval.
NORMAL_95 = 1.96
#: The same of either kind of noise: 2.05 are 96 % of normal noise, and between 94 and 97 % of any
#: sum of Laplace noise.
DEVIATIONS = {"gaussian": NORMAL_95, "laplace": 2.05}


@frozen
class Measure:
    """A number with a 95 % interval for what it would be without the noise."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, ends: tuple[ArrayLike, ArrayLike]) -> Self:
        """Return a number with an interval, which is widened to hold it."""
        low, high = (float(np.asarray(end)) for end in ends)
        return cls(value, min(value, low), max(value, high))

    @property
    def ends(self) -> Vector:
        """Both ends of the interval."""
        return np.array([self.low, self.high])

    def moved(self, move: Callable[[float], float]) -> Self:
        """Return the same on another scale, by a function that rises."""
        return type(self)(move(self.value), move(self.low), move(self.high))


def ratio_interval(
    above: ArrayLike, below: ArrayLike, squares: _Squares, most: float = 1.0
) -> Pair:
    """Return the ends of intervals for ratios from 0 to `most`; (0, `most`) if nothing is known.

    `squares` are the mean squares of the noise of `above`, of both multiplied, and of `below`.
    """
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    first, both, last = (NORMAL_95**2 * np.asarray(each) for each in squares)
    # The difference is small enough where a parabola in R is at most 0.
    leading = below**2 - last
    known = (below > 0.0) & (leading > 0.0)
    leading = np.where(known, leading, 1.0)
    middle = (above * below - both) / leading
    room = np.sqrt(np.maximum(middle**2 - (above**2 - first) / leading, 0.0))
    low = np.where(known, middle - room, 0.0).clip(0.0, most)
    high = np.where(known, middle + room, most).clip(0.0, most)
    return low, high


def simulated_interval(found: Pair, exact: Pair, again: Pair, most: float = 1.0) -> Pair:
    """Return intervals for terms `found`, from those of repeated releases of what has `exact`.

    Repeated releases stand along the first axis.
    """
    above, below = again[0] - exact[0], again[1] - exact[1]
    squares = np.mean(above**2, axis=0), np.mean(above * below, axis=0), np.mean(below**2, axis=0)
    return ratio_interval(*found, squares, most)
