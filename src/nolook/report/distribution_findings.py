"""Reports of private distributions, and of other tables of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from nolook._arrays import Flags, Vector
from nolook._unit import Unit
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.intervals import NORMAL_95
from nolook.estimators.ecdf import ECDF
from nolook.estimators.quantiles import Quantiles
from nolook.report.findings import (
    Figure,
    Findings,
    Section,
    Table,
    Text,
    dates_of,
    findings_of,
)
from nolook.report.picture import Band, Line, Picture, Point, around, axis, rows_picture
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import (
    INTERVAL,
    NOT_KNOWN,
    day,
    estimated,
    grid_in_words,
    number,
)

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
_LARGEST = 1e300  # the grid of all doubles ends where no value is


def noise_and_sampling(unit: Unit, errors: str = "") -> str:
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
    values, bounds = ecdf.quantile(_SHARES, return_interval=True)
    shares, origin = np.array(_SHARES), dates_of(ecdf).get(column)
    read = _Quantiles(column, shares, values, bounds, ecdf.grid, origin)
    half = _SHARES.index(0.5)
    middle, ends = read.shown(half)
    picture = _ecdf_picture(ecdf, column, counted)
    covered = noise_and_sampling(unit, "Intervals")
    table = Table(
        "The distribution in a few numbers",
        ("Measure", "Value", INTERVAL),
        (
            *((f"{100 * p:g} % lie at or below", *read.shown(i)) for i, p in enumerate(_SHARES)),
            (f"Mean without {100 * _TRIMMED:g} % at either end", *_trimmed_mean(ecdf, read)),
        ),
    )
    return findings_of(
        ecdf,
        what="distribution of",
        of=column,
        cards=(("Median", middle, f"{INTERVAL} {ends}" if read.inside[half] else ends),),
        question=sentence("questions.values", names=[column]),
        conclusion=(sentence("release.where", read=read, counted=counted),),
        certainty=(covered,),
        sections=(what_was_found(table, (phrase("release.free"), covered), picture),),
        settings=(
            ("Column", column),
            ("Thresholds", grid_in_words(ecdf.grid, whole=ecdf.distribution_.whole)),
        ),
    )


@frozen(eq=False)
class _Quantiles:
    """Quantiles of a column, and the ends of their intervals."""

    column: str
    shares: Vector
    values: Vector
    ends: Vector  # shape (k, 2)
    grid: LinearGrid | LogGrid | None = None  # declared
    origin: str | None = None  # of a date

    @property
    def bounds(self) -> Vector:
        """The ends, infinite where they say nothing of where values lie."""
        ends = np.where(np.abs(self.ends) < _LARGEST, self.ends, [-np.inf, np.inf])
        inside, room = np.isfinite(ends).all(axis=1), np.diff(ends / 2.0)[:, 0]
        spread = np.ptp(self.values[inside] / 2.0) if inside.any() else 0.0
        known = room <= 2.0 * np.maximum(spread, np.abs(self.values / 2.0))
        return np.where((known | ~inside)[:, np.newaxis], ends, [-np.inf, np.inf])

    @property
    def inside(self) -> Flags:
        """Those whose intervals have two ends."""
        return np.asarray(np.isfinite(self.bounds).all(axis=1))

    def shown(self, place: int) -> tuple[str, str]:
        """Return a quantile and its interval; with one end, on which side of it the quantile is."""
        low, high = self.bounds[place].tolist()
        if self.inside[place]:
            return estimated(self.values[place], (low, high), origin=self.origin)
        side, end, no = ("most", high, "lower") if math.isinf(low) else ("least", low, "upper")
        if math.isinf(end):
            return NOT_KNOWN, NOT_KNOWN
        words = number(end, 6) if self.origin is None else day(end, self.origin)
        return f"at {side} {words}", f"no {no} end"

    @property
    def outer(self) -> int | None:
        """The quantile with one end only that most rows are beyond, if there is any."""
        shares = np.array([self.share(place) for place in range(len(self.shares))])
        known = np.isfinite(self.bounds).any(axis=1) & ~self.inside & (shares > 0.0)
        return int(np.argmax(np.where(known, shares, -1.0))) if known.any() else None

    def share(self, place: int) -> float:
        """Return the share of rows beyond that end, in percent."""
        share = self.shares[place]
        return 100.0 * float(1.0 - share if math.isinf(self.bounds[place, 1]) else share)

    def cell(self, place: int) -> str:
        """Return a quantile with its interval."""
        shown, ends = self.shown(place)
        return f"{shown} ({ends})" if self.inside[place] else shown


def _trimmed_mean(ecdf: ECDF, read: _Quantiles) -> tuple[str, str]:
    """Return the mean and its interval, as far as the quantiles are known."""
    mean, error = ecdf.trimmed_mean(_TRIMMED, return_std=True)
    low = mean - ecdf.distribution_.mean_step(_TRIMMED) - NORMAL_95 * error
    if not (read.inside.all() and math.isfinite(low)):
        return NOT_KNOWN, NOT_KNOWN
    return estimated(mean, (low, mean + NORMAL_95 * error), origin=read.origin)


def quantiles_findings(found: Quantiles) -> Findings:
    """Return the findings of the quantiles of several columns."""
    unit = found.privacy.unit
    read = _columns(found)
    rows = tuple((one.column, *map(one.cell, range(len(one.shares)))) for one in read)
    caption = f"The value at or below which a share of the {unit.counted}s lies, and its {INTERVAL}"
    table = Table(caption, ("Column", *(f"{100 * p:g} %" for p in found.shares)), rows)
    covered = noise_and_sampling(unit)
    return findings_of(
        found,
        what="quantiles of",
        of=", ".join(found.names),
        sections=(what_was_found(table, (covered,), *_quantiles_picture(read)),),
        question=sentence("questions.values", names=found.names),
        conclusion=_middles(read, f"{unit.counted}s"),
        certainty=(covered,),
        settings=tuple(
            (f"Thresholds of {name}", grid_in_words(found.grids.get(name), whole=whole))
            for name, whole in zip(found.names, found.whole, strict=True)
        ),
    )


def _quantiles_picture(read: Sequence[_Quantiles]) -> tuple[Picture, ...]:
    """Draw the quantiles of a column; of several the units differ."""
    one, *others = read
    ends = np.column_stack([one.values, one.bounds])[one.inside]
    points = [
        Point(value, 0, (low, high), name=None if which else one.column)
        for which, (value, low, high) in enumerate(ends.tolist())
    ]
    if others or not points:
        return ()
    asked = ", ".join(f"{100 * share:g} %" for share in one.shares)
    return (rows_picture("Quantiles", f"quantiles {asked}, with 95 % intervals", "value", points),)


def _columns(found: Quantiles) -> list[_Quantiles]:
    """Return the quantiles of each column."""
    grids, dates = found.grids, dates_of(found)
    return [
        _Quantiles(name, found.shares, at, ends, grids.get(name), dates.get(name))
        for name, at, ends in zip(found.names, found.values, found.ends, strict=True)
    ]


def _middles(columns: Sequence[_Quantiles], counted: str) -> tuple[Text, ...]:
    """Give the middle of the first columns: the quantile of the share nearest to a half."""
    place = int(np.argmin(np.abs(columns[0].shares - 0.5)))
    return tuple(
        sentence("release.middle", read=each, counted=counted, place=place)
        for each in columns[:_MOST_TOLD]
    )


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
