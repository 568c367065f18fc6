"""Reports of private distributions, and of other tables of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from nolook._arrays import Flags, Vector
from nolook._unit import Unit
from nolook.algorithms.grids import steps_below
from nolook.algorithms.intervals import NORMAL_95
from nolook.estimators.ecdf import ECDF
from nolook.estimators.quantiles import Quantiles
from nolook.report.findings import (
    Figure,
    Findings,
    Name,
    Section,
    Table,
    Text,
    dates_of,
    findings_of,
    listed,
)
from nolook.report.picture import Band, Line, Picture, Point, around, axis, rows_picture
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import NOT_KNOWN, day, grid_in_words, number, with_error

__all__ = [
    "FOUND",
    "ecdf_findings",
    "noise_and_sampling",
    "quantiles_findings",
    "what_was_found",
]


FOUND = "What was found"
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_TRIMMED = 0.05
_MOST_TOLD = 3  # columns with a sentence of their own
_STEPS = 600  # of a drawn curve
_LARGEST = 1e300
_DIGITS = 6  # of a value that nothing says to be less exact

#: Stands where an error would, for a value beyond the first or the last threshold.
_END = "the grid's end"
_ERRORS = "Standard errors"
#: Steps of the grid between the outer quantiles below which a reader must know of it.
_FEW_STEPS = 4


def noise_and_sampling(errors: str, unit: Unit) -> str:
    """Return the note on the coverage of standard errors or intervals."""
    return phrase("release.covered", errors=errors, unit=unit)


def what_was_found(
    table: Table,
    notes: tuple[str, ...],
    *pictures: Picture,
    name: str = "found",
    heading: str = FOUND,
) -> Section:
    """Return the section with the numbers of a release and perhaps pictures of them."""
    return Section(name, heading, (), tuple(map(Figure, pictures)), (table,), notes)


def ecdf_findings(ecdf: ECDF) -> Findings:
    """Return the findings of a column's distribution."""
    unit, (column,) = ecdf.privacy.unit, ecdf.read_options["features"]
    counted = f"{unit.counted}s"
    values, errors = ecdf.quantile(_SHARES, return_std=True)
    points, whole = ecdf.distribution_.points, ecdf.distribution_.whole
    steps = steps_below(points, values, whole=whole)
    origin = dates_of(ecdf).get(column)
    read = _Quantiles(column, np.array(_SHARES), values, errors, steps, points, origin)
    mean = ecdf.trimmed_mean(_TRIMMED, return_std=True) if read.inside.all() else (0.0, math.inf)
    mean_step = ecdf.distribution_.mean_step(_TRIMMED)
    half = _SHARES.index(0.5)
    middle, middle_error = read.shown(half, with_step=True)
    known, picture = bool(read.inside[half]), _ecdf_picture(ecdf, column, counted)
    measured = [
        *map(read.shown, range(len(_SHARES))),
        read.as_day(mean[0], _value_and_error(*mean)),
    ]
    notes, covered = (phrase("release.step"),), noise_and_sampling(_ERRORS, unit)
    table = _few_numbers(measured, [*read.steps, mean_step])
    return findings_of(
        ecdf,
        what="distribution of",
        of=column,
        cards=(("Median", middle, f"standard error {middle_error}" if known else middle_error),),
        question=(": how the values of ", Name(column), " are distributed"),
        conclusion=(sentence("release.where", read=read, counted=counted),),
        certainty=(
            *((f"The standard error of the median is {middle_error}.",) * known),
            covered,
        ),
        sections=(what_was_found(table, (*notes, phrase("release.free"), covered), picture),),
        cautions=_coarse(read),
        settings=(("Column", column), ("Thresholds", grid_in_words(ecdf.grid, whole=whole))),
    )


