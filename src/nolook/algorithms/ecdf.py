"""Private empirical distribution functions: one column's, or several columns' together.

Values are counted in the cells of a public grid, and the counts of nested blocks of cells are
released (`node_counts.py`). The published construction (Barczewski, Mawass and Ramon 2024,
section 3) has 3 to 8 times the variance. The proof is ``ecdf.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from nolook._arrays import Integers
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import CountEvent, best_forest, count_event
from nolook.algorithms.grids import DoublesGrid, Grid
from nolook.algorithms.node_counts import (
    IN_FULL,
    SQUARES_PARTS,
    Weighing,
    event_for_rows,
    event_part,
    noise_kind,
    pooled,
    release_cells,
)
from nolook.privacy.guarantee import Budget, Relation
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.cell_counts import ColumnCells
from nolook.tables import Table

__all__ = ["EcdfRelease", "ecdf_release", "release_counts"]


@frozen
class EcdfRelease:
    """The distribution of every column of a table.

    Guarantee: costs the event under the relation. No table raises.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
    event : PureEvent or GaussianEvent
        All counts of all columns.
    grids : tuple of Grid
        Of each column. That of all doubles has whole numbers only where a column is declared to.
    squares : PureEvent or GaussianEvent, optional
        The same counts of rows with the squares of their survey weights, which errors need.
    """

    relation: Relation
    event: CountEvent
    grids: tuple[Grid, ...]
    squares: CountEvent | None = None

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return len(self.events())

    def events(self) -> tuple[CountEvent, ...]:
        """State everything that will be released."""
        return (self.event,) if self.squares is None else (self.event, self.squares)

    def for_rows_per_unit(self, most: int) -> EcdfRelease:
        """Return the release that costs the same for units of `most` rows."""
        squares = self.squares and event_for_rows(self.squares, most, self.relation)
        return evolve(self, event=event_for_rows(self.event, most, self.relation), squares=squares)

    def for_weights(self, part: float) -> EcdfRelease:
        """Return the release of rows with survey weights, at a part of its mu or epsilon."""
        counts, squares = (each * part for each in SQUARES_PARTS[noise_kind(self.event)])
        named = event_part(self.event, squares, "counts of squared weights")
        return evolve(self, event=event_part(self.event, counts), squares=named)

    def run(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[PrivateDistribution, ...]:
        """Release the distributions of a table's columns."""
        progress("counts")
        weighing = Weighing.of(table, self.relation)
        grids = [
            DoublesGrid(whole) if isinstance(grid, DoublesGrid) else grid
            for grid, whole in zip(self.grids, table.whole, strict=True)
        ]
        cells = table.fold(ColumnCells([grid.points() for grid in grids])).value
        found = release_counts(cells, evolve(self, grids=tuple(grids)), source, weighing)
        found = tuple(map(_as_declared, found, table.whole))
        if self.squares is None:
            return found
        others = evolve(self, event=self.squares, squares=None)
        squares = others.run(table.weighted(table.unit.weighting, power=2), source, progress)
        return tuple(evolve(a, squares=b) for a, b in zip(found, squares, strict=True))


def _as_declared(found: PrivateDistribution, whole: bool) -> PrivateDistribution:
    return evolve(found, whole=whole and bool((found.points % 1.0 == 0.0).all()))


def ecdf_release(budget: Budget, relation: Relation, grids: Sequence[Grid]) -> EcdfRelease:
    """Plan the release of a distribution for every grid; see :func:`count_event`."""
    noise = "gaussian" if budget.delta else "laplace"
    levels = sum(best_forest(len(grid.points()), noise).levels for grid in grids)
    return EcdfRelease(relation, count_event(budget, levels), tuple(grids))


def release_counts(
    cells: Sequence[Integers],
    release: EcdfRelease,
    source: ByteSource,
    weighing: Weighing = IN_FULL,
) -> tuple[PrivateDistribution, ...]:
    """Release the distributions of columns from how many of their values each cell holds.

    Guarantee: costs the release's event under its relation (:func:`release_cells`).
    """
    event, relation = release.event, release.relation
    forests, left_out, known = release_cells(cells, event, relation, source, weighing)
    rows, variance = pooled(forests) if known is None else (known, 0.0)
    return tuple(
        evolve(forest.distribution(grid.points(), rows, variance), left_out=left_out)
        for grid, forest in zip(release.grids, forests, strict=True)
    )
