"""Private feature selection by Kendall's rank correlation (DPKendall).

Features are chosen one after the other: each time one is drawn that orders the rows much as the
target does, and unlike those chosen before; by permute-and-flip or, where that is better with a
delta, by the exponential mechanism. Each has the same epsilon: shares in proportion to the scores'
sensitivities make all choices equally sharp, and found less (``benchmarks/results/
selection_choices.md``). Of a large table a random part of the rows will do. The proof is
``kendall_selection.md``.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``chances``   each row is kept with probability ``chances / SAMPLING_UNIT``
``share``     epsilon of one choice
``target``    C - D of every feature and the target, shape (d,)
``others``    sum over the chosen features of their |C - D| with it, for every feature
============  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.per_unit_sampling import choose_chances, one_row_each, sampled_rows
from nolook.algorithms.selection_plan import Selected, Selection
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.privacy.sampling import sampled_epsilon
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table
from nolook.tables.folding import Rows

__all__ = [
    "KendallSelection",
    "bounded_range_kendall",
    "kendall_selection",
]


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
        table = one_row_each(table, source)
        features = self.plan.features
        if isinstance(features, PureEvent):
            chances = self.chances or choose_chances(bound)
            return Selected(tuple(kendall_selection(table, k, features.epsilon, chances, source)))
        return Selected(tuple(bounded_range_kendall(table, k, features.epsilon, source)))


def kendall_selection(
    table: Table, k: int, epsilon: float, chances: int, source: ByteSource
) -> list[int]:
    """Choose k features, in the order of choice; pure epsilon when a row is added or removed."""
    share = with_room(sampled_epsilon(epsilon, chances) / k)
    rows = sampled_rows(table, chances, source)
    return _chosen(
        rows, table.n_columns, k, partial(permute_and_flip, epsilon=share, source=source)
    )


def bounded_range_kendall(table: Table, k: int, epsilon: float, source: ByteSource) -> list[int]:
    """Choose k features, in the order of choice, each by the exponential mechanism with epsilon."""
    choose = partial(exponential_choice, epsilon=epsilon, source=source)
    return _chosen(table, table.n_columns, k, choose)


def _chosen(
    rows: Rows,
    columns: int,
    k: int,
    choose: Callable[[NDArray[np.int64], float], int],
) -> list[int]:
    """Choose k features by scores and their sensitivity; the last column is the target."""
    last = columns - 1
    ranked = rows.fold(KendallRows(columns)).value
    left = list(range(last))
    target = ranked.differences(last, left)
    others = [0] * last
    chosen: list[int] = []
    while len(chosen) < k:
        if chosen:
            changes = abs(ranked.differences(chosen[-1], left)).tolist()
            for j, change in zip(left, changes, strict=True):
                others[j] += change
        scores = kendall_scores(target[left], [others[j] for j in left], len(chosen), ranked.rows)
        sensitivity = kendall_sensitivity(len(chosen))
        chosen.append(left.pop(choose(scores, sensitivity)))
    return chosen
