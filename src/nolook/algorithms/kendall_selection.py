"""Private feature selection by Kendall's rank correlation (DPKendall).

Features are chosen one after the other: each time one is drawn that orders the rows much as the
target does, and unlike those chosen before; by permute-and-flip or, where that is better with a
delta, by the exponential mechanism. Each choice has epsilon in proportion to its scores'
sensitivity, so all are equally sharp. Of a large table a random part of the rows will do. The proof
is ``kendall_selection.md``.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``chances``   each row is kept with probability ``chances / SAMPLING_UNIT``
``shares``    epsilon of each choice
``target``    C - D of every feature and the target, shape (d,)
``others``    sum over the chosen features of their |C - D| with it, for every feature
============  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.selection_plan import Selected, Selection
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.privacy.sampling import SAMPLING_UNIT, kept_rows, sampled_epsilon
from nolook.statistics import fold
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = [
    "FIRST",
    "KendallSelection",
    "bounded_range_kendall",
    "choose_chances",
    "kendall_selection",
]

#: The sensitivity of the first choice's scores over that of the others'.
FIRST = kendall_sensitivity(0) / kendall_sensitivity(1)

# More rows than this do not sharpen a choice enough to wait for them.
_ROWS_WANTED = 2**20


@frozen
class KendallSelection(Selection):
    """DPKendall: features that agree with the target, and not with those chosen before.

    Guarantee: that of :class:`Selection`.

    Parameters
    ----------
    plan : SelectionPlan
    chances : int or None
        Each row is kept with probability ``chances / SAMPLING_UNIT``; None keeps about a million.
    """

    chances: int | None

    def choose(
        self, table: Table, k: int, bound: int, source: ByteSource, announce: Announce
    ) -> Selected:
        """Choose k features."""
        announce("features")
        features = self.plan.features
        if isinstance(features, PureEvent):
            chances = self.chances or choose_chances(bound)
            return Selected(tuple(kendall_selection(table, k, features.epsilon, chances, source)))
        shares = [event.epsilon for event in features for _ in range(event.choices)]
        return Selected(tuple(bounded_range_kendall(table, shares, source)))


def choose_chances(bound: int) -> int:
    """Choose the probability, in units of 1/SAMPLING_UNIT, that keeps about a million rows."""
    return max(1, min(SAMPLING_UNIT, SAMPLING_UNIT * _ROWS_WANTED // max(bound, 1)))


def kendall_selection(
    table: Table, k: int, epsilon: float, chances: int, source: ByteSource
) -> list[int]:
    """Choose k features, in the order of choice; pure epsilon when a row is added or removed."""
    sensitivities = [kendall_sensitivity(chosen) for chosen in range(k)]
    each = with_room(sampled_epsilon(epsilon, chances)) / sum(sensitivities)
    shares = [each * sensitivity for sensitivity in sensitivities]
    return _chosen(
        _sample(table, chances, source), table.n_columns, shares, permute_and_flip, source
    )


def bounded_range_kendall(table: Table, shares: Sequence[float], source: ByteSource) -> list[int]:
    """Choose a feature with each epsilon, in the order of choice, by the exponential mechanism."""
    return _chosen(table.batches(), table.n_columns, shares, exponential_choice, source)


def _chosen(
    batches: Iterable[NDArray[np.float64]],
    columns: int,
    shares: Sequence[float],
    choose: Callable[[NDArray[np.int64], float, float, ByteSource], int],
    source: ByteSource,
) -> list[int]:
    """Choose a feature with each share; the last column is the target."""
    last = columns - 1
    ranked = fold(KendallRows(columns), batches).value
    left = list(range(last))
    target = ranked.differences(last, left)
    others = [0] * last
    chosen: list[int] = []
    for share in shares:
        if chosen:
            changes = abs(ranked.differences(chosen[-1], left)).tolist()
            for j, change in zip(left, changes, strict=True):
                others[j] += change
        scores = kendall_scores(target[left], [others[j] for j in left], len(chosen), ranked.rows)
        sensitivity = kendall_sensitivity(len(chosen))
        chosen.append(left.pop(choose(scores, sensitivity, share, source)))
    return chosen


def _sample(table: Table, chances: int, source: ByteSource) -> Iterator[NDArray[np.float64]]:
    """Yield the rows kept."""
    for batch in table.batches():
        if chances == SAMPLING_UNIT:
            yield batch
        else:
            yield batch[:, kept_rows(batch.shape[1], chances, source)]
