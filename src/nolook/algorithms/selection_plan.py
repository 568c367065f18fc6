"""How a selector's budget is shared out, and how many features it chooses.

Everything here follows from parameters, the number of features and a private bound on the number
of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nolook.algorithms.scaling import scaling_events
from nolook.errors import ParameterError
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import Budget, GaussianEvent, PureEvent

__all__ = ["SelectionPlan", "choose_k", "selection_plan"]

_ROWS_SHARE = 0.05  # of epsilon, for a bound on the number of rows
_SCALES_SHARE = 0.3  # of epsilon, for scales; with all of delta
# Below, no table could sway a choice, and the noise could leave the range of the exact samplers.
_SMALLEST_SHARE = 2.0**-40

# The rule for k: a feature whose rank correlation beats the others' by so much ...
_LEAD = 0.1
# ... should lose its draw to any of them with at most this probability.
_LOSS = 0.1


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """How a budget is split, fixed without the data.

    Parameters
    ----------
    k : int or None
        Number of features; None if it depends on the bound on the number of rows.
    rows : PureEvent or None
        That bound, if anything depends on it.
    scales_mu : float
        Gaussian differential privacy parameter of the columns' scales; 0 if none are needed.
    features : PureEvent
        All choices together.
    """

    k: int | None
    rows: PureEvent | None
    scales_mu: float
    features: PureEvent

    def events(self) -> tuple[PureEvent | GaussianEvent, ...]:
        """State everything that will be released, in this order."""
        first = () if self.rows is None else (self.rows,)
        second = scaling_events(self.scales_mu) if self.scales_mu else ()
        return (*first, *second, self.features)


def selection_plan(k: int | None, budget: Budget, *, bound: bool) -> SelectionPlan:
    """Split a budget; scales are found if it has a delta.

    Parameters
    ----------
    k : int or None
        None if it is to be chosen.
    budget : Budget
    bound : bool
        Whether anything else than k depends on a private bound on the number of rows.

    Returns
    -------
    SelectionPlan

    Raises
    ------
    ParameterError
        If the budget is too small for any choice.
    """
    epsilon, mu = budget.epsilon, 0.0
    left = 1.0
    rows = None
    if bound or k is None:
        rows = PureEvent("number of rows", _ROWS_SHARE * epsilon)
        left -= _ROWS_SHARE
    if budget.delta:
        mu = with_room(gaussian_mu(Budget(_SCALES_SHARE * epsilon, budget.delta)))
        left -= _SCALES_SHARE
    left *= with_room(epsilon)
    if left / (k or 1) < _SMALLEST_SHARE:
        raise ParameterError(
            f"epsilon is {epsilon!r} for {k or 1} choices; expected more (each would be plain "
            "chance)"
        )
    return SelectionPlan(k, rows, mu, PureEvent("features", left))


def choose_k(bound: int, features: int, epsilon: float) -> int:
    """Choose the number of features.

    As many as can be told from the rest: each of k choices has ``epsilon / k``, and a feature whose
    rank correlation with the label is 0.1 above the others' (0.05 of the number of rows, in scores
    of sensitivity 3) loses its draw with probability at most 0.1. But no more than the square root
    of the number of features, since a selection is meant to be short; and at least one.

    Parameters
    ----------
    bound : int
        On the number of rows; private.
    features : int
        At least 2.
    epsilon : float
        For the choices.

    Returns
    -------
    int
        From 1 to one below the number of features.
    """
    lead = max(bound, 0) * _LEAD / 2
    told_apart = lead * epsilon / (2 * 3.0 * math.log(features / _LOSS))
    most = min(math.isqrt(features - 1) + 1, features - 1)
    return max(1, min(math.floor(min(told_apart, most)), most))
