"""Sure independence screening: the features that on their own go best with the target.

A score for each feature, then one top-k mechanism over all of them (DP-SIS, Swope et al. 2024,
Algorithm 1). The proof is ``screening.md``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Integers
from nolook.algorithms.per_unit_sampling import Sample, sampled_rows
from nolook.algorithms.selection_plan import Choices, Selected, Selection, peel
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.top_k import canonical_lipschitz
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = [
    "TOP_K",
    "Scores",
    "Screening",
    "TopK",
    "rank_scores",
    "screen",
]

TopK: TypeAlias = Literal["canonical-lipschitz", "peeling"]
TOP_K = ("canonical-lipschitz", "peeling")


@frozen
class Scores:
    """One score for each feature, int64 or float64: as confidential as the table.

    No two scores move apart by more than twice `sensitivity` when a row is added or removed, or a
    unit whose rows have weights.
    """

    values: NDArray[Any]
    sensitivity: float


@frozen
class Screening(Selection):
    """DP-SIS: one score for each feature, once, and then the k best.

    Guarantee: that of :class:`Selection`.

    Parameters
    ----------
    budget, k, rows, features, chances
        As of :class:`Selection`.
    top_k : str
        One of :data:`TOP_K`.
    """

    top_k: TopK

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:  # noqa: ARG002
        """Choose k features."""
        progress("features")
        scores = self.scores(table, source)
        chosen = screen(scores, self.k, self.features, self.top_k, source)
        return Selected(tuple(chosen.tolist()))

    def scores(self, table: Table, source: ByteSource) -> Scores:
        """Score the features.

        `source` draws the rows to be ranked: of units whose rows have weights one each, and of
        these a sample.
        """
        return rank_scores(sampled_rows(table, self.chances, source))


def screen(scores: Scores, k: int, features: Choices, top_k: TopK, source: ByteSource) -> Integers:
    """Choose k features; it costs `features` if the scores' sensitivity is true."""
    if top_k == "peeling" or not isinstance(features, PureEvent):
        return peel(features, scores.values, k, scores.sensitivity, source)
    return canonical_lipschitz(scores.values, k, scores.sensitivity, features.epsilon, source)


def rank_scores(rows: Table | Sample) -> Scores:
    """Score features by the size of their Kendall correlation with the target; without weights."""
    ranked = rows.fold(KendallRows(rows.n_columns)).value
    features = rows.n_columns - 1
    target = ranked.differences(features, list(range(features)))
    return Scores(kendall_scores(target, [0] * features, 0, ranked.rows), kendall_sensitivity(0))
