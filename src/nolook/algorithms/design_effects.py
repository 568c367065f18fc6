"""The variance of what is counted of rows with survey weights, from noisy sums of their squares.

A sum over n independent rows of weight w each, less its share s of all of them, varies as much as
``(1 - s)^2`` times the squares of the rows that it counts and ``s^2`` times those of the others: as
``n s (1 - s)`` where every weight is 1.

Where a unit has several rows, units are independent and rows are not. An estimate is off by a sum
over the rows of some d, up to what is negligible, and varies as the sum over the units of
``(sum of d over the rows of a unit)^2``. That is

- at most ``sum w d^2`` where the unit's rows have weights w that add up to at most 1 (the sum is
  then one of ``w d``; by Jensen's inequality): as if each unit were one row;
- at most ``C sum d^2`` where at most C rows of a unit count in full (Cauchy and Schwarz): C times
  what independent rows vary, and as much as that only if all units have C rows and these are alike.

Both hold for every linear combination of estimates, thus for differences of groups that share
units, and for tests whose statistics are convex in such estimates. Counts of C rows divided by C
are the first case: a unit adds up to 1 at most. So are survey weights over their bound, if there is
one row a unit and squares of weights are not known.
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Vector

__all__ = ["design_effect", "squares_ratio"]

# Deviations of the noise of sums of squares; so many rows of the usual ratio are added.
_ADDED = 3.0
_SMALLEST = 1e-3


def squares_ratio(
    weights: Vector, squares: Vector, variance: Vector | float, usual: Vector | float
) -> Vector:
    """Return the sums of squared weights over those of weights, from noisy ones.

    `variance` is that of the noise of `squares`. Where noise hides a ratio it is near the usual.
    """
    added = _ADDED * np.sqrt(variance) + 1.0
    ratio: Vector = (squares + added * usual) / (np.maximum(weights, 0.0) + added)
    return ratio.clip(_SMALLEST, 1.0)


def design_effect(shares: Vector | float, own: Vector, others: Vector) -> Vector:
    """Return the variance of weighted counts over that of as many rows of weight 1.

    `own` and `others` are the ratios of the rows counted and of all others.
    """
    return own * (1.0 - shares) + others * shares
