"""Counts, means, shares and quantiles by groups of declared levels, without a range to guess.

Every column of numbers is looked for as :mod:`range_search` does: by sign and power of two, then
in equal bins. A histogram of the distances from the centre found there chooses the clip of its
sums; its quantiles are counted in
cells of about equally many rows, with round ends. The proof is ``tabulation.md``.

===========  ======================================================================
name here    meaning
===========  ======================================================================
``center``   c, near a column's mean
``clip``     T: values count as at most that far from c
``moments``  sums of (1, t, t^2 - 1/2) by group, t = clip((x - c) / T, -1, 1)
===========  ======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Integers, Vector
from nolook._language import parameter_name, usage_hint
from nolook.algorithms.clip_choice import HALVES, LARGEST, Clip, chosen_clip
from nolook.algorithms.forest import CountEvent, Forest, Noise, best_forest
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.intervals import DEVIATIONS
from nolook.algorithms.level_search import MOST_OF_A_UNIT, LevelSearch
from nolook.algorithms.margins import Dimensions, Margin, Margins, NoisyTable, margins
from nolook.algorithms.node_counts import (
    SQUARES_PARTS,
    Weighing,
    event_for_rows,
    event_part,
    noise_kind,
    noisy_bins,
    noisy_counts,
)
from nolook.algorithms.pairs import shrunk, strongest
from nolook.algorithms.range_search import BINS, FirstLook, FoundRange, first_look, second_look
from nolook.algorithms.scaling import NoisyCount
from nolook.algorithms.shared_shapes import BLOCK, ColumnValues
from nolook.errors import ParameterError
from nolook.kernels.forests import block_counts
from nolook.kernels.group_totals import MOMENT_UNIT
from nolook.kernels.histogram import linear_counts, magnitude_counts, threshold_counts
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.budgets import too_small, with_room
from nolook.privacy.guarantee import Budget, DeltaEvent, GaussianEvent, PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.cell_counts import cell_counts_sensitivity, node_counts_l2_sensitivity
from nolook.statistics.group_totals import (
    BLOCK_WEIGHT,
    GroupCounts,
    GroupedCells,
    Grouping,
    GroupMoments,
    blocks_and_cells_sensitivities,
    moments_l1_sensitivity,
    moments_l2_sensitivity,
)
from nolook.statistics.histograms import Histograms
from nolook.tables import Table
from nolook.tables.folding import Together
from nolook.tables.views import with_levels

__all__ = [
    "CELLS",
    "LEVELS",
    "MOST_NUMBERS",
    "ColumnSums",
    "Released",
    "TabulationRelease",
    "tabulation",
]

#: Cells in which a column's values are counted.
CELLS = 512
#: Numbers that a release may have.
MOST_NUMBERS = 2**27
_MOST_FOUND = 2**16  # levels of a column

#: What is released, as events call it.
COUNTS, MAGNITUDES, LEVELS = "counts by group", "values by magnitude", "levels that occur"
TOTAL = "number of rows"  # to which groups' counts add up with more noise
RANGES, DISTANCES = "values over the range found", "distances from the centre"
BLOCKS, SUMS = "counts of blocks by group", "sums by group"
AGAIN = "counts of pairs again"

# The share of the budget for each time that a row is counted.
_SHARES = {
    LEVELS: 0.4, COUNTS: 0.55, TOTAL: 0.09, AGAIN: 2.2, MAGNITUDES: 0.3, RANGES: 0.1,
    DISTANCES: 1.2, SUMS: 2.6, BLOCKS: 2.0,
}  # fmt: skip
# The same where groups are compared: most of it for their distributions.
_COMPARED = {COUNTS: 0.2, MAGNITUDES: 0.4, RANGES: 0.2, DISTANCES: 0.3, SUMS: 1.2, BLOCKS: 3.0}
_SQUARED = {COUNTS, SUMS, BLOCKS}
_SEARCHES = {TOTAL, MAGNITUDES, RANGES, DISTANCES}  # whose noise decides nothing
_SMALLEST_SHARE = 2.0**-25  # for each time that a row is counted
_FEWEST = 2**4  # cells
_BY_WIDTH = 0.2  # share of cells that is laid by width only
_DIGITS = 17


@frozen(eq=False)
class ColumnSums:
    """The moments of one column by group."""

    center: float
    clip: float
    #: The last axis holds the sums of 1, t and t^2 - 1/2, in rows; the variance is that of t.
    moments: Margins
    clipped: float  # how far clipping may move the mean of all rows, as a standard deviation
    squared: float  # how much it takes from the mean square, at most, in squares of the clip
    beyond: float  # the mean square of how far it moves a row, in clips
    kurtosis: float  # of the clipped values of all rows, about the center


@frozen(eq=False)
class Released:
    """The noisy counts, sums and cells of a tabulation, by column; counts are in rows."""

    counts: Margins
    sums: dict[int, ColumnSums]
    values: dict[int, ColumnValues]
    deviations: float  # of the noise, in half of the width of an interval
    labels: tuple[tuple[str, ...] | None, ...]  # of the codes of each column
    shrunk: Margins | None = None  # estimates of counts, where pairs are counted again
    squares: Released | None = None  # the same by the squares of survey weights, if there are any
    cut: float = 0.0  # of all survey weight what the bound may cut, over `deviations`
    alike: int = 1  # rows of a unit, at most, that count in full (`design_effects.py`)
    unseen: tuple[int, ...] = ()  # columns whose values do not stand out from the noise

    @property
    def rows(self) -> NoisyCount:
        """The number of rows, at least 1."""
        total = self.counts[()]
        return NoisyCount(max(1.0, float(total.values)), math.sqrt(total.variance))


@frozen
class TabulationRelease:
    """Counts by groups, and moments and cells of columns of numbers by groups.

    Guarantee: costs its events under the relation. No table raises.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
    costs : tuple of PureEvent or GaussianEvent
        Those of what is released, in order.
    counted : tuple of tuple of int
        The tables of counts: the columns of each.
    grouped : tuple of tuple of int
        The tables by whose groups numbers are summed.
    summed, spread : tuple of int
        Columns of numbers whose moments, or cells, are released.
    tests : bool
        Whether the one column spread is for tests: its cells are then as many as the rows found are
        enough for; else :data:`CELLS`.
    search : LevelSearch or None
        Of columns of groups without declared levels.
    again : int
        Tables of two columns that are counted again: those that seem to depart most from
        independence.
    squares : tuple of PureEvent or GaussianEvent
        The costs of counts, sums and blocks of rows with the squares of their survey weights.
    """

    relation: Relation
    costs: tuple[CountEvent, ...]
    counted: tuple[Dimensions, ...]
    grouped: tuple[Dimensions, ...]
    summed: tuple[int, ...]
    spread: tuple[int, ...]
    tests: bool = False
    search: LevelSearch | None = None
    again: int = 0
    squares: tuple[CountEvent, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """All columns of numbers."""
        return tuple(sorted({*self.summed, *self.spread}))

    @property
    def shared(self) -> bool:
        """Whether groups share the shape of their values within blocks of cells."""
        return not self.tests and any(self.grouped)

    @property
    def progress_steps(self) -> int:
        """The number of passes over the table."""
        once = 1 + bool(self.numbers) + bool(self.summed)
        return bool(self.search) + once * (1 + bool(self.squares)) + bool(self.numbers)

    def events(self) -> tuple[CountEvent | DeltaEvent, ...]:
        """State everything that will be released."""
        named = (evolve(each, name=f"squared weights, {each.name}") for each in self.squares)
        searched = self.search.events() if self.search else ()
        return (*searched, *self.costs, *named)

    def numbers_of(self, sizes: Sequence[int]) -> int:
        """Return about how many numbers there are for columns of these numbers of codes."""
        counts, groups = (
            sum(math.prod(sizes[d] for d in own) for own in tables)
            for tables in (self.counted, self.grouped)
        )
        return counts + groups * (3 * len(self.summed) + 2 * CELLS * len(self.spread))

    def for_rows_per_unit(self, most: int) -> TabulationRelease:
        """Return the release that costs a unit of at most `most` rows as much."""
        costs, squares = (
            tuple(event_for_rows(each, most, self.relation) for each in own)
            for own in (self.costs, self.squares)
        )
        if self.search is None:
            return evolve(self, costs=costs, squares=squares)
        if most > 1:
            raise ParameterError(
                f"{parameter_name('rows_per_unit')} is {most}, but levels are found where each "
                f"unit counts once ({usage_hint('rows_per_unit', 'weights')})"
            )
        return evolve(self, costs=costs, search=evolve(self.search, most=MOST_OF_A_UNIT))

    def for_weights(self, part: float) -> TabulationRelease:
        """Return the release of rows with survey weights, at a part of its mus or epsilons.

        Levels are not searched for by weights. Where groups are compared every row counts as one of
        weight 1 for errors, so nothing is released of the squares.
        """
        if self.search is not None:
            hint = usage_hint("weights", "none", "weights=False")
            raise ParameterError(f"levels are found without survey weights ({hint}: rows count 1)")
        if self.tests:
            return evolve(self, costs=tuple(event_part(each, part) for each in self.costs))
        first, second = (each * part for each in SQUARES_PARTS[noise_kind(self.costs[0])])
        squares = (event_part(each, second) for each in self.costs if each.name in _SQUARED)
        costs = tuple(event_part(each, first) for each in self.costs)
        return evolve(self, costs=costs, squares=tuple(squares))

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> Released:
        """Release everything of a table whose first columns are codes, as `code_labels` says."""
        if self.search is not None:
            progress("levels")
            table = with_levels(table, self.search.run(table, source, self._room(table)))
        run = _Run(self, table, source)
        progress("counts")
        counts, estimates, looks = run.counts()
        if self.numbers:
            progress("ranges")
            run.search(looks)
        found = evolve(run.numbers(counts, progress), shrunk=estimates, unseen=run.unseen)
        if not self.squares:
            return found
        squared = table.weighted(table.unit.weighting, power=2)
        again = _Run(evolve(self, costs=self.squares, again=0), squared, source)
        again.ranges, again.ends, again.clips = run.ranges, run.ends, run.clips
        progress("squares")
        return evolve(found, squares=again.numbers(again.counts()[0], progress))

    def _room(self, table: Table) -> int:
        """Return the most levels of a column to be found, such that all numbers fit a memory."""
        searched = self.search.columns if self.search else ()
        sizes, room = [len(each or ()) for each in table.code_labels], _MOST_FOUND
        while room > 1:
            found = (room + 2 if d in searched else size for d, size in enumerate(sizes))
            if self.numbers_of([*found]) <= MOST_NUMBERS:
                break
            room //= 2
        return room


class _Run:
    """One run of a release: what its passes share."""

    def __init__(self, release: TabulationRelease, table: Table, source: ByteSource) -> None:
        self._release, self._table, self._source = release, table, source
        self._cost = {each.name: each for each in release.costs}
        self._whole = table.unit.weight_scale
        self._grouped = self._groupings(release.grouped)
        self.ranges: dict[int, FoundRange] = {}
        self.unseen: tuple[int, ...] = ()
        self.ends: list[Vector] = []  # the ends of the cells of each column
        self.clips: list[Clip] = []  # of the sums of each column

    def _groupings(self, tables: Sequence[Dimensions]) -> list[Grouping]:
        sizes = [len(labels or ()) for labels in self._table.code_labels]
        return [Grouping(each, tuple(sizes[column] for column in each)) for each in tables]

    def _noisy(self, name: str, exact: Integers, columns: int, whole: int) -> tuple[Vector, float]:
        """Release counts of which a row changes one for each column (two under replacement)."""
        changes = columns * cell_counts_sensitivity(self._release.relation)
        sensitivities = changes, node_counts_l2_sensitivity(changes)
        return noisy_counts(exact, self._cost[name], sensitivities, self._source, whole)

    def _histograms(self, name: str, exact: Histograms, columns: int) -> tuple[Vector, BinNoise]:
        counts = exact.value(self._table.n_columns)
        changes = columns * cell_counts_sensitivity(self._release.relation)
        return noisy_bins(counts, self._cost[name], changes, self._source, self._whole)

    def numbers(self, counts: Margins, progress: OnStep) -> Released:
        """Release cells and sums, and the clips of these unless they are known."""
        values: dict[int, ColumnValues] = {}
        sums: dict[int, ColumnSums] = {}
        if self.ranges:
            progress("cells")
            values = self.cells()
        if self._release.summed:
            progress("sums")
            sums = self.sums()
        factor, labels = DEVIATIONS[noise_kind(self._release.costs[0])], self._table.code_labels
        cut = unit.weighting.cut / factor if (unit := self._table.unit).weighting else 0.0
        return Released(counts, sums, values, factor, labels, cut=cut, alike=unit.max_rows)

    def counts(self) -> tuple[Margins, Margins | None, Histograms]:
        """Count rows by groups, and numbers by magnitude, which are not released yet."""
        release, groupings = self._release, self._groupings(self._release.counted)
        exact = GroupCounts(groupings)
        looks = Histograms(magnitude_counts, release.numbers)
        self._table.fold(Together(exact, *((looks,) * bool(release.numbers))))
        # On a fine grid, so that noise does not come in whole rows.
        fine = exact.value * (MOMENT_UNIT // self._whole)
        tables = _tables(groupings, *self._noisy(COUNTS, fine, len(groupings), MOMENT_UNIT))
        parts = np.split(fine, np.cumsum([own.groups for own in groupings])[:-1])
        if TOTAL in self._cost:
            noisy, variance = self._noisy(TOTAL, parts[0].sum(keepdims=True), 1, MOMENT_UNIT)
            tables.append(NoisyTable((), noisy.reshape(()), variance))
        if release.again:
            chosen = strongest(tables, release.again)
            own = np.concatenate([parts[place] for place in chosen])
            again = self._noisy(AGAIN, own, len(chosen), MOMENT_UNIT)
            tables += _tables([groupings[place] for place in chosen], *again)
        total = None
        if release.relation == "replace":
            weighing = Weighing.of(self._table, "replace")
            total = weighing.known_rows([exact.value[: groupings[0].groups]])
        found = margins(tables, total)
        return found, shrunk(tables, found) if release.again else None, looks

    def search(self, exact: Histograms) -> None:
        """Find the range of every column of numbers, and where its cells end."""
        numbers = self._release.numbers
        noisy, noise = self._histograms(MAGNITUDES, exact, len(numbers))
        firsts = [first_look(each, noise) for each in noisy]
        self.unseen = tuple(n for n, each in zip(numbers, firsts, strict=True) if not each.found)
        low, width = np.array([(each.low, each.width) for each in firsts]).T.copy()
        found = Histograms(partial(linear_counts, low=low, width=width, bins=BINS), numbers)
        self._table.fold(found)
        noisy, noise = self._histograms(RANGES, found, len(numbers))
        for column, own, first in zip(numbers, noisy, firsts, strict=True):
            self.ranges[column] = second_look(own, noise, first)
        for column in self._release.spread:
            place = numbers.index(column)
            self.ends.append(self._even(noisy[place] - noise.deviation, firsts[place], column))

    def _even(self, counts: Vector, first: FirstLook, column: int) -> Vector:
        """Return round ends of cells that hold about equally many rows, by those in equal bins.

        They are whole numbers where the column is declared to be, and then some of them are equal.
        """
        found = self.ranges[column]
        event, cells = self._cost[BLOCKS], CELLS
        if self._release.tests:
            strength = event.mu if isinstance(event, GaussianEvent) else event.epsilon
            # The noise of more cells would exceed what they tell apart.
            wanted = 0.5 * math.log2(max(found.rows * strength, 1.0))
            cells = int(np.clip(2 ** round(wanted), _FEWEST, CELLS))
        edges = first.low + first.width * np.arange(counts.size - 1.0)
        wide = np.diff(edges.clip(found.low, found.high)) / first.width
        mass = np.where(wide > 0.0, counts[1:-1].clip(0.0), 0.0)
        parts = mass * (1.0 - _BY_WIDTH) / max(mass.sum(), 1.0) + wide * _BY_WIDTH / wide.sum()
        below = np.append(0.0, np.cumsum(parts))
        points = np.interp(np.linspace(0.0, below[-1], cells - 1), below, edges)
        points[0], points[-1] = found.low, found.high
        end, times = edges[-1], np.ones(points.size, dtype=np.int64)
        if self._table.whole[column]:
            points, times = np.unique(np.floor(points), return_counts=True)
            end = np.ceil(max(end, points[-1] + 1.0))
        middles = (points + np.append(points[1:], end)) / 2.0
        lows = np.append(2.0 * points[0] - middles[0], middles[:-1])
        times = np.minimum(times, 1) if self._release.tests else times
        return np.append(np.repeat(_roundest(lows, points, middles), times), end)

    def cells(self) -> dict[int, ColumnValues]:
        """Count values in cells; choose the clips of sums, and say what these leave out."""
        release = self._release
        searched = bool(release.summed) and not self.clips
        cells = GroupedCells(self._grouped, release.spread, self.ends)
        found = [self.ranges[column] for column in release.summed]
        edges = [(each.scale * np.exp2(HALVES)).clip(None, LARGEST) for each in found]
        around = np.array([each.center for each in found])
        far = Histograms(partial(_by_distance, around, edges), release.summed)
        self._table.fold(Together(cells, *((far,) * searched)))
        if searched:
            noisy, noise = self._histograms(DISTANCES, far, len(release.summed))
            (l1, l2), cost = _sums_sensitivities(release), self._cost[SUMS]
            error = l2 / cost.mu if isinstance(cost, GaussianEvent) else 2**0.5 * l1 / cost.epsilon
            error *= max(each.groups for each in self._grouped) ** 0.5
            choose = partial(chosen_clip, noise=noise, error=error)
            self.clips = [*map(choose, noisy, edges, [each.alike for each in found])]
            for place, own in enumerate(release.summed):
                if self._table.code_labels[own]:  # a boolean's values are 0 and 1
                    self.ranges[own] = evolve(found[place], center=0.5)
                    self.clips[place] = 0.5, 0.0, 0.0, 0.0, 1.0
        return self._values(cells) if release.spread else {}

    def _values(self, exact: GroupedCells) -> dict[int, ColumnValues]:
        release, event, points = self._release, self._cost[BLOCKS], self.ends
        forest = best_forest(len(points[0]), noise_kind(event), shares=True)
        if release.shared:
            forest = Forest(len(points[0]), (BLOCK, 1))
        counts = exact.value.reshape(-1, forest.cells)
        blocks = np.array([block_counts(each, forest.lengths) for each in counts])
        times = len(release.spread) * len(self._grouped)
        if release.shared:
            blocks[:, : forest.padded // BLOCK] *= BLOCK_WEIGHT
            sensitivities = blocks_and_cells_sensitivities(times, release.relation)
            found = noisy_counts(blocks.ravel(), event, sensitivities, self._source, self._whole)
        else:
            found = self._noisy(BLOCKS, blocks.ravel(), forest.levels * times, self._whole)
        counted = margins(_tables(self._grouped, *found, len(release.spread), forest.blocks))
        values = {}
        for place, column in enumerate(release.spread):
            whole, own = self._table.whole[column], _of_column(counted, place)
            values[column] = ColumnValues(points[place], whole, forest, own, release.shared)
        return values

    def sums(self) -> dict[int, ColumnSums]:
        """Release the moments."""
        release, clips = self._release, self.clips
        centers = np.array([self.ranges[column].center for column in release.summed])
        widths = np.array([clip for clip, *_ in clips])
        exact = self._table.fold(GroupMoments(self._grouped, release.summed, centers, widths)).value
        limits = _sums_sensitivities(release)
        noisy, variance = noisy_counts(exact, self._cost[SUMS], limits, self._source, MOMENT_UNIT)
        found, sums = margins(_tables(self._grouped, noisy, variance, len(release.summed), 3)), {}
        for place, column in enumerate(release.summed):
            own, (clip, *others) = _of_column(found, place, [4.0, 1.0, 4.0]), clips[place]
            sums[column] = ColumnSums(float(centers[place]), clip, own, *others)
        return sums


def _tables(
    groupings: Sequence[Grouping], noisy: Vector, variance: float, *shape: int
) -> list[NoisyTable]:
    """Return noisy numbers as tables, each entry of them of a shape."""
    each = math.prod(shape)
    parts = np.split(noisy, np.cumsum([own.groups * each for own in groupings])[:-1])
    return [
        NoisyTable(own.columns, part.reshape((*own.sizes, *shape)), variance)
        for own, part in zip(groupings, parts, strict=True)
    ]


def _of_column(found: Margins, place: int, factors: Sequence[float] = (1.0,)) -> Margins:
    """Return the margins of one of several columns, each number of its times a factor."""
    return {
        own: Margin(each.values[..., place, :] * factors, each.variance)
        for own, each in found.items()
    }


def _sums_sensitivities(release: TabulationRelease) -> tuple[float, float]:
    times, relation = len(release.summed) * len(release.grouped), release.relation
    return moments_l1_sensitivity(times, relation), moments_l2_sensitivity(times, relation)


def _by_distance(
    centers: Vector, edges: Sequence[Vector], batch: Vector, weights: Integers | None
) -> Integers:
    """Count the distances of columns from their centres, between edges of each."""
    with np.errstate(over="ignore"):
        far = np.abs(batch - centers[:, np.newaxis])
    return np.array([threshold_counts(*each, weights) for each in zip(far, edges, strict=True)])


def _roundest(low: Vector, usual: Vector, high: Vector) -> Vector:
    """Return the number with the fewest digits from each `low` to below `high`.

    The `usual` one of each if there is none of few digits.
    """
    found, missing = usual.copy(), np.ones(low.size, dtype=np.bool_)
    largest = math.frexp(max(-low[0], high[-1]))[1]
    top = math.ceil(largest * math.log10(2.0))
    for power, digit in product(range(top, max(top - _DIGITS, -290), -1), (5.0, 2.0, 1.0)):
        # Quotients of whole numbers are the doubles nearest to decimal ones.
        many, one = 10.0 ** max(power, 0), 10.0 ** max(-power, 0)
        nearest = np.ceil(low / (digit * many) * one) * digit * many / one
        inside = missing & (nearest >= low) & (nearest < high)
        found[inside], missing = nearest[inside] + 0.0, missing & ~inside
    return found


def tabulation(  # noqa: PLR0913 -- what is released
    budget: Budget,
    relation: Relation,
    counted: Sequence[Dimensions],
    grouped: Sequence[Dimensions],
    summed: Sequence[int],
    spread: Sequence[int],
    *,
    tests: bool = False,
    searched: Sequence[int] = (),
    again: int = 0,
) -> TabulationRelease:
    """Plan a tabulation, its noise Laplace's or Gaussian, whichever is less for what it releases.

    Without a delta it is Laplace's; where levels are `searched` it is Gaussian, and half of delta
    is for these. Raises ParameterError if the budget is too small for any noise.
    """
    failure = budget.delta / (2 * len(searched)) if searched else 0.0
    budget = Budget(budget.epsilon, budget.delta / 2 if searched else budget.delta)
    numbers, groupings = len({*summed, *spread}), len(grouped)
    noise: Noise = "gaussian" if budget.delta else "laplace"
    levels: float = best_forest(CELLS, noise, shares=True).levels
    if any(grouped) and not tests:
        l1, l2 = blocks_and_cells_sensitivities(1, relation)
        levels = (l1 / l2) ** 2
    each = _COMPARED if tests else _SHARES
    # It is public under replacement; of counts alone it would take much of the budget.
    totals = not tests and () not in counted and relation == "add-remove" and numbers > 0
    # How often a row is counted, and the share of the budget for each time.
    rows = {
        LEVELS: len(searched), COUNTS: len(counted), TOTAL: totals, AGAIN: again,
        MAGNITUDES: numbers, RANGES: numbers, DISTANCES: len(summed),
        BLOCKS: len(spread) * groupings, SUMS: len(summed) * groupings,
    }  # fmt: skip
    parts = {name: n for name, n in rows.items() if n}
    shares = np.array([n * each[name] for name, n in parts.items()])
    shares /= shares.sum()
    kind: type[CountEvent] = PureEvent
    costs = with_room(budget.epsilon) * shares
    if budget.delta:
        mus = with_room(gaussian_mu(budget)) * np.sqrt(shares)
        times = [levels * n if name == BLOCKS else n for name, n in parts.items()]
        # The logarithms of how much larger Laplace noise is, of what is not only a search.
        larger = np.log(math.sqrt(2.0) * np.sqrt(times) * mus / costs)
        if searched or larger[[name not in _SEARCHES for name in parts]].sum() > 0.0:
            kind, costs = GaussianEvent, mus
    if min(costs / [*parts.values()]) < _SMALLEST_SHARE:
        raise too_small(budget.epsilon, budget.delta or None)
    events = [kind(name, cost) for name, cost in zip(parts, costs.tolist(), strict=True)]
    search = None
    if searched:
        events.pop(0)
        own = GaussianEvent(LEVELS, costs[0] / math.sqrt(len(searched)) * (1.0 - 2.0**-50))
        search = LevelSearch(tuple(searched), own, DeltaEvent(f"{LEVELS} once", failure))
    tables = tuple(counted), tuple(grouped)
    return TabulationRelease(
        relation, tuple(events), *tables, tuple(summed), tuple(spread), tests, search, again
    )