@frozen(eq=False)
class _Quantiles:
    """Quantiles of a column, their errors, the steps below them and the grid's thresholds."""

    column: str
    shares: Vector
    values: Vector
    errors: Vector
    steps: Vector
    points: Vector
    origin: str | None = None  # of a date

    @property
    def known(self) -> Flags:
        """Those with noise of at most half of their spread, or of their size."""
        sizes = np.abs(self.values)
        # The grid of all doubles ends where no value is.
        known: Flags = np.isfinite(self.errors) & (sizes < _LARGEST)
        if np.ptp(self.shares) > 0.0 and known.any():
            known &= self.errors <= np.maximum(np.ptp(self.values[known]), sizes) / 2
        return known

    @property
    def inside(self) -> Flags:
        """Those known and between the grid's ends, where values beyond these count, too."""
        inner: Flags = (self.values > self.points[0]) & (self.values < self.points[-1])
        return self.known & inner

    def shown(self, place: int, *, with_step: bool = False) -> tuple[str, str]:
        """Return a quantile and its standard error; beyond an end of the grid, where it begins."""
        value, error, step = self.values[place], self.errors[place], self.steps[place]
        if not self.known[place]:
            return NOT_KNOWN, NOT_KNOWN
        if self.inside[place]:
            shown = _value_and_error(value, error, step if with_step or not step else None)
            # Where thresholds are whole numbers, decimals would be of no quantile.
            decimals = error >= 10.0 or (self.points % 1.0).any()
            return self.as_day(value, shown if decimals else (number(value, _DIGITS), shown[1]))
        side, end = "at most", value + 2 * error
        if value == self.points[-1]:
            side, end = "above", value - 2 * error if error else self.points[-2]
        return f"{side} {self.as_day(end, (number(end, _DIGITS), _END))[0]}", _END

    def as_day(self, value: float, shown: tuple[str, str]) -> tuple[str, str]:
        """Return a value of a date as a day, and its error in days."""
        if self.origin is None or shown[0] == NOT_KNOWN:
            return shown
        return day(value, self.origin), shown[1] + " days" * shown[1][-1].isdigit()

    @property
    def outer(self) -> int | None:
        """The quantile beyond an end of the grid that most rows are beyond, if any is."""
        known = self.known & ~self.inside
        shares = [self.share(place) for place in range(len(self.shares))]
        return int(np.argmax(np.where(known, shares, -1.0))) if known.any() else None

    def share(self, place: int) -> float:
        """Return the share of rows beyond an end of the grid, in percent."""
        share = self.shares[place]
        return 100.0 * float(1.0 - share if self.values[place] == self.points[-1] else share)

    def cell(self, place: int) -> str:
        """Return a quantile with its standard error."""
        return _with_error(*self.shown(place, with_step=True))


def _coarse(read: _Quantiles) -> tuple[str, ...]:
    """Say that the grid, and not the noise, tells hardly any of the values apart, if so."""
    shares, outer = read.shares, [int(np.argmin(read.shares)), int(np.argmax(read.shares))]
    # As Python's numbers, whose overflow is infinity.
    low, high = read.values[outer].tolist()
    step, error = (2.0 * float(np.median(each / 2.0)) for each in (read.steps, read.errors))
    few = high - low < _FEW_STEPS * step < math.inf and error <= step
    same = shares[outer[0]] == shares[outer[1]] or low == high == 0.0
    if same or not few or not read.inside[outer].all():
        return ()
    between = " and ".join(f"{100 * shares[place]:g} %" for place in outer)
    return (phrase("release.coarse", column=read.column, between=between, step=step),)


def _few_numbers(measured: Sequence[tuple[str, str]], steps: Sequence[float]) -> Table:
    """Show quantiles and the trimmed mean with standard errors and steps."""
    names = (
        *(f"{100 * p:g} % lie at or below" for p in _SHARES),
        f"Mean without {100 * _TRIMMED:g} % at either end",
    )
    rows = tuple(
        (name, *texts, _step(step) if texts[1] not in {NOT_KNOWN, _END} else "")
        for name, texts, step in zip(names, measured, steps, strict=True)
    )
    heads = "Measure", "Value", "Standard error", "Step"
    return Table("The distribution in a few numbers", heads, rows)


def _step(step: float) -> str:
    return number(step, 2) if math.isfinite(step) else NOT_KNOWN


def quantiles_findings(found: Quantiles) -> Findings:
    """Return the findings of the quantiles of several columns."""
    unit = found.privacy.unit
    read = _columns(found)
    rows = tuple((one.column, *map(one.cell, range(len(one.shares)))) for one in read)
    share = f"a share of the {unit.counted}s"
    caption = f"The value at or below which {share} lies, and its standard error"
    table = Table(caption, ("Column", *(f"{100 * p:g} %" for p in found.shares)), rows)
    return findings_of(
        found,
        what="quantiles of",
        of=", ".join(found.names),
        cards=(("Columns", str(len(found.names)), "share the budget equally"),),
        sections=(
            what_was_found(
                table,
                (phrase("release.step"), noise_and_sampling(_ERRORS, unit)),
                *_quantiles_picture(found),
            ),
        ),
        question=(": how the values of ", *listed(found.names, _MOST_TOLD), " are distributed"),
        conclusion=_middles(read, f"{unit.counted}s"),
        certainty=(noise_and_sampling("Brackets hold standard errors. They", unit),),
        settings=tuple(
            (f"Thresholds of {name}", grid_in_words(found.grids.get(name), whole=whole))
            for name, whole in zip(found.names, found.whole, strict=True)
        ),
        cautions=tuple(said for one in read for said in _coarse(one)),
    )


