"""Counts of the blocks of a forest, with noise, and the distributions that follow from them.

Of every column (or class of rows) the number of rows in every block of every level is released.
Least squares, the number of rows and rising counts follow at no further cost. The proof is
``node_counts.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Integers, Vector
from nolook._language import parameter_name, usage_hint
from nolook.algorithms.cumulative_noise import ForestNoise, rising, settled
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import CountEvent, Forest, Noise, best_forest
from nolook.algorithms.histogram_noise import BinNoise
from nolook.errors import ParameterError
from nolook.kernels.forests import block_counts, cells_of_blocks
from nolook.privacy.budgets import row_share
from nolook.privacy.guarantee import GaussianEvent, PureEvent, Relation
from nolook.privacy.mechanisms.gaussian import gaussian_release, gaussian_variance
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import node_counts_l2_sensitivity, node_counts_sensitivity
from nolook.tables import Table

__all__ = [
    "IN_FULL",
    "SQUARES_PARTS",
    "NoisyForest",
    "Weighing",
    "event_for_rows",
    "event_part",
    "noise_kind",
    "noisy_bins",
    "noisy_counts",
    "pooled",
    "release_cells",
    "release_forests",
]

#: Of rows with survey weights: what sums of weights and of their squares, which only errors need,
#: cost, as parts of an epsilon or of a mu.
SQUARES_PARTS = {"laplace": (0.9, 0.0999), "gaussian": (0.948, 0.3167)}

_LEAST_DEVIATION = 0.5  # rows

_AnyEvent = TypeVar("_AnyEvent", bound=PureEvent | GaussianEvent)


@frozen
class Weighing:
    """In what units rows are counted, and how many units of privacy there are.

    Parameters
    ----------
    weight_scale : int
        Counts are in units of 1/weight_scale.
    units : int or None
        Of privacy, where rows have weights and the number is public; None elsewhere.
    left_out : callable or None
        Counts the rows, or units with all their rows, that are not in use, once a pass has ended;
        None where there are none, and nothing is released of them.
    """

    weight_scale: int = 1
    units: int | None = None
    left_out: Callable[[], int] | None = None

    @classmethod
    def of(cls, table: Table, relation: Relation) -> Self:
        """Return the counting of a table's rows."""
        whole = table.unit.weight_scale
        if relation == "replace":
            return cls(whole, table.count_units() if whole > 1 else None)
        return cls(whole, left_out=table.left_out)

    @property
    def others(self) -> list[Integers]:
        """The rows left out, in the one cell of a grid of their own, or nothing."""
        return [] if self.left_out is None else [np.array([self.weight_scale * self.left_out()])]

    def known_rows(self, cells: Sequence[Integers]) -> float:
        """Return the number of rows, or of units where rows have weights; public if replaced.

        It is never a sum of weights, which is below the number by what rounding left over.
        """
        if self.weight_scale == 1:
            return float(sum(each.sum() for each in cells))
        if self.units is None:
            raise ValueError("rows have weights, and the number of their units is not public")
        return float(self.units)


#: Every row counts in full.
IN_FULL = Weighing()


def event_for_rows(event: _AnyEvent, most: int, relation: Relation) -> _AnyEvent:
    """Return the event that is left for each row of a unit: costs add up over its rows.

    Raises ParameterError for several rows under replacement.
    """
    if most > 1 and relation == "replace":
        raise ParameterError(
            f"{parameter_name('relation')} is 'replace' and "
            f"{parameter_name('rows_per_unit')} {most}, but the number of rows used is "
            "then private; use 'add-remove' (or weights: "
            f"{usage_hint('rows_per_unit', 'weights')})"
        )
    return event_part(event, 1.0, most=most)


def event_part(
    event: _AnyEvent, part: float, name: str | None = None, *, most: int = 1
) -> _AnyEvent:
    """Return a part of an event's mu, or of its epsilon, for another draw if it is named.

    Costs add up over the `most` rows of a unit.
    """
    name = name or event.name
    if isinstance(event, GaussianEvent):
        return evolve(event, name=name, mu=row_share(part * event.mu, most, 0.0))
    return evolve(event, name=name, epsilon=row_share(part * event.epsilon, most, 0.0))


def noise_kind(event: CountEvent) -> Noise:
    """Return the noise that an event stands for."""
    return "gaussian" if isinstance(event, GaussianEvent) else "laplace"


@frozen
class NoisyForest:
    """The noisy counts of a forest's blocks."""

    forest: Forest
    blocks: Vector
    variance: float  # of the noise of one block

    @cached_property
    def _cells(self) -> Vector:  # files leave out what begins with an underscore
        return cells_of_blocks(self.blocks, self.forest.padded, self.forest.lengths)

    @property
    def cells(self) -> Vector:
        """The least-squares counts of all cells, padded ones too."""
        return self._cells

    @property
    def rows(self) -> float:
        """The least-squares number of all rows."""
        return float(self.cells.sum())

    @property
    def rows_variance(self) -> float:
        """Variance of the noise of `rows`."""
        return self.variance / self.forest.rows_precision

    @property
    def counted(self) -> tuple[float, float]:
        """The least-squares number of all rows, and the standard deviation of its noise."""
        return self.rows, math.sqrt(self.rows_variance)

    def distribution(
        self, points: Vector, rows: float | None = None, rows_variance: float = 0.0
    ) -> PrivateDistribution:
        """Return the distribution over thresholds, with a better number of rows if there is one."""
        if rows is None:
            rows, rows_variance = self.rows, self.rows_variance
        possible = max(1.0, rows)
        counts = rising(settled(self.cells, self.forest, rows), possible)
        counts[-1] = possible
        noise = ForestNoise(self.forest, self.variance, rows_variance)
        return PrivateDistribution(points, counts, possible, noise)


