"""Centre and scale of every column, found privately and without bounds.

The number of rows is released, and up to three histograms of every column, each with noise on
*every* bin: by sign and power of two over the whole range of doubles, then by equal bins over the
range that the one before suggests, where that is worth its noise. The target has a share of its
own. The rest is post-processing of the noisy counts. The proof is ``scaling.md``.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``mu``        mu-GDP parameter of all together, split by :data:`SHARES`
``rows``      n, the released number of rows: no rule uses another
``sigma``     standard deviation of the noise of one bin, sqrt(columns) / mu of the round
``counts``    noisy counts, shape (columns, bins)
============  ===========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from attrs import Factory, evolve, field, frozen

from nolook._arrays import Array, Flags, Integers, Vector
from nolook._unit import Unit
from nolook.algorithms.clip_choice import LARGEST
from nolook.algorithms.curves import Curve, kernel_curves
from nolook.algorithms.scale_search import MOSTLY, ColumnGroup, ColumnHistogram
from nolook.kernels.moments import UNIT, integer_rows
from nolook.kernels.weighted_rows import Standard
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import GaussianRelease, OnStep
from nolook.statistics.histograms import Count, Histograms, histograms_sensitivity, row_parts
from nolook.tables import Table
from nolook.tables.folding import Together

__all__ = [
    "LIMIT",
    "SHARES",
    "ColumnHistogram",
    "NoisyCount",
    "ScaleSearch",
    "Scaling",
    "clipped_rest",
    "clipped_share",
    "release_bins",
    "release_histograms",
]

#: Standardised values are clipped to this many scales on either side of the centre.
LIMIT = 5.0
#: Shares of mu^2; without a target the features have its share.
SHARES = {"rows": 0.1, "target": 0.3, "features": 0.6}

# Shares of the three rounds of histograms, in each group's own.
_SPLIT = {"target": (0.4, 0.35, 0.25), "features": (0.5, 0.3, 0.2)}
_CALLED = {"target": "target histogram", "features": "column histograms"}
_WHERE = ("by magnitude", "over the range found", "over the range kept")
_STAGES = ("magnitudes", "ranges", "scales")
_SURE = 3.0  # deviations of its noise by which a count is surely not 0
# What is found of every column searched.
_FOUND = ("center", "scale", "median", "detected")


@frozen
class NoisyCount:
    """A released number of rows in use, and with it perhaps those of rows that are not.

    A row is in one of three parts: in use, in use with a value for which no level was declared
    (if the table's columns tell), or left out.
    """

    value: float  # rows in use, at least 1
    error: float  # standard deviation of its noise
    left_out: float | None = None  # None: not counted
    undeclared: float | None = None
    lost_error: float | None = None  # standard deviation of the noise of both

    def totals(self, unit: Unit) -> NoisyCount:
        """Return rows in use as sums of survey weights, if rows have any."""
        counts = np.array([self.value, self.error, self.undeclared or 0.0])
        value, error, others = (unit.row_weight * counts).clip(-LARGEST, LARGEST).tolist()
        undeclared = None if self.undeclared is None else others
        return evolve(self, value=value, error=error, undeclared=undeclared)

    def or_better(self, other: NoisyCount) -> NoisyCount:
        """Return this count, with the rows in use of another one if that is less noisy."""
        if other.error >= self.error:
            return self
        return evolve(self, value=other.value, error=other.error)


@frozen(eq=False)
class Scaling:
    """Private centre and scale of every column, in its own units."""

    names: tuple[str, ...]
    center: Vector  # finite, below 2**1002 in size
    scale: Vector  # positive, finite, below 2**1002
    #: Whether values stood out from the noise; if not, centre and scale are guesses.
    detected: Flags
    limit: float = LIMIT  # columns are clipped this many scales from the centre; may be inf
    #: Middle of the bin that holds the median; the centre where no bin is known.
    median: Vector = field(default=Factory(lambda self: self.center, takes_self=True))
    rows: NoisyCount = NoisyCount(1.0, math.inf)  # of the table it was found in, if any
    #: Columns of 0 and 1 by type or declaration: clipped to that range, whatever the limit.
    binary: Flags = field(
        default=Factory(lambda self: np.zeros(len(self.names), dtype=np.bool_), takes_self=True)
    )
    #: The last histogram released of each column; None for those that were not searched.
    histograms: tuple[ColumnHistogram | None, ...] = ()
    #: Deviations of each feature from a line; None, or none at all, of a line.
    curves: tuple[Curve | None, ...] = ()

    def select(self, keep: Flags) -> Scaling:
        """Return the scaling of some features, and of the target."""
        kept = np.append(keep, True)
        own = {name: getattr(self, name)[kept] for name in (*_FOUND, "binary")}
        for name in ("names", "histograms", "curves"):  # curves are of features, if there are any
            own[name] = tuple(compress(getattr(self, name), kept))
        return evolve(self, **own)

    def with_target(self, center: float, scale: float) -> Scaling:
        """Return the same with another centre and scale of the target, the last column."""
        centers, scales = np.append(self.center[:-1], center), np.append(self.scale[:-1], scale)
        return evolve(self, center=centers, scale=scales)

    def all_features(self, theta: Vector, kept: Flags) -> Vector:
        """Return a standardised model of the features kept as one of all: the others have 0."""
        whole = np.zeros(len(self.names))
        whole[np.append(True, kept)] = theta
        return whole

    def original_units(self, theta: Vector) -> tuple[Vector, float]:
        """Return coefficients and intercept in the columns' units, finite whatever the scales.

        `theta` is a standardised model: the value at the centre, then slopes. The target is the
        last column.
        """
        center, scale = self.center, self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            coef = np.nan_to_num(theta[1:] * (scale[-1] / scale[:-1]), nan=0.0)
            # A centre is at most some thousand scales from zero.
            at_origin = theta[0] - theta[1:] @ (center[:-1] / scale[:-1])
            intercept = np.nan_to_num(center[-1] + scale[-1] * at_origin, nan=0.0)
        return coef, float(intercept)

    def whole_rows(self, batch: Array, *others: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
        """Yield a batch standardised and clipped, in whole units of 1/UNIT; the others as given."""
        yield integer_rows(batch, self.center, self.scale, *self.limits), *others

    @property
    def low(self) -> Vector:
        """Smallest value a column is clipped to, shape (columns,)."""
        return np.where(self.binary, 0.0, self.center - self.limit * self.scale)

    @property
    def high(self) -> Vector:
        """Largest value a column is clipped to, shape (columns,)."""
        return np.where(self.binary, 1.0, self.center + self.limit * self.scale)

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """The same two in scales from the centre."""
        low = np.where(self.binary, (0.0 - self.center) / self.scale, -self.limit)
        return low, np.where(self.binary, (1.0 - self.center) / self.scale, self.limit)

    @property
    def features(self) -> Standard:
        """The standardisation of features, and functions of them."""
        low, high = self.limits
        ends = low[:-1], high[:-1], kernel_curves(self.curves)
        return Standard(self.center[:-1], self.scale[:-1], *ends)

    @property
    def feature_limits(self) -> tuple[Vector, Vector]:
        """Between which two the entries of a standard row are."""
        features = self.features
        if features.curves is None:
            return features.low, features.high
        values = features.curves.values / UNIT
        low, high = values.min(axis=1), values.max(axis=1)
        return np.append(features.low, low), np.append(features.high, high)


@frozen
class ScaleSearch(GaussianRelease):
    """The search for centre and scale of every column of a table.

    Guarantee: its releases are together ``mu``-GDP when a row is added or removed. No table
    raises; an empty column gets a usable scale from the noise alone. Columns of 0 and 1 by type or
    declaration are not searched: their scale is public. Missing values (NaN) are in no histogram.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    target : bool
        Whether a table's target has a share of its own; if not, all columns share alike.
    rare_target : bool
        Whether the target may be mostly one value, such as a count that is nearly always 0.
    """

    target: bool = True
    rare_target: bool = False

    #: Number of passes over the table.
    progress_steps: ClassVar[int] = len(_STAGES)

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that may be released, in this order.

        Where no column of a group needs a round, nothing is drawn for it, and it costs the same.
        """
        rows = GaussianEvent("number of rows", self.mu * math.sqrt(SHARES["rows"]))
        rounds = zip(*self._rounds().values(), strict=True)
        return (rows, *(event for group in rounds for event in group))

    def _rounds(self) -> dict[str, list[GaussianEvent]]:
        """Return the events of each group of columns, round by round."""
        shares = {name: SHARES[name] for name in _SPLIT}
        if not self.target:
            shares = {"features": sum(shares.values())}
        return {
            name: [
                GaussianEvent(f"{_CALLED[name]} {where}", self.mu * math.sqrt(share * part))
                for where, part in zip(_WHERE, _SPLIT[name], strict=True)
            ]
            for name, share in shares.items()
        }

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> Scaling:
        """Find all columns' scaling, and count the rows."""
        searched = np.flatnonzero(~table.binary)
        last = table.n_columns - 1
        is_target = (searched == last) & self.target & (table.target_name is not None)
        target, features = searched[is_target], searched[~is_target]
        groups = {
            "target": ColumnGroup(target, alone=True, gaps=False, rare=self.rare_target),
            "features": ColumnGroup(features, alone=False, gaps=table.has_gaps, rare=True),
        }
        rounds = self._rounds()
        rows = NoisyCount(1.0, math.inf)
        for number, stage in enumerate(_STAGES):
            progress(stage)
            used = Histograms(partial(row_parts, others=table.others))
            histograms = [used, *(groups[name].counting() for name in rounds)]
            table.fold(Together(*histograms))
            exact = [each.value(table.n_columns) for each in histograms]
            if number == 0:
                rows = _noisy_rows(exact[0], table, self.events()[0].mu, source)
            for (name, costs), counts in zip(rounds.items(), exact[1:], strict=True):
                mu = costs[number].mu
                after = costs[number + 1].mu if number + 1 < len(costs) else None
                noisy = release_bins(counts, mu, table.unit.weight_scale, source)
                groups[name].read(noisy, mu, rows.value, after)
        return _joined(table, groups["target"], groups["features"], rows)


def _noisy_rows(used: Integers, table: Table, mu: float, source: ByteSource) -> NoisyCount:
    """Release one histogram: rows in use, one bin or two, and rows (or units) left out."""
    whole = table.unit.weight_scale
    parts = np.append(used, [[whole * table.left_out()]], axis=1)
    *noisy, left_out = release_bins(parts, mu, whole, source)[0].tolist()
    error = histograms_sensitivity(1, "add-remove") / mu
    undeclared = noisy[1] if noisy[1:] else None
    rows_error = math.sqrt(len(noisy)) * error
    return NoisyCount(max(1.0, sum(noisy)), rows_error, left_out, undeclared, error)


def _joined(table: Table, target: ColumnGroup, features: ColumnGroup, rows: NoisyCount) -> Scaling:
    """Put groups and columns of 0 and 1 together; of these, a target's centre is 1/2."""
    columns = table.n_columns
    found: dict[str, Any] = {"center": np.zeros(columns), "scale": np.full(columns, 0.5)}
    if table.target_name is not None and table.binary[-1]:
        found["center"][-1] = 0.5
    found |= {"median": found["center"].copy(), "detected": np.ones(columns, dtype=np.bool_)}
    histograms: dict[int, ColumnHistogram | None] = dict.fromkeys(range(columns))
    for group in (target, features):
        for name in _FOUND:
            found[name][group.columns] = getattr(group, name)
        histograms |= zip(group.columns.tolist(), group.histograms, strict=True)
    found["detected"][target.columns] &= target.resolved
    found |= {"rows": rows, "binary": table.binary, "histograms": tuple(histograms.values())}
    return Scaling(table.column_names, **found)


def release_histograms(table: Table, mu: float, source: ByteSource, count: Count) -> Array:
    """Count a table's rows in one pass and release the counts, shape (histograms, bins).

    Guarantee: ``mu``-GDP when a row is added or removed, if `count` maps a batch to counts of that
    shape, each row in one bin of each histogram.
    """
    exact = table.fold(Histograms(count)).value(table.n_columns)
    return release_bins(exact, mu, table.unit.weight_scale, source)


def release_bins(exact: Integers, mu: float, whole: int, source: ByteSource) -> Array:
    """Release histograms, shape (histograms, bins), in units of 1/whole; return them in rows.

    Guarantee: as of :func:`release_histograms`. Where there are none no number is drawn.
    """
    sensitivity = whole * histograms_sensitivity(max(1, len(exact)), "add-remove")
    return gaussian_release(exact, sensitivity, mu, source).astype(np.float64) / whole


def clipped_share(
    histogram: ColumnHistogram, low: float, high: float, rows: float
) -> tuple[float, float]:
    """Bound the share of `rows` outside [`low`, `high`]; post-processing of a released histogram.

    Returns the noisy share of all bins that reach beyond, plus one standard deviation of its
    noise, from 0 to 1; and that deviation.
    """
    beyond = (histogram.low < low) | (histogram.high > high)
    error = histogram.sigma * math.sqrt(np.count_nonzero(beyond)) / rows
    share = float(histogram.counts[beyond].sum()) / rows + error
    return min(max(share, 0.0), 1.0), error


def clipped_rest(histogram: ColumnHistogram, low: float, high: float, rows: float) -> float:
    """Return the share of rare other values that surely lies outside [`low`, `high`].

    For a column of mostly one value these are the rows outside its fullest bin; 0 for any other.
    """
    others = rows - float(histogram.counts.max())
    if others > (1.0 - MOSTLY) * rows:
        return 0.0
    clipped = 0.0
    ends = histogram.counts[histogram.low < low], histogram.counts[histogram.high > high][::-1]
    for end in ends:
        noise = _SURE * histogram.sigma * np.sqrt(np.arange(end.size) + 1.0)
        clipped += float((end.cumsum() - noise).max(initial=0.0))
    return min(clipped / max(others, histogram.sigma), 1.0)
