"""Splitting a budget, and refusing parts that are too small for any noise.

Standard library only. `budgets.md` proves that parts add up to no more than the whole, also where
they are chosen on the way.
"""

from __future__ import annotations

import math
from typing import ClassVar

from attrs import define

from nolook.errors import ParameterError

__all__ = ["SMALLEST_MU", "Allowance", "row_share", "split", "too_small", "with_room"]

#: Below, the noise of a moment matrix, or of counts of units whose rows have weights, could leave
#: the range of the exact samplers.
SMALLEST_MU = 2.0**-20

_ROOM = 1.0 - 2.0**-40


def with_room(amount: float) -> float:
    """Return a hair less of an epsilon, delta or mu, as room for the rounding of a split."""
    return amount * _ROOM


def split(whole: float, *shares: float) -> tuple[float, ...]:
    """Split an epsilon by shares into parts that add up to no more than it; the last is the rest.

    Shares lie between 0 and 1 and add up to at most 1.
    """
    left = 1.0
    for share in shares:
        left -= share
    return tuple(with_room(share * whole) for share in (*shares, left))


def row_share(amount: float, most: int, least: float = SMALLEST_MU) -> float:
    """Return the mu or epsilon of a row such that `most` rows together cost at most `amount`.

    It is rounded down. Raises ParameterError if it is below `least`.
    """
    share = amount if most == 1 else math.nextafter(amount / most, 0.0)
    if share < least:
        how = "by weights" if most == 1 else f"in full, up to {most} of them"
        raise ParameterError(
            f"the budget is too small where a unit's rows count {how} "
            "(its noise would exceed any table)"
        )
    return share


def too_small(epsilon: float, delta: float | None = None) -> ParameterError:
    """Return the refusal of a budget too small for any noise, `delta` given if it may be raised."""
    given, wanted = f"epsilon is {epsilon!r}", "a larger one"
    if delta is not None:
        given, wanted = f"{given} with delta {delta!r}", "a larger budget"
    return ParameterError(f"{given}; expected {wanted} (its noise would exceed any table)")


@define
class Allowance:
    """A mu spent in parts, how much of it on what being decided on the way.

    Guarantee: Gaussian releases, each with the mu that `spend` returned for it, are ``mu``-GDP
    together, whatever was decided by what the ones before had answered.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    left : int
        How many parts of mu^2, of `PARTS`, are not spent yet.
    """

    PARTS: ClassVar[int] = 1024

    mu: float
    left: int = PARTS

    def of(self, parts: int) -> float:
        """Return the mu that n parts are."""
        return self.mu * math.sqrt(parts / self.PARTS)

    def spend(self, parts: int) -> float:
        """Take parts, and return the mu that they are; no more than are left."""
        if not 0 < parts <= self.left:
            raise AssertionError(f"{parts} parts of {self.left}")
        self.left -= parts
        return self.of(parts)
