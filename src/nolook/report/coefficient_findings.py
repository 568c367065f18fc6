"""The coefficients of a private regression: picture, table, and what to know of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import compress

from attrs import evolve

from nolook.algorithms.glm.inference import MOST_CLIPPED
from nolook.estimators.base import PrivateModel
from nolook.estimators.catalogue import called
from nolook.estimators.result import Coefficient
from nolook.formats.files import one_line
from nolook.report.findings import Figure, Section, Table
from nolook.report.model_words import at_most, words_of
from nolook.report.picture import Axis, Picture, Point, axis
from nolook.report.reference_levels import contrasts
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import INTERVAL, NOT_KNOWN, estimated, with_ends

__all__ = ["MOST_SHOWN", "by_effect", "coefficient_section", "knows_intervals"]

#: How many coefficients a picture shows, the largest effects first: half a sheet holds them.
MOST_SHOWN = 20

_MOST_PRINTED = 20  # rows of coefficients


def coefficient_section(model: PrivateModel, *, selected: bool = False) -> Section:
    """Show the coefficients with their intervals, and say what these are for."""
    found, words = model.coefficients[:-1], words_of(model)
    figures: tuple[Figure, ...] = ()
    if any(one.ends for one in found) and not model.failed_:
        caption = words.sentence(
            "picture_caption",
            target=words.target,
            omitted=MOST_SHOWN if len(found) > MOST_SHOWN else None,
            legend=_about_intervals(model),
        )
        change = words.phrase("changed", target=words.target, by_scale=True)
        figures = (Figure(_picture(found, change, words.no_interval), caption),)
    compared = contrasts(model)
    table = shown = _coefficient_table(model, compared)
    if len(found) > _MOST_PRINTED:
        kept = by_effect(found)[: _MOST_PRINTED - 1]
        rows = tuple(row for row, one in zip(table.rows, found, strict=True) if one in kept)
        left = phrase("model.more_columns", left=len(found) - len(kept))
        shown = evolve(table, rows=(*rows, (left,)))
    about, in_short = _notes(model, selected=selected)
    left_out = list(compress(model.scaling_.names, model.dropped.tolist()))
    more = [sentence("model.all_levels", names=each) for each in model.level_sets_]
    if left_out:
        more.append(sentence("model.dropped", names=left_out))
    reading = phrase("model.how_to_read_contrasts", missing=model.read_options_["missing"])
    notes = (*(reading,) * bool(compared), *about, *more)
    printed = (phrase("model.method", called=called(model)), shown, *in_short, *more)
    return Section("coefficients", "Coefficients", (), figures, (table,), notes, printed=printed)


def by_effect(found: Sequence[Coefficient]) -> list[Coefficient]:
    """Sort coefficients by effect; those without an interval come last, in their own order."""
    return sorted(found, key=lambda one: -abs(one.effect) if one.ends else math.inf)


def _picture(found: Sequence[Coefficient], change: str, unknown: str) -> Picture:
    """Draw the effect of each column: a point for the coefficient, a line for its interval.

    A coefficient without an interval is a cross at 0.
    """
    ordered = by_effect(found)[:MOST_SHOWN]
    limit = _limit([one for one in ordered if one.ends])
    effects = [with_ends(one.effect, one.effect_ends) for one in ordered]
    return Picture(
        f"The {change}",
        phrase("model.picture_legend"),
        evolve(axis(change, -limit, limit), zero=0.0),
        Axis("", -0.5, len(ordered) - 0.5),
        tuple(
            Point(
                one.effect if one.ends else 0.0,
                place,
                one.effect_ends,
                one.clear,
                one.name,
                f"{one_line(one.name)}: {words if one.ends else unknown}",
            )
            for place, (one, words) in enumerate(zip(ordered, effects, strict=True))
        ),
        rows=True,
    )


def _limit(found: Sequence[Coefficient]) -> float:
    """Return half the width of the axis: all points fit, and at least half the intervals.

    One wild interval would otherwise squeeze all others into a dot; it gets an arrow instead.
    """
    points = max(abs(one.effect) for one in found)
    ends = [max(map(abs, one.effect_ends or (one.effect,))) for one in found]
    limit = min(max(ends), max(1.5 * points, 3 * min(statistics.median_high(ends), 1e307)))
    # Below the smallest normal double the ratios of the picture would lose their digits.
    return 1.05 * min(limit, 1e307) if limit > 1e-300 else 1.0


def knows_intervals(model: PrivateModel) -> bool:
    """Tell whether the model has any interval."""
    return any(one.ends for one in model.coefficients)


def _notes(model: PrivateModel, *, selected: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the notes on these coefficients, at length and in short."""
    known, words = knows_intervals(model), words_of(model)
    if not words.estimates_errors:
        about = () if known else (_about_intervals(model),)
        return about, about
    unit, rest = model.privacy.unit, [*words.clipped()]
    if selected or model.chosen_ is not None:
        rest.append(phrase("model.selected_before"))
    elif any(one.ends is None for one in model.coefficients):
        most = at_most(MOST_CLIPPED)
        rest.insert(0, phrase("model.withheld", several=unit.max_rows > 1, most_clipped=most))
    if not known:
        return tuple(rest), tuple(rest)
    purpose = words.phrase("purpose", one=unit.protected, usual_effect=words.usual_effect)
    return (purpose, phrase("model.shrunk"), *rest), (words.phrase("purpose_in_short"), *rest)


def _coefficient_table(model: PrivateModel, compared: dict[str, str]) -> Table:
    known, words = knows_intervals(model), words_of(model)
    starred = set(compress(model.scaling_.names, words.marked().tolist()))

    *found, intercept = model.coefficients
    some = any(one.ends for one in found)

    def cells(one: Coefficient, name: str, last: str = "") -> tuple[str, ...]:
        value, between = estimated(one.value, one.ends, words.no_interval)
        value = value if one.ends else NOT_KNOWN if known else "not given"
        return name, value, *((between,) * known), *((last,) * some)

    rows = []
    for one in found:
        name = f"{compared.get(one.name, one.name)}{' *' * (one.name in starred)}"
        rows.append(cells(one, name, words.last_cell(one) if one.ends else ""))
    heads = ("Column", "Coefficient", *((INTERVAL,) * known), *((words.last_head,) * some))
    caption, last = words.phrase("coefficients_caption"), cells(intercept, intercept.name)
    return Table(caption, heads, tuple(rows) or (last,), last if rows else ())


def _about_intervals(model: PrivateModel) -> str:
    estimates = words_of(model).estimates_errors
    return phrase(
        "model.about_intervals",
        estimates_errors=estimates,
        drawn=knows_intervals(model) if estimates else model.coef_interval_ is not None,
    )
