"""The split of a selector's budget, and the number of features it chooses.

All of it follows from parameters, the number of features and a private bound on the number of rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self, TypeAlias, TypeVar

from attrs import evolve, frozen

from nolook._arrays import Integers, Vector
from nolook.algorithms.per_unit_sampling import choose_chances
from nolook.algorithms.row_count_bound import count_rows, row_count_bound
from nolook.algorithms.scaling import NoisyCount, ScaleSearch
from nolook.errors import ParameterError
from nolook.privacy.accounting import choices_epsilon, gaussian_mu, smallest_epsilon
from nolook.privacy.budgets import row_share, with_room
from nolook.privacy.guarantee import BoundedRangeEvent, Budget, Event, PureEvent
from nolook.privacy.mechanisms.top_k import bounded_range_peeling, peeling
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.privacy.sampling import SAMPLING_UNIT, sampled_epsilon
from nolook.tables import Table

__all__ = [
    "Beside",
    "Choices",
    "Selected",
    "Selection",
    "choose_k",
    "on_sample",
    "peel",
    "selection_plan",
]

_ROWS_SHARE = 0.05  # of epsilon, for the number of rows where something depends on it
_SAID_SHARE = 0.01  # of epsilon, for the number of rows where it is only reported
_SCALES_SHARE = 0.3  # of epsilon, for scales; with all of delta
# For choices as good, the exponential mechanism needs this much more epsilon than permute-and-flip.
_WORTH = 1.2
# Of one choice. With more it hardly ever errs, and composition has little to add.
_LARGEST_SHARED = 1.0
# Below, no table could sway a choice; at 2^-40 itself noise could leave the range of the samplers.
_SMALLEST_SHARE = 2.0**-39

# The rule for k: a feature whose rank correlation exceeds the others' by this much ...
_LEAD = 0.1
# ... should lose its draw to any of them with at most this probability.
_LOSS = 0.1


#: All choices together, by permute-and-flip; or each of them, by the exponential mechanism.
Choices: TypeAlias = PureEvent | BoundedRangeEvent
_Made = TypeVar("_Made", bound="Selection")


@frozen
class Beside:
    """The releases that share a budget with a selection."""

    events: tuple[Event, ...]
    budget: Budget  # of both
    delta: float  # with which the selection by itself states its epsilon


@frozen
class Selected:
    """The features chosen, distinct and in the order of their choice if there was one.

    `blocks` says into how many blocks the rows were dealt, if they were; `rows` how many there
    are, if that was released.
    """

    features: tuple[int, ...]
    blocks: int | None = None
    rows: NoisyCount | None = None


@frozen
class Selection(ABC):
    """The choice of k features: what all selectors release, their budget split without the data.

    Guarantee: the sum of the events when a row is added or removed. No table raises.

    Parameters
    ----------
    budget : Budget
        Kept by the selection alone.
    k : int
        Number of features; 0 if it depends on the bound on the number of rows.
    rows : PureEvent or None
        The number of rows; None if the scales tell it.
    scales : ScaleSearch or None
        The columns' scales, if any are needed.
    features : PureEvent or BoundedRangeEvent
        The choices.
    chances : int
        Each row, or unit, is kept with probability ``chances / SAMPLING_UNIT``; 0 keeps about a
        million. Choices must be pure where not all are kept.
    """

    budget: Budget
    k: int
    rows: PureEvent | None
    scales: ScaleSearch | None
    features: Choices
    chances: int

    #: Whether a unit changes one block with all its rows.
    in_blocks: ClassVar[bool] = False

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`."""
        scales = 0 if self.scales is None else self.scales.progress_steps
        return (self.rows is not None) + scales + 1

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released, in this order."""
        rows = () if self.rows is None else (self.rows,)
        scales = () if self.scales is None else self.scales.events()
        return (*rows, *scales, self.features)

    def for_rows_per_unit(self, most: int) -> Self:
        """Return the selection that costs the same for units of `most` rows.

        Its epsilons and mu add up over rows; those of choices do not if they depend on blocks, of
        which a unit changes one. Raises ParameterError if a part is too small for any noise.
        """
        rows, scales, features = self.rows, self.scales, self.features
        if rows is not None:
            rows = evolve(rows, epsilon=row_share(rows.epsilon, most, _SMALLEST_SHARE))
        if scales is not None:
            scales = scales.for_rows_per_unit(most)
        if not self.in_blocks:
            choices = self.k or 1 if isinstance(features, PureEvent) else 1
            share = row_share(features.epsilon, most, choices * _SMALLEST_SHARE)
            features = evolve(features, epsilon=share)
        return evolve(self, rows=rows, scales=scales, features=features)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> Selected:
        """Choose features of a table with a target and more than k features."""
        bound = 0
        if self.rows is not None:
            counted = count_rows(table, self.rows.epsilon, source, progress)
            bound = row_count_bound(counted, self.rows.epsilon)
        k = self.k or choose_k(bound, table.n_columns - 1, self.features.epsilon)
        chances = self.chances or choose_chances(bound)
        settled = evolve(self, k=k, features=on_sample(self.features, chances), chances=chances)
        chosen = settled.choose(table, bound, source, progress)
        if self.rows is None:
            return chosen
        return evolve(chosen, rows=chosen.rows.or_better(counted) if chosen.rows else counted)

    @abstractmethod
    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:
        """Choose features, once it is settled how many, from which rows and what choices cost.

        `bound` is the private one on the number of rows, 0 where none is released.
        """


def selection_plan(
    make: Callable[..., _Made],
    k: int | None,
    budget: Budget,
    *,
    bound: bool,
    scales: bool = False,
    pure: bool = False,
    beside: Beside | None = None,
) -> _Made:
    """Split a budget; `make` gets it, k, the events of rows, scales and features.

    k is None if it is to be chosen; `bound` tells whether anything else depends on a private bound
    on the number of rows, and `scales` whether scales are to be found. Choices are pure if they
    have to be, if k is not known, and where public numbers say that they are better then, which
    needs no delta. The releases `beside` it keep their own share of the budget, which leaves this
    one. Raises ParameterError if the budget is too small for any choice.
    """
    epsilon = budget.epsilon
    rows = search = None
    left = 1.0
    share = _ROWS_SHARE if bound or k is None else 0.0 if scales else _SAID_SHARE
    if share:
        rows = PureEvent("number of rows", share * epsilon)
        left -= share
    if scales:
        search = ScaleSearch(with_room(gaussian_mu(Budget(_SCALES_SHARE * epsilon, budget.delta))))
        left -= _SCALES_SHARE
    left *= with_room(epsilon)
    if left / (k or 1) < _SMALLEST_SHARE:
        raise ParameterError(
            f"epsilon is {epsilon!r}, too small for {k or 1} choices (use a larger budget)"
        )
    own = budget if scales else Budget(epsilon)
    plan = make(own, k or 0, rows, search, PureEvent("features", left))
    if k is None or pure:
        return plan
    together = beside or Beside((), budget, budget.delta)
    each = _sharper(plan, k, together)
    if each is None:
        return plan
    plan = evolve(plan, budget=budget, features=BoundedRangeEvent("features", each, k))
    if beside is None:
        return plan
    return evolve(plan, budget=Budget(smallest_epsilon(plan.events(), beside.delta), beside.delta))


def _sharper(plan: Selection, k: int, together: Beside) -> float | None:
    """Return the epsilon of each choice by the exponential mechanism, if that chooses better."""
    least = plan.features.epsilon / k
    if not together.budget.delta or least > _LARGEST_SHARED:
        return None
    others = (*plan.events()[:-1], *together.events)
    each = choices_epsilon(k, others, together.budget, least)
    return each if each >= _WORTH * least else None


def peel(
    features: Choices, scores: Integers | Vector, k: int, sensitivity: float, source: ByteSource
) -> Integers:
    """Choose k of the scores, one after the other, as planned."""
    if isinstance(features, PureEvent):
        return peeling(scores, k, sensitivity, features.epsilon, source)
    return bounded_range_peeling(scores, k, sensitivity, features.epsilon, source)


def on_sample(features: Choices, chances: int) -> Choices:
    """Return choices on rows kept with a probability that cost all rows what is planned.

    Raises ValueError for choices that are not pure: nothing is claimed for these on a sample.
    """
    if chances == SAMPLING_UNIT:
        return features
    if not isinstance(features, PureEvent):
        raise ValueError("choices on a sample are not pure")  # noqa: TRY004 -- not of types
    return evolve(features, epsilon=sampled_epsilon(features.epsilon, chances))


def choose_k(bound: int, features: int, epsilon: float) -> int:
    """Choose the number of features from a private bound on the number of rows.

    As many as can be told from the rest: each of k choices has ``epsilon / k``, and a feature whose
    rank correlation with the target is 0.1 above the others' (0.05 of the number of rows, in scores
    of sensitivity 3) loses its draw with probability at most 0.1. But no more than the square root
    of the number of features, rounded up, since a selection is meant to be short; and at least one.
    If there are two features or more, not all are chosen.
    """
    lead = max(bound, 0) * _LEAD / 2
    told_apart = lead * epsilon / (2 * 3.0 * math.log(features / _LOSS))
    most = min(math.isqrt(features - 1) + 1, features - 1)
    return max(1, min(math.floor(min(told_apart, most)), most))
