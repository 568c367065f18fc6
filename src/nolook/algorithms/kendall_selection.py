"""Private feature selection by Kendall's rank correlation (DPKendall).

Features are chosen one after the other: each time one is drawn that orders the rows much as the
target does, and unlike those chosen before; by permute-and-flip or, where that is better with a
delta, by the exponential mechanism. Each has the same epsilon: shares in proportion to the scores'
sensitivities make all choices equally sharp, and found less (``benchmarks/results/
selection_choices.md``). For a large table, a random part of the rows is enough. The proof is
``kendall_selection.md``.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``epsilon``   of one choice
``target``    C - D of every feature and the target, shape (d,)
``others``    sum over the chosen features of their |C - D| with it, for every feature
============  ===========================================================================
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from nolook.algorithms.per_unit_sampling import Sample, sampled_rows
from nolook.algorithms.selection_plan import Choices, Selected, Selection
from nolook.kernels.inversions import pair_differences
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = ["KendallSelection", "kendall_selection"]


@frozen
class KendallSelection(Selection):
    """DPKendall: features that agree with the target, and not with those chosen before.

    Guarantee: that of :class:`Selection`.
    """

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:  # noqa: ARG002
        """Choose k features."""
        progress("features")
        rows = sampled_rows(table, self.chances, source)
        return Selected(tuple(kendall_selection(rows, self.k, self.features, source)))


def kendall_selection(
    rows: Table | Sample, k: int, features: Choices, source: ByteSource
) -> list[int]:
    """Choose k features, in the order of choice, at the cost `features`; rows have no weights."""
    choose, epsilon = exponential_choice, features.epsilon
    if isinstance(features, PureEvent):
        choose, epsilon = permute_and_flip, with_room(epsilon / k)
    last = rows.n_columns - 1  # the target
    ranked = rows.fold(KendallRows(rows.n_columns)).value
    left, rows_ranked = list(range(last)), ranked[last].ranks.size
    target = pair_differences(ranked[last], ranked[:last])
    others = np.zeros(last, dtype=object)  # Python integers: the sums may exceed 64 bits
    chosen: list[int] = []
    while len(chosen) < k:
        if chosen:
            with_last = pair_differences(ranked[chosen[-1]], [ranked[j] for j in left])
            others[left] += abs(with_last).astype(object)
        scores = kendall_scores(target[left], others[left].tolist(), len(chosen), rows_ranked)
        sensitivity = kendall_sensitivity(len(chosen))
        chosen.append(left.pop(choose(scores, sensitivity, epsilon, source)))
    return chosen
