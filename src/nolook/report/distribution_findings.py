"""What a report says of private distributions, and of other tables of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.grids import steps_below
from nolook.algorithms.roc_noise import NORMAL_95
from nolook.report.findings import Figure, Findings, Name, Provenance, Section, Table, Text, listed
from nolook.report.picture import Axis, Band, Line, Picture, Point, around, axis
from nolook.report.wording import grid_in_words, number, with_error

if TYPE_CHECKING:
    from nolook._unit import Unit
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.quantiles import Quantiles

__all__ = ["ecdf_findings", "noise_only", "quantiles_findings", "what_was_found"]

Vector = NDArray[np.float64]

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_TRIMMED = 0.05
_MOST_TOLD = 3  # columns with a sentence of their own
_STEPS = 600  # of a drawn curve

_UNKNOWN = "unknown"
_ERRORS = "Standard errors"
_STEP = (
    "A value between two thresholds of the grid counts as the upper one, so what is shown may be "
    "up to a step too high."
)
#: Steps of the grid between the outer quantiles below which a reader must know of it.
_FEW_STEPS = 4
_FREE = "The file answers any other question about this distribution at no further cost."


def noise_only(errors: str, unit: Unit) -> str:
    """Say what standard errors or intervals leave out."""
    one = unit.protected
    return (
        f"{errors} cover the noise that protects the {one}s; they do not cover that the {one}s may "
        "be a sample."
    )


def what_was_found(
    table: Table,
    notes: tuple[str, ...],
    *pictures: Picture,
    name: str = "found",
    heading: str = "What was found",
) -> Section:
    """Return the section with the numbers of a release and perhaps pictures of them."""
    figures = tuple(Figure(one, f"{one.title}: {one.legend}.") for one in pictures)
    return Section(name, heading, (), figures, (table,), notes, printed=(table, *notes))


def ecdf_findings(ecdf: ECDF) -> Findings:
    """Say what the distribution of a column is."""
    unit, (column,) = ecdf.privacy.unit, ecdf.read_options["features"]
    counted = f"{unit.counted}s"
    values, errors = ecdf.quantile(_SHARES, return_std=True)
    mean, mean_error = ecdf.trimmed_mean(_TRIMMED, return_std=True)
    rows = f"{ecdf.n_rows_:,.0f}"
    error = number(math.sqrt(ecdf.distribution_.noise.rows_variance), 2)
    if ecdf.relation == "replace":
        error = "none, it is public"
    steps = steps_below(ecdf.distribution_.points, values)
    mean_step = ecdf.distribution_.mean_step(_TRIMMED)
    known = tuple(map(_value_and_error, values, errors))
    half = _SHARES.index(0.5)
    middle, middle_error = _value_and_error(values[half], errors[half], steps[half])
    measured = [*known, _value_and_error(mean, mean_error)]
    table = _few_numbers(counted, (rows, error), measured, [*steps, mean_step])
    return Findings(
        kind="distribution",
        what="distribution of",
        of=column,
        provenance=Provenance.of(ecdf),
        cards=(
            (counted.capitalize(), rows, f"standard error {error}"),
            ("Median", middle, f"standard error {middle_error}"),
        ),
        question=(": where the values of ", Name(column), " lie"),
        conclusion=_where(column, counted, known),
        certainty=(
            f"The standard error of the median is {middle_error}.",
            noise_only(_ERRORS, unit),
        ),
        sections=(
            what_was_found(
                table,
                (_STEP, _FREE, noise_only(_ERRORS, unit)),
                _ecdf_picture(ecdf, column, counted),
            ),
        ),
        cautions=_coarse(column, _SHARES, values, errors, steps),
        settings=(
            ("Column", column),
            ("Thresholds", grid_in_words(ecdf.grid)),
            ("Smoothing", ecdf.smoothing or "none"),
        ),
    )


def _coarse(
    column: str, shares: Sequence[float], values: Vector, errors: Vector, steps: Vector
) -> tuple[str, ...]:
    """Say that the grid, and not the noise, tells hardly any of the values apart, if so."""
    outer = int(np.argmin(shares)), int(np.argmax(shares))
    # As Python's numbers, whose overflow is infinity.
    low, high = values[list(outer)].tolist()
    step = float(np.median(steps))
    few = high - low < _FEW_STEPS * step < math.inf and float(np.median(errors)) <= step
    if shares[outer[0]] == shares[outer[1]] or low == high == 0.0 or not few:
        return ()
    between = " and ".join(f"{100 * shares[place]:g} %" for place in outer)
    said = (
        f"The grid has few steps between the quantiles of {column} at {between}, as they are "
        f"{number(step, 2)} wide: values that differ by less are not told apart. If you know where "
        "they lie without looking, release them with a grid of your own."
    )
    return (said,)


def _few_numbers(
    counted: str,
    rows: tuple[str, str],
    measured: Sequence[tuple[str, str]],
    steps: Sequence[float],
) -> Table:
    """Show the number of rows; quantiles and the trimmed mean with standard errors and steps."""
    names = (
        *(f"{100 * p:g} % lie at or below" for p in _SHARES),
        f"Mean without {100 * _TRIMMED:g} % at either end",
    )
    return Table(
        "The distribution in a few numbers",
        ("Measure", "Value", "Standard error", "Step"),
        (
            (f"Number of {counted}", *rows, ""),
            *(
                (name, *texts, _step(step) if texts[0] != _UNKNOWN else "")
                for name, texts, step in zip(names, measured, steps, strict=True)
            ),
        ),
    )


def _step(step: float) -> str:
    return number(step, 2) if math.isfinite(step) else _UNKNOWN


def quantiles_findings(found: Quantiles) -> Findings:
    """Say what the quantiles of several columns are."""
    unit = found.privacy.unit
    rows = tuple(
        (
            name,
            *(
                f"{value} ({'±' if error[:1].isdigit() else ''}{error})"
                for value, error in map(_value_and_error, values, errors, steps)
            ),
        )
        for name, values, errors, steps in _columns(found)
    )
    table = Table(
        f"The value at or below which a share of the {unit.counted}s lies, and its standard error",
        ("Column", *(f"{100 * p:g} %" for p in found.shares)),
        rows,
    )
    return Findings(
        kind="quantiles",
        what="quantiles of",
        of=", ".join(found.names),
        provenance=Provenance.of(found),
        cards=(("Columns", str(len(found.names)), "share the budget equally"),),
        sections=(
            what_was_found(table, (_STEP, noise_only(_ERRORS, unit)), *_quantiles_picture(found)),
        ),
        question=(": where the values of ", *listed(found.names, _MOST_TOLD), " lie"),
        conclusion=_middles(found),
        certainty=(noise_only("Brackets hold standard errors. They", unit),),
        settings=tuple(
            (f"Thresholds of {name}", grid_in_words(found.grids.get(name))) for name in found.names
        ),
        cautions=tuple(
            said
            for name, *read in _columns(found)
            for said in _coarse(name, found.shares.tolist(), *read)
        ),
    )


def _quantiles_picture(found: Quantiles) -> tuple[Picture, ...]:
    """Draw quantiles: those of several columns in each one's own spread, as units differ."""
    alone = len(found.names) == 1
    points = []
    for place, (name, values, errors, _) in enumerate(_columns(found)):
        known = np.isfinite(values)
        at = values[known].clip(-1e307, 1e307)
        room = NORMAL_95 * np.where(np.isfinite(errors), errors, 0.0)[known].clip(max=1e306)
        middle, spread = (0.0, 1.0) if alone or not at.size else (at[at.size // 2], np.ptp(at))
        ends = (np.stack([at, at - room, at + room]) - middle) / (spread or 1.0)
        points += [
            Point(value, place, (low, high), name=None if which else name)
            for which, (value, low, high) in enumerate(ends.T.tolist())
        ]
    if not points:
        return ()
    reached = [end for one in points for end in one.ends or ()]
    asked = ", ".join(f"{100 * share:g} %" for share in found.shares)
    spreads = "distance from the middle one, in spreads of the quantiles shown"
    return (
        Picture(
            "Quantiles" + (not alone) * ", each column in its own spread from its middle one",
            f"quantiles {asked}, with 95 % of the noise",
            axis("value" if alone else spreads, *around(min(reached), max(reached))),
            Axis("", -0.5, len(found.names) - 0.5),
            tuple(points),
            rows=True,
        ),
    )


def _columns(found: Quantiles) -> list[tuple[str, Vector, Vector, Vector]]:
    """Return of each column its name, quantiles, their errors and the steps below them."""
    return list(zip(found.names, found.values, found.errors, found.steps, strict=True))


def _value_and_error(value: float, error: float, step: float | None = None) -> tuple[str, str]:
    """Return what lies on a grid and its standard error, as far as they are known.

    A step is said where it is not shown beside them.
    """
    if not math.isfinite(value):
        return _UNKNOWN, _UNKNOWN
    # Quantiles lie on thresholds: 0 only says that the noise does not reach the next one.
    if error == 0:
        wide = "" if step is None else f" of {_step(step)}"
        return number(value, 6), f"under one step{wide}"
    return with_error(value, error) if math.isfinite(error) else (number(value, 6), _UNKNOWN)


def _where(column: str, counted: str, known: Sequence[tuple[str, str]]) -> tuple[Text, ...]:
    """Say where half and where nine in ten lie."""
    (low, _), *_, (high, _) = known
    middle, _ = known[_SHARES.index(0.5)]
    if _UNKNOWN in {low, middle, high}:
        return (("Nothing can be said of where the values of ", Name(column), " lie."),)
    return (
        (f"Half of the {counted} have a value of ", Name(column), f" up to {middle}."),
        f"Nine in ten lie between {low} and {high}.",
    )


def _middles(found: Quantiles) -> tuple[Text, ...]:
    """Say where the middle of each column lies: of the share nearest to a half."""
    nearest = int(np.argmin(np.abs(found.shares - 0.5)))
    share = f"{100 * found.shares[nearest]:g} %"
    words: list[Text] = []
    for name, values, errors, steps in _columns(found):
        value, error = _value_and_error(values[nearest], errors[nearest], steps[nearest])
        if value == _UNKNOWN:
            words.append(("Nothing can be said of where the values of ", Name(name), " lie."))
            continue
        counted, off = f"{found.privacy.unit.counted}s", "±" if error[:1].isdigit() else ""
        words.append(
            (
                f"{share} of the {counted} have a value of ",
                Name(name),
                f" up to {value} ",
                f"({off}{error}).",
            )
        )
    more = len(words) - _MOST_TOLD
    return (*words[:_MOST_TOLD], *((f"{more} more columns are below.",) * (more > 0)))


def _ecdf_picture(ecdf: ECDF, column: str, counted: str) -> Picture:
    low, high = _view(ecdf)
    places = low + (high - low) * np.linspace(0.0, 1.0, _STEPS)
    shares, errors = ecdf.cdf(places, return_std=True)
    return Picture(
        f"The share of {counted} up to each value of {column}",
        "the private curve and two standard errors of its noise on either side",
        axis(column, low, high),
        axis(f"share of {counted}", 0.0, 1.0),
        (
            Band(
                places, shares - 2 * errors, shares + 2 * errors, "two standard errors of the noise"
            ),
            Line(places, shares, "private"),
        ),
    )


def _view(ecdf: ECDF) -> tuple[float, float]:
    """Return where most of the rows lie: noise may put a quantile at the ends of the grid."""
    low, left, right, high = ecdf.quantile([0.005, 0.25, 0.75, 0.995]).clip(-1e307, 1e307)
    if right > left:
        low, high = max(low, left - 5 * (right - left)), min(high, right + 5 * (right - left))
    return around(low, high)
