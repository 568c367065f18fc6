"""Medians of groups, by permute-and-flip: the likelier, the nearer to half of a group lies below.

A row is in one group of a margin, so the choices in all its groups cost what one costs. The proof
is ``tabulation.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve

from nolook._arrays import Integers
from nolook.algorithms.margins import Dimensions, subsets
from nolook.algorithms.shared_shapes import ColumnValues, Rank
from nolook.privacy.budgets import row_share
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.mechanisms.exponential import permute_and_flip
from nolook.privacy.noise import ByteSource
from nolook.statistics.group_totals import rank_sensitivity

__all__ = ["with_medians"]


def with_medians(
    values: dict[int, ColumnValues],
    tables: Mapping[Dimensions, Integers],
    costs: Sequence[PureEvent],
    relation: Relation,
    source: ByteSource,
    whole: int,
) -> dict[int, ColumnValues]:
    """Choose a place near the median of every group: of the tables, then of their margins.

    Guarantee: costs the events, one for either, if the tables hold how many rows of each group have
    their value of each column in each cell, in units of 1/whole.
    """
    cells: dict[Dimensions, Integers] = {}
    for dimensions, exact in tables.items():
        for own in subsets([dimensions]):
            outside = tuple(p for p, d in enumerate(dimensions) if d not in own)
            cells[own] = exact.sum(axis=outside)
    others = [own for own in cells if own not in tables]
    found: dict[int, dict[Dimensions, Rank]] = {column: {} for column in values}
    for cost, margins in zip(costs, ([*tables], others), strict=False):
        epsilon = row_share(cost.epsilon, len(values) * len(margins), 0.0)
        for own in margins:
            below = cells[own].cumsum(axis=-1)
            scores = -np.abs(2 * below - below[..., -1:])[..., :-1]
            sensitivity = whole * rank_sensitivity(relation)
            chosen = [
                permute_and_flip(each, sensitivity, epsilon, source)
                for each in scores.reshape(-1, scores.shape[-1])
            ]
            places = 1 + np.reshape(chosen, scores.shape[:-1])
            # Ranks are at most as far off as a Laplace number; replacement halves its rate.
            variance = 2.0 * (rank_sensitivity(relation) / epsilon) ** 2
            for number, column in enumerate(values):
                found[column][own] = Rank(places[..., number], variance)
    return {column: evolve(each, ranks=found[column]) for column, each in values.items()}