def _quantiles_picture(found: Quantiles) -> tuple[Picture, ...]:
    """Draw quantiles: those of several columns in each one's own spread, as units differ."""
    alone = len(found.names) == 1
    points = []
    for place, one in enumerate(_columns(found)):
        at = one.values[one.inside].clip(-1e307, 1e307)
        room = NORMAL_95 * one.errors[one.inside].clip(max=1e306)
        middle, spread = (0.0, 1.0) if alone or not at.size else (at[at.size // 2], np.ptp(at))
        ends = (np.stack([at, at - room, at + room]) - middle) / (spread or 1.0)
        points += [
            Point(value, place, (low, high), name=None if which else one.column)
            for which, (value, low, high) in enumerate(ends.T.tolist())
        ]
    if not points:
        return ()
    asked = ", ".join(f"{100 * share:g} %" for share in found.shares)
    spreads = "distance from the middle one, in spreads of the quantiles shown"
    return (
        rows_picture(
            "Quantiles" + (not alone) * ", each column in its own spread from its middle one",
            f"quantiles {asked}, with 95 % intervals",
            "value" if alone else spreads,
            points,
        ),
    )


def _columns(found: Quantiles) -> list[_Quantiles]:
    """Return the quantiles of each column."""
    origins = map(dates_of(found).get, found.names)
    parts = zip(found.values, found.errors, found.steps, found.points, origins, strict=True)
    return [
        _Quantiles(name, found.shares, *own) for name, own in zip(found.names, parts, strict=True)
    ]


def _value_and_error(value: float, error: float, step: float | None = None) -> tuple[str, str]:
    """Return a value on a grid and its standard error, as far as the noise leaves them known.

    A step is given where it is not shown next to them.
    """
    if not (math.isfinite(value) and math.isfinite(error)):
        return NOT_KNOWN, NOT_KNOWN
    # Quantiles lie on thresholds: 0 only says that the noise does not reach the next one.
    if error == 0:
        wide = "a step" if step is None else "1" if step == 0 else _step(step)
        return number(value, _DIGITS), f"less than {wide}"
    return with_error(value, error)


def _with_error(shown: str, error: str) -> str:
    if shown == NOT_KNOWN:
        return shown
    return f"{shown} (±{'' if error[:1].isdigit() else ' '}{error})"


def _middles(columns: Sequence[_Quantiles], counted: str) -> tuple[Text, ...]:
    """Give the middle of each column: the quantile of the share nearest to a half."""
    words: list[Text] = []
    for read in columns[:_MOST_TOLD]:
        place = int(np.argmin(np.abs(read.shares - 0.5)))
        words.append(sentence("release.middle", read=read, counted=counted, place=place))
    more = len(columns) - _MOST_TOLD
    return (*words, *((f"{more} more columns are below.",) * (more > 0)))


def _ecdf_picture(ecdf: ECDF, column: str, counted: str) -> Picture:
    low, high = _view(ecdf)
    places = low + (high - low) * np.linspace(0.0, 1.0, _STEPS)
    shares, errors = ecdf.cdf(places, return_std=True)
    return Picture(
        f"The share of {counted} up to each value of {column}",
        "the private curve and two standard errors on either side",
        axis(column, low, high),
        axis(f"share of {counted}", 0.0, 1.0),
        (
            Band(places, shares - 2 * errors, shares + 2 * errors, "two standard errors"),
            Line(places, shares, "private"),
        ),
    )


def _view(ecdf: ECDF) -> tuple[float, float]:
    """Return the range of most rows: noise may put a quantile at the ends of the grid."""
    low, left, right, high = ecdf.quantile([0.005, 0.25, 0.75, 0.995]).clip(-1e307, 1e307)
    if right > left:
        low, high = max(low, left - 5 * (right - left)), min(high, right + 5 * (right - left))
    return around(low, high)
