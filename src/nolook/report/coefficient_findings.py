"""The coefficients of a private regression: picture, table, and what to know of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.estimators.catalogue import called
from nolook.formats.files import one_line
from nolook.report import linear_words, logistic_words
from nolook.report.findings import Figure, Name, Section, Table, plain
from nolook.report.linear_words import (
    chosen_in_words,
    chosen_of,
    clipped_in_words,
    is_linear,
    legend,
    marked,
    withheld_in_words,
)
from nolook.report.logistic_words import classifies, odds_ratio
from nolook.report.picture import Axis, Picture, Point
from nolook.report.reference_levels import HOW_TO_READ, contrasts
from nolook.report.wording import CONFIDENCE, NOT_ESTIMATED, NOT_KNOWN, Ends, estimated, number

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor
    from nolook.report.findings import Text

__all__ = [
    "MOST_SHOWN",
    "Coefficient",
    "coefficient_section",
    "coefficients",
    "features_used",
    "knows_intervals",
]

#: How many coefficients a picture shows, the largest effects first: half a sheet holds them.
MOST_SHOWN = 20

_MOST_PRINTED = 20  # rows of coefficients
_MOST_NAMED = 5  # columns in a sentence
_INTERVAL = f"{CONFIDENCE} interval"
_WHEN = " when a column grows by its scale"

Vector: TypeAlias = NDArray[np.float64]


@frozen
class Coefficient:
    """One coefficient and its interval, if the method estimates one.

    `value` and `ends` are in units of the target per unit of the column; `effect` and
    `effect_ends` are the same times the column's scale, in units of the target.
    """

    name: str
    value: float
    ends: Ends | None
    effect: float
    effect_ends: Ends | None

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0; None if there is none."""
        return None if self.ends is None else self.ends[0] > 0 or self.ends[1] < 0


def coefficients(model: PrivateRegressor) -> tuple[Coefficient, ...]:
    """List the coefficients of a fitted model in its columns' order, without columns left out."""
    scale = model.scaling_.scale[:-1]
    ends: list[Ends | None] = [None] * len(scale)
    effect_ends = ends
    with np.errstate(over="ignore"):
        effects = np.nan_to_num(model.coef_ * scale)
        if model.coef_interval_ is not None:
            known = ~np.isnan(model.coef_interval_.sum(axis=1))
            ends = _ends(model.coef_interval_, known)
            effect_ends = _ends(np.nan_to_num(model.coef_interval_ * scale[:, None]), known)
    columns = (model.scaling_.names[:-1], model.coef_.tolist(), ends, effects.tolist(), effect_ends)
    kept = features_used(model).tolist()
    return tuple(Coefficient(*one) for one in compress(zip(*columns, strict=True), kept))


def _ends(intervals: Vector, known: NDArray[np.bool_]) -> list[Ends | None]:
    """Return the intervals, None for those that are withheld."""
    both = zip(intervals.tolist(), known.tolist(), strict=True)
    return [(low, high) if one else None for (low, high), one in both]


def features_used(model: PrivateRegressor) -> NDArray[np.bool_]:
    """Tell which features have a coefficient: neither dropped, nor left out by a choice."""
    used: NDArray[np.bool_] = ~_dropped(model) & chosen_of(model)
    return used


def _dropped(model: PrivateRegressor) -> NDArray[np.bool_]:
    """Tell which features the model leaves out, because nothing in them stood out."""
    left_out: NDArray[np.bool_] = ~model.scaling_.visible[:-1] & (model.coef_ == 0.0)
    return left_out


def coefficient_section(model: PrivateRegressor) -> Section:
    """Show the coefficients with their intervals, and say what these are for."""
    found = coefficients(model)
    target = model.scaling_.names[-1]
    omitted = "" if len(found) <= MOST_SHOWN else f" The {MOST_SHOWN} largest are drawn."
    figures: tuple[Figure, ...] = ()
    if found and not model.failed_:
        of = "the log-odds of " if classifies(model) else ""
        words = (
            f"Across is the change in {of}",
            Name(target),
            f"{_WHEN}, so that columns in different units can be compared. ",
            f"{_about_intervals(model, found)}{omitted}",
        )
        figures = (Figure(_picture(found, f"change in {of}{target}{_WHEN}"), words),)
    compared = contrasts(model)
    table = shown = _coefficient_table(model, found, compared)
    if len(found) > _MOST_PRINTED:
        kept = sorted(found, key=lambda one: -abs(one.effect))[: _MOST_PRINTED - 1]
        rows = tuple(row for row, one in zip(table.rows, found, strict=True) if one in kept)
        left = f"... {len(found) - len(kept)} smaller effects"
        shown = evolve(table, rows=(*rows, (left,)))
    about, in_short = _notes(model, found)
    dropped = _dropped_in_words(model)
    return Section(
        "coefficients",
        "Coefficients",
        figures=figures,
        tables=(table,),
        notes=(*((HOW_TO_READ,) if compared else ()), *about, *dropped),
        printed=(f"method: {called(model)}", shown, *in_short, *map(plain, dropped)),
    )


