"""How a budget is split, and refused where a part is too small for any noise.

Standard library only. `budgets.md` proves that parts add up to no more than the whole.
"""

from __future__ import annotations

from nolook.errors import ParameterError

__all__ = ["split", "too_small", "with_room"]

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


def too_small(epsilon: float, delta: float | None = None) -> ParameterError:
    """Return the refusal of a budget too small for any noise, `delta` given if it may be raised."""
    given, wanted = f"epsilon is {epsilon!r}", "a larger one"
    if delta is not None:
        given, wanted = f"{given} with delta {delta!r}", "a larger budget"
    return ParameterError(f"{given}; expected {wanted} (its noise would exceed any table)")
