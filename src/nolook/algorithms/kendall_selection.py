"""Private feature selection by Kendall's rank correlation (DPKendall).

Features are chosen one after the other: each time the exponential mechanism draws one that agrees
with the label in its order of the rows, and little with those chosen before. The proof is
``kendall_selection.md``.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``share``     epsilon of one choice: ``epsilon / k`` less a hair
``label``     C - D of every feature and the label, shape (d,)
``others``    sum over the chosen features of |C - D|, for every feature
============  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable

from nolook.errors import ParameterError
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.noise import ByteSource
from nolook.statistics.kendall import RankedTable, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = ["kendall_events", "kendall_selection"]

# Below, no table could sway a choice, and the noise could leave the range of the exact samplers.
_SMALLEST_SHARE = 2.0**-40


def kendall_events(k: int, epsilon: float) -> tuple[PureEvent, ...]:
    """Split a budget evenly over k choices.

    Parameters
    ----------
    k : int
    epsilon : float

    Returns
    -------
    tuple of PureEvent
        As many as choices.

    Raises
    ------
    ParameterError
        If the budget is too small for any choice.
    """
    # A hair less, as room for the rounding of the sum.
    share = epsilon / k * (1.0 - 2.0**-40)
    if share < _SMALLEST_SHARE:
        raise ParameterError(
            f"epsilon is {epsilon!r} for {k} choices; expected more (each would be plain chance)"
        )
    return tuple(PureEvent(f"feature {i + 1} of {k}", share) for i in range(k))


def kendall_selection(
    table: Table,
    events: tuple[PureEvent, ...],
    source: ByteSource,
    step: Callable[[str], None],
) -> list[int]:
    """Choose features, one for each event.

    Parameters
    ----------
    table : Table
        With a target, and more features than events.
    events : tuple of PureEvent
        From :func:`kendall_events`.
    source : ByteSource
    step : callable
        Is told of each of ``len(events) + 1`` steps.

    Returns
    -------
    list of int
        Distinct features in the order of their choice.
    """
    step("ranks")
    target = table.n_columns - 1
    ranked = RankedTable(table.batches(), table.n_columns)
    left = list(range(target))
    label = ranked.differences(target, left)
    others = [0] * target
    chosen: list[int] = []
    for event in events:
        step(event.name)
        if chosen:
            changes = abs(ranked.differences(chosen[-1], left)).tolist()
            for j, change in zip(left, changes, strict=True):
                others[j] += change
        scores = kendall_scores(label[left], [others[j] for j in left], len(chosen), ranked.rows)
        sensitivity = kendall_sensitivity(len(chosen))
        place = exponential_choice(scores, sensitivity, event.epsilon, source)
        chosen.append(left.pop(place))
    return chosen
