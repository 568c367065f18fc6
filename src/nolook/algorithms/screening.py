"""Sure independence screening: the features that on their own go best with the target.

A score for each feature, then one top-k mechanism over all of them (DP-SIS, Swope et al. 2024,
Algorithm 1). The proof is ``screening.md``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Integers, Vector
from nolook.algorithms.per_unit_sampling import Sample, sampled_rows
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.selection_plan import Choices, Selected, Selection, peel
from nolook.kernels.inversions import pair_differences
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.top_k import canonical_lipschitz
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY, CentredProducts
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = [
    "SCORES",
    "TOP_K",
    "Scores",
    "Screening",
    "TopK",
    "covariance_scores",
    "rank_scores",
    "screen",
]

TopK: TypeAlias = Literal["canonical-lipschitz", "peeling"]
TOP_K = ("canonical-lipschitz", "peeling")

SCORES = ("kendall", "covariance")


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

    The score is the covariance where there are scales, which tell ranges; the rank correlation
    otherwise. Features in which nothing stood out from the noise of the scales
    have no score: they are chosen only when all others are, and then by chance. Guarantee: that of
    :class:`Selection`.

    Parameters
    ----------
    budget, k, rows, scales, features, chances
        As of :class:`Selection`; `chances` for ranks.
    top_k : str
        One of :data:`TOP_K`.
    """

    top_k: TopK

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:  # noqa: ARG002
        """Choose k features."""
        k, features = self.k, self.features
        scaling = None if self.scales is None else self.scales.run(table, source, progress)
        progress("features")
        detected = np.ones(table.n_columns - 1, dtype=np.bool_)
        if scaling is not None:
            detected = scaling.detected[:-1]
        places, others = np.flatnonzero(detected), np.flatnonzero(~detected)
        if k < places.size:
            scores = self.scores(table, scaling, source)
            scored = Scores(scores.values[places], scores.sensitivity)
            places = places[screen(scored, k, features, self.top_k, source)]
        elif k > places.size:
            # A score would rest on a guess of where the values lie.
            alike = Scores(np.zeros(others.size, dtype=np.int64), 1.0)
            chance = screen(alike, k - places.size, features, self.top_k, source)
            places = np.append(places, others[chance])
        return Selected(tuple(places.tolist()), rows=None if scaling is None else scaling.rows)

    def scores(self, table: Table, scaling: Scaling | None, source: ByteSource) -> Scores:
        """Score the features; `scaling` is what the search for scales released, if there is one.

        `source` draws the rows to be ranked: of units whose rows have weights one each, and of
        these a sample.
        """
        if scaling is None:
            return rank_scores(sampled_rows(table, self.chances, source))
        # The narrower, the less the tails weigh and the more of a range the middle fills.
        low, high = scaling.center - scaling.scale, scaling.center + scaling.scale
        return covariance_scores(table, low, high)


def screen(scores: Scores, k: int, features: Choices, top_k: TopK, source: ByteSource) -> Integers:
    """Choose k features; it costs `features` if the scores' sensitivity is true."""
    if top_k == "peeling" or not isinstance(features, PureEvent):
        return peel(features, scores.values, k, scores.sensitivity, source)
    return canonical_lipschitz(scores.values, k, scores.sensitivity, features.epsilon, source)


def rank_scores(rows: Table | Sample) -> Scores:
    """Score features by the size of their Kendall correlation with the target; without weights."""
    ranked = rows.fold(KendallRows(rows.n_columns)).value
    target = pair_differences(ranked[-1], ranked[:-1])
    scores = kendall_scores(target, [0] * target.size, 0, ranked[-1].ranks.size)
    return Scores(scores, kendall_sensitivity(0))


def covariance_scores(table: Table, low: Vector, high: Vector) -> Scores:
    """Score features by their centred products with the target, all clipped to ranges.

    `low` and `high`, of shape (columns,), are private and paid for.
    """
    products = table.fold(CentredProducts(low, high, table.unit.weight_scale))
    return Scores(products.value, PRODUCTS_SENSITIVITY)
