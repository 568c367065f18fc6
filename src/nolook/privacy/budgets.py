"""How a budget is split, and refused where a part is too small for any noise.

Standard library only. The proof that parts add up to no more than the whole is `budgets.md`.
"""

from __future__ import annotations

from nolook.errors import ParameterError

__all__ = ["split", "too_small", "with_room"]

_ROOM = 1.0 - 2.0**-40


def with_room(amount: float) -> float:
    """Return a hair less of an epsilon, delta or mu, as room for the rounding of a split."""
    return amount * _ROOM


def split(whole: float, *shares: float, among: int = 1) -> tuple[float, ...]:
    """Split an epsilon into parts that never add up to more than it.

    Parameters
    ----------
    whole : float
        What is split.
    *shares : float
        From 0 to 1; they add up to at most 1.
    among : int, default=1
        How many have each of the parts.

    Returns
    -------
    tuple of float
        The part of each share, and what all of them leave.
    """
    left = 1.0
    for share in shares:
        left -= share
    return tuple(with_room(share * whole / among) for share in (*shares, left))


def too_small(epsilon: float, delta: float | None = None) -> ParameterError:
    """Return the refusal of a budget that is too small for any noise.

    Parameters
    ----------
    epsilon : float
    delta : float, optional
        Where a larger one would help as well.

    Returns
    -------
    ParameterError
    """
    given, wanted = f"epsilon is {epsilon!r}", "a larger one"
    if delta is not None:
        given, wanted = f"{given} with delta {delta!r}", "a larger budget"
    return ParameterError(f"{given}; expected {wanted} (its noise would exceed any table)")