def _picture(found: Sequence[Coefficient], change: str) -> Picture:
    """Draw the effect of each column: a point for the coefficient, a line for its interval."""
    ordered = sorted(found, key=lambda one: -abs(one.effect))[:MOST_SHOWN]
    limit = _limit(ordered)
    # A round number on either side of 0, and lines half-way, whose numbers would not fit.
    decade = 10.0 ** math.floor(math.log10(limit))
    step = max(s * decade for s in (0.8, 1.0, 2.0, 4.0, 6.0, 8.0) if s * decade <= 0.92 * limit)
    ticks = [(share * step, number(share * step)) for share in (-1, 0, 1)]
    ticks += [(share * step, "") for share in (-0.5, 0.5)]
    lines = any(one.ends is not None for one in ordered)
    return Picture(
        f"The {change}",
        f"points are coefficients, lines {CONFIDENCE} intervals; a hollow point may be noise"
        if lines
        else "points are coefficients; no intervals are known",
        Axis(change, -limit, limit, tuple(ticks), zero=0.0),
        Axis("", -0.5, len(ordered) - 0.5),
        tuple(
            Point(one.effect, place, one.effect_ends, one.clear, one.name, _in_words(one))
            for place, one in enumerate(ordered)
        ),
        rows=True,
    )


def _limit(found: Sequence[Coefficient]) -> float:
    """Return half the width of the axis: all points fit, and at least half the intervals.

    One wild interval would otherwise squeeze all others into a dot; it gets an arrow instead.
    """
    points = max(abs(one.effect) for one in found)
    ends = [max(map(abs, one.effect_ends or (one.effect,))) for one in found]
    room = max(1.5 * points, 3 * min(statistics.median_high(ends), 1e307))
    limit = min(max(ends), room)
    # Below the smallest normal double the ratios of the picture would lose their digits.
    return 1.05 * min(limit, 1e307) if limit > 1e-300 else 1.0


def _in_words(one: Coefficient) -> str:
    value, ends = estimated(one.effect, one.effect_ends, "")
    return f"{one_line(one.name)}: {value}{f' ({ends})' if ends else ''}"


def knows_intervals(model: PrivateRegressor) -> bool:
    """Tell whether the model has any interval."""
    if model.intercept_interval_ is not None:
        return True
    return model.coef_interval_ is not None and not np.isnan(model.coef_interval_).all()


def _notes(
    model: PrivateRegressor, found: tuple[Coefficient, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what holds for these coefficients, at length and in short."""
    known = knows_intervals(model)
    if not is_linear(model):
        return (), () if known else (_about_intervals(model, found),)
    clipped, chosen = clipped_in_words(model, features_used(model)), chosen_in_words(model)
    missing = model.intercept_interval_ is None or any(one.ends is None for one in found)
    why = (withheld_in_words(model),) if missing and not chosen else ()
    rest = (*why, *clipped, *chosen)
    words = logistic_words if classifies(model) else linear_words
    return (*(words.purpose(model) * known), *rest), (
        *((words.purpose_in_short(model),) * known),
        *rest,
    )


def _coefficient_table(
    model: PrivateRegressor, found: tuple[Coefficient, ...], compared: dict[str, str]
) -> Table:
    known, missing = knows_intervals(model), NOT_KNOWN if is_linear(model) else NOT_ESTIMATED
    starred = set(compress(model.scaling_.names, marked(model).tolist()))

    def cells(name: str, value: float, ends: Ends | Vector | None) -> tuple[str, ...]:
        shown, between = estimated(value, ends, missing)
        return name, shown, *((between,) if known else ())

    heads = ("Column", "Coefficient", *((_INTERVAL,) if known else ()))
    log_odds = classifies(model)
    of, last = ("the log-odds of ", "Odds ratio") if log_odds else ("", "Times scale")
    caption = f"Coefficients: the change in {of}the target for one unit of the column"
    intercept = cells("intercept", model.intercept_, model.intercept_interval_)
    if not found:
        return Table(caption, heads, (intercept,))
    rows = []
    for one in found:
        name = f"{compared.get(one.name, one.name)}{' *' * (one.name in starred)}"
        beside = (
            odds_ratio(one.value, one.ends)
            if log_odds
            else estimated(one.effect, one.effect_ends)[0]
        )
        rows.append((*cells(name, one.value, one.ends), beside))
    return Table(caption, (*heads, last), tuple(rows), (*intercept, ""))


def _dropped_in_words(model: PrivateRegressor) -> tuple[Text, ...]:
    names = list(compress(model.scaling_.names, _dropped(model).tolist()))
    if not names:
        return ()
    listed = [piece for name in names[:_MOST_NAMED] for piece in (", ", Name(name))]
    more = len(names) - _MOST_NAMED
    last = f" and {more} more" if more > 0 else ""
    return (("Dropped: nothing stood out from the noise in ", *listed[1:], f"{last}."),)


def _about_intervals(model: PrivateRegressor, found: tuple[Coefficient, ...]) -> str:
    if is_linear(model):
        lines = sum(one.ends is not None for one in found)
        return legend(len(found) - lines) if lines else ""
    if model.coef_interval_ is None:
        return (
            "This method estimates no intervals, so how far sampling and privacy noise have moved "
            "a coefficient is unknown."
        )
    return (
        f"Lines are {CONFIDENCE} intervals that cover sampling and privacy noise. A filled point's "
        "interval leaves out 0; a hollow point may be noise. An arrow marks an interval that runs "
        "off the picture."
    )
