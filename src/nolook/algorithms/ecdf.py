"""Private empirical distribution functions (Barczewski, Mawass and Ramon 2024, section 3).

Values are counted in the cells of a public grid; the counts up to each threshold are released
with the noise of a binary tree, the number of rows by itself. Smoothing and all later answers
cost nothing. The proof is ``ecdf.md``.

==============  ===========================================================================
name here       the paper's letter, or what it means
==============  ===========================================================================
``points``      tau_1, ..., tau_N: the thresholds; the last one stands for infinity
``levels``      L: the tree stands over 2^L cells
``counts``      n times F-hat, or n times F-acute once smoothed
``rows``        n: here private as well
==============  ===========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.grids import Grid
from nolook.algorithms.tree_smoothing import Smoothing, smoothed_counts
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.budgets import split, too_small, with_room
from nolook.privacy.guarantee import Budget, Event, GaussianEvent, PureEvent, Relation
from nolook.privacy.mechanisms.binary_tree import (
    gaussian_node_variance,
    laplace_node_variance,
    tree_gaussian,
    tree_laplace,
)
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.statistics import fold
from nolook.statistics.cell_counts import CellCounts
from nolook.tables import Table

__all__ = ["SMALLEST_SHARE", "EcdfPlan", "EcdfRelease", "ecdf_plan", "release_ecdf"]

_ROWS_SHARE = 0.05  # of epsilon, for the number of rows
#: Below, the noise would exceed any table, and could leave the range of the exact samplers.
SMALLEST_SHARE = 2.0**-32

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EcdfPlan:
    """How a budget is split, fixed without the data."""

    relation: Relation
    rows: PureEvent | None  # the number of rows, unless neighbours agree on it: then it is public
    tree: PureEvent | GaussianEvent  # the counts up to each threshold

    def events(self) -> tuple[PureEvent | GaussianEvent, ...]:
        """State everything that will be released, in this order."""
        return (self.tree,) if self.rows is None else (self.rows, self.tree)


def ecdf_plan(budget: Budget, relation: Relation, columns: int = 1) -> EcdfPlan:
    """Split a budget among columns; return the plan of one.

    Noise is Gaussian if the budget has a delta, Laplace otherwise. Raises ParameterError if the
    budget is too small for any noise.
    """
    shares = (_ROWS_SHARE,) if relation == "add-remove" else ()
    *rows, tree = split(budget.epsilon, *shares, among=columns)
    if budget.delta:
        left = split(budget.epsilon, *shares)[-1]
        tree = with_room(gaussian_mu(Budget(left, budget.delta)) / math.sqrt(columns))
    if min((*rows, tree)) < SMALLEST_SHARE:
        raise too_small(budget.epsilon)
    kind = GaussianEvent if budget.delta else PureEvent
    return EcdfPlan(
        relation,
        PureEvent("number of rows", *rows) if rows else None,
        kind("counts up to each threshold", tree),
    )


@dataclass(frozen=True, slots=True)
class EcdfRelease:
    """The distribution of every column of a table.

    Guarantee: each column costs the plan's events under its relation. No table raises.

    Parameters
    ----------
    plan : EcdfPlan
        Of one column.
    grids : tuple of Grid
        Of each column.
    smoothing : {"l2", "l1", "isotonic"} or None
    """

    plan: EcdfPlan
    grids: tuple[Grid, ...]
    smoothing: Smoothing

    @property
    def stages(self) -> int:
        """How often the table is read."""
        return len(self.grids)

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        return self.plan.events() * len(self.grids)

    def run(
        self, table: Table, source: ByteSource, announce: Announce
    ) -> tuple[PrivateDistribution, ...]:
        """Release the distributions of a table's columns."""
        found = []
        for j, (name, grid) in enumerate(zip(table.column_names, self.grids, strict=True)):
            announce(name)
            column = (batch[j] for batch in table.batches())
            found.append(release_ecdf(column, grid.points(), self.plan, self.smoothing, source))
        return tuple(found)


def release_ecdf(
    values: Iterable[Vector],
    points: Vector,
    plan: EcdfPlan,
    smoothing: Smoothing,
    source: ByteSource,
) -> PrivateDistribution:
    """Count finite values up to each of a public grid's thresholds, privately.

    Guarantee: costs the plan's events under its relation, one value a row.
    """
    levels = (len(points) - 1).bit_length()
    cells = np.zeros(2**levels, dtype=np.int64)
    cells[: len(points)] = fold(CellCounts(points), values).value
    rows, rows_variance = np.array([cells.sum()]), 0.0
    if plan.rows is not None:
        rows = laplace_release(rows, 1, plan.rows.epsilon, source)
        rows_variance = laplace_node_variance(0, plan.rows.epsilon, plan.relation)
    top = max(1.0, float(rows[0]))
    if isinstance(plan.tree, GaussianEvent):
        noisy = tree_gaussian(cells, plan.tree.mu, plan.relation, source)
        node_variance = gaussian_node_variance(levels, plan.tree.mu, plan.relation)
    else:
        noisy = tree_laplace(cells, plan.tree.epsilon, plan.relation, source)
        node_variance = laplace_node_variance(levels, plan.tree.epsilon, plan.relation)
    counts = smoothed_counts(noisy.astype(np.float64), top, len(points), smoothing)
    return PrivateDistribution(points, counts, top, levels, node_variance, rows_variance)