def noisy_counts(
    exact: Integers,
    event: CountEvent,
    sensitivities: tuple[float, float],
    source: ByteSource,
    whole: int = 1,
) -> tuple[Vector, float]:
    """Release numbers in units of 1/whole; return them in rows, and the variance of their noise.

    Guarantee: costs the event, if the sensitivities bound the change in L1 and in L2, in rows.
    `whole` is a power of two.
    """
    l1, l2 = (whole * each for each in sensitivities)
    if isinstance(event, GaussianEvent):
        noisy = gaussian_release(exact, l2, event.mu, source)
        variance = gaussian_variance(l2, event.mu)
    else:
        noisy = laplace_release(exact, l1, event.epsilon, source)
        variance = laplace_variance(l1, event.epsilon)
    return noisy.astype(np.float64) / whole, variance / whole**2


def noisy_bins(
    exact: Integers, event: CountEvent, changes: int, source: ByteSource, whole: int = 1
) -> tuple[Vector, BinNoise]:
    """Release histograms in units of 1/whole; return them in rows, and the noise of every bin.

    Guarantee: costs the event, if a row changes the counts of at most that many bins by one.
    """
    sensitivities = changes, node_counts_l2_sensitivity(changes)
    noisy, variance = noisy_counts(exact, event, sensitivities, source, whole)
    # With hardly any noise, bins still differ from a shape by more than this.
    deviation = max(_LEAST_DEVIATION, math.sqrt(variance))
    return noisy, BinNoise(deviation, laplace=isinstance(event, PureEvent))


def release_forests(
    cells: Sequence[Integers],
    event: CountEvent,
    sensitivity: int,
    source: ByteSource,
    *,
    shares: bool = False,
    whole: int = 1,
) -> list[NoisyForest]:
    """Release the counts of the blocks of several forests over public numbers of cells.

    The forests are the best for counts, or for shares of each forest's rows. Counts are given in
    units of 1/whole and returned in rows.

    Guarantee: costs the event, if a row changes the counts of at most `sensitivity` blocks, all
    forests together, by `whole` each (:func:`node_counts_sensitivity`), or if the rows of a unit,
    which weigh `whole` together at most, do by their weights.
    """
    kind = noise_kind(event)
    forests = [best_forest(len(each), kind, shares=shares) for each in cells]
    pairs = zip(cells, forests, strict=True)
    counts = np.concatenate([block_counts(each, forest.lengths) for each, forest in pairs])
    sensitivities = sensitivity, node_counts_l2_sensitivity(sensitivity)
    noisy, variance = noisy_counts(counts, event, sensitivities, source, whole)
    ends = np.cumsum([forest.blocks for forest in forests])[:-1]
    parts = np.split(noisy, ends)
    return [NoisyForest(*pair, variance) for pair in zip(forests, parts, strict=True)]


def release_cells(
    cells: Sequence[Integers],
    event: CountEvent,
    relation: Relation,
    source: ByteSource,
    weighing: Weighing = IN_FULL,
    *,
    classes: bool = False,
) -> tuple[list[NoisyForest], tuple[float, float] | None, float | None]:
    """Release how many rows each cell of columns holds, or each cell of two classes of rows.

    Guarantee: costs the event under the relation, each row being in one cell of each column, or of
    one class, and those of a unit weighing ``weighing.weight_scale`` together at most. A row that
    `weighing` counts as left out is in no cell. All columns have the same rows: under replacement
    their number, or that of their units, is public.

    Returns a forest for each, the number of rows left out with its error if they were counted, and
    the number of rows if it is public.
    """
    kind = noise_kind(event)
    levels = [best_forest(len(each), kind, shares=classes).levels for each in cells]
    # A row of one class is in one block of each level of one of the two forests.
    sensitivity = node_counts_sensitivity(levels[0] if classes else sum(levels), relation)
    every, whole = [*cells, *weighing.others], weighing.weight_scale
    found = release_forests(every, event, sensitivity, source, shares=classes, whole=whole)
    left_out = found.pop().counted if len(found) > len(cells) else None
    known = weighing.known_rows(cells if classes else cells[:1]) if relation == "replace" else None
    return found, left_out, known


def pooled(forests: Sequence[NoisyForest]) -> tuple[float, float]:
    """Return the number of rows that all forests of a release count, and its variance."""
    weights = np.array([each.forest.rows_precision for each in forests])
    rows = np.array([each.rows for each in forests])
    # Numbers that agree are not rounded.
    off = np.sum(weights * (rows - rows[0])) / weights.sum()
    return float(rows[0] + off), forests[0].variance / float(weights.sum())
