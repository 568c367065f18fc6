"""Reports of groups that are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from nolook.report.distribution_findings import noise_and_sampling, what_was_found
from nolook.report.findings import Findings, Name, Provenance, Table, Text
from nolook.report.picture import DASHES, Axis, Band, Line, Picture, around, axis
from nolook.report.sentences import phrase, sentence
from nolook.report.tabulation_findings import MISSING
from nolook.report.wording import CONFIDENCE, NOT_KNOWN, estimated, number, percent, rows_in_words

if TYPE_CHECKING:
    from nolook._unit import Unit
    from nolook.algorithms.roc_noise import Measure
    from nolook.algorithms.survival import Curve
    from nolook.estimators.comparison import GroupComparison, Pair
    from nolook.estimators.survival import SurvivalCurve
    from nolook.report.picture import Vector

__all__ = ["comparison_findings", "survival_findings"]

_LEAST_P = 0.001
_TOO_FEW = "too few rows"


def comparison_findings(found: GroupComparison) -> Findings:
    """Report a comparison of groups."""
    unit, first = found.privacy.unit, found.groups[0]
    tested = len(found.groups) > 2 and found.p_value is not None
    overall = (phrase("groups.overall", p=_p_value(found.p_value, unit)),) * tested
    few = [pair.p_values is None for pair in found.pairs]
    not_tested = "groups.not_independent" if unit.max_rows > 1 else "groups.too_few"
    notes = (*overall, phrase("groups.about"), *((phrase(not_tested),) * any(few)))
    intervals = _interval(unit, "s")
    heads = ("Group", f"{unit.counted.capitalize()}s with a value", _mean(found))
    groups = tuple(_group(found, place) for place in range(len(found.groups)))
    compared = (f"Compared with {first}", "Difference", "Higher", "p-value", "Distance", "p-value")
    section = what_was_found(
        Table(
            f"Differences and probabilities of a higher value, with {intervals}",
            compared,
            tuple(_pair(found, pair) for pair in found.pairs),
        ),
        notes,
        _picture(found),
    )
    means = Table(f"Groups, with {intervals}", heads, groups)
    section = evolve(section, tables=(means, *section.tables), printed=(means, *section.printed))
    card = _pair(found, found.pairs[0])
    return Findings(
        kind=found.kind,
        what=f"comparison of groups by {found.by}:",
        of=found.value,
        provenance=evolve(Provenance.of(found), missing=MISSING),
        cards=(
            ("Difference", card[1], f"{found.groups[1]} less {first}"),
            ("p-value", card[3], "rank test, small if groups differ"),
        ),
        sections=(section,),
        settings=(("Value", found.value), ("Groups", found.by), ("Compared with", first)),
        rows=(found.n_rows, found.n_rows_error),
        question=(": whether ", Name(found.value), " differs by ", Name(found.by)),
        conclusion=(*(_said(found, pair) for pair in found.pairs), *overall),
        certainty=(_certainty(unit),),
    )


def _p_value(p_value: float | None, unit: Unit) -> str:
    """Return a p-value, or why there is none."""
    if p_value is None:
        return NOT_KNOWN if unit.max_rows > 1 else _TOO_FEW
    return f"{_LEAST_P:g} or less" if p_value <= _LEAST_P else number(p_value, 2)


def _mean(found: GroupComparison) -> str:
    return f"Share of {found.value}" if found.boolean else f"Mean of {found.value}"


def _amount(found: GroupComparison, value: float, ends: tuple[float, float]) -> tuple[str, str]:
    return percent(value, ends) if found.boolean else estimated(value, ends)


def _group(found: GroupComparison, place: int) -> tuple[str, ...]:
    group = found.forests.groups[place]
    rows, _ = rows_in_words(group.rows, math.sqrt(group.rows_variance), found.privacy.unit.counted)
    mean, low, high, *noise = (float(each[place]) for each in found.means)
    if math.isnan(mean):
        return found.groups[place], rows, NOT_KNOWN
    ends = (noise[0], noise[1]) if found.privacy.unit.max_rows > 1 else (low, high)
    shown, between = _amount(found, mean, ends)
    return found.groups[place], rows, f"{shown} ({between})"


def _pair(found: GroupComparison, pair: Pair) -> tuple[str, ...]:
    numbers = [NOT_KNOWN, NOT_KNOWN]
    for place, each in enumerate((pair.difference, pair.exceeds)):
        if each is not None:
            ends = (each.low, each.high)
            shown = percent(each.value, ends) if place else _amount(found, each.value, ends)
            numbers[place] = f"{shown[0]} ({shown[1]})"
    tests = pair.p_values
    ranks, distance = (tests.ranks, tests.distance) if tests is not None else (None, None)
    far = NOT_KNOWN if pair.distance is None else number(pair.distance, 2)
    unit = found.privacy.unit
    return pair.group, *numbers, _p_value(ranks, unit), far, _p_value(distance, unit)


def _said(found: GroupComparison, pair: Pair) -> Text:
    first, each = found.groups[0], pair.difference
    if each is None:
        return sentence("groups.hidden", group=pair.group, first=first)
    group, other = pair.group, first
    if each.value < 0.0:
        group, other, each = other, group, _reversed(each)
    amount, interval = _amount(found, each.value, (each.low, each.high))
    return sentence(
        "groups.difference",
        value=found.value,
        group=group,
        first=other,
        amount=amount,
        interval=f"{_interval(found.privacy.unit)} {interval}",
        boolean=found.boolean,
        clear=each.low > 0.0,
    )


def _interval(unit: Unit, several: str = "") -> str:
    """Name the intervals: for rows that may be alike they cover the noise only."""
    return f"{CONFIDENCE} interval{several}" + " of the noise" * (unit.max_rows > 1)


def _certainty(unit: Unit) -> str:
    if unit.max_rows > 1:
        return phrase("groups.of_noise", one=unit.protected)
    return noise_and_sampling(f"{CONFIDENCE} intervals", unit)


def _reversed(each: Measure) -> Measure:
    return evolve(each, value=-each.value, low=-each.high, high=-each.low)


def legend(groups: Sequence[str]) -> str:
    """Return the line of each group in words."""
    return ", ".join(f"{dash}: {group}" for dash, group in zip(DASHES, groups, strict=False))


def _picture(found: GroupComparison) -> Picture:
    kept = range(min(len(found.groups), len(DASHES)))
    shares = [found.forests.distribution(place) for place in kept]
    quantiles = np.array([each.ppf([0.005, 0.995]) for each in shares])
    low, high = around(float(quantiles[:, 0].min()), float(quantiles[:, 1].max()))
    bands: list[Band] = []
    lines: list[Line] = []
    for group, dash, each in zip(found.groups, DASHES, shares, strict=False):
        across = each.points[(each.points >= low) & (each.points <= high)]
        up, error = each.cdf(across), each.cdf_error(across)
        about = "" if bands else "two standard errors"
        bands.append(Band(across, up - 2 * error, up + 2 * error, about))
        lines.append(Line(across, up, group, dash=dash))
    return Picture(
        f"The share of each group up to each value of {found.value}",
        f"{legend(found.groups)}; bands are two standard errors on either side",
        axis(found.value, low, high),
        axis("share of the group", 0.0, 1.0),
        (*bands, *lines),
    )


def survival_findings(found: SurvivalCurve) -> Findings:
    """Report survival curves."""
    unit, names = found.privacy.unit, found.groups
    ends = max(float(each.times[-1]) for each in found.curves)
    across = axis(found.time, 0.0, ends if ends > 0.0 else 1.0)
    places = np.array([place for place, _ in across.ticks])
    tested = len(names) > 1
    p_value = phrase("groups.log_rank", p=_p_value(found.p_value, unit))
    shown = tested and found.p_value is not None
    not_tested = "groups.not_independent" if unit.max_rows > 1 else "groups.too_few"
    notes = (
        *((p_value,) * shown),
        phrase("groups.about_curves"),
        *((phrase(not_tested),) * (tested and not shown)),
    )
    table = Table(
        f"Survival, with {_interval(unit, 's')}",
        ("Group", "Median", *(f"{found.time} {words}" for _, words in across.ticks)),
        tuple(
            _curve_row(name, each, places) for name, each in zip(names, found.curves, strict=True)
        ),
    )
    median = _median(found.curves[0])
    card = ("p-value", _p_value(found.p_value, unit), "log-rank test, small if groups differ")
    return Findings(
        kind=found.kind,
        what=f"survival curve of {found.event}:",
        of=found.time,
        provenance=evolve(Provenance.of(found), missing=MISSING),
        cards=(("Median", median, f"of {names[0]}"), *((card,) * tested)),
        sections=(what_was_found(table, notes, _curves_picture(found, across)),),
        settings=(
            ("Time", found.time),
            ("Event", f"{found.event} = {found.level}"),
            ("Groups", found.by or "none"),
        ),
        rows=(found.n_rows, found.n_rows_error),
        question=(": how ", Name(found.time), " to ", Name(found.event), " is distributed"),
        conclusion=(
            *(_median_said(found, place) for place in range(len(names))),
            *((p_value,) * shown),
        ),
        certainty=(_certainty(unit),),
    )


def _median(curve: Curve) -> str:
    middle, low, high = curve.median()
    if middle is None:
        return "not reached"
    if low is None or high is None:
        return f"{number(middle)} (from {number(low)})"
    shown, between = _time(curve, middle, (low, high))
    return f"{shown} ({between})"


def _time(curve: Curve, value: float, ends: tuple[float, float]) -> tuple[str, str]:
    """Return a time and its interval; whole times have no digits after the point."""
    if curve.whole:
        return number(value), f"{number(ends[0])} to {number(ends[1])}"
    return estimated(value, ends)


def _median_said(found: SurvivalCurve, place: int) -> Text:
    group, (middle, low, high) = found.groups[place], found.curves[place].median()
    if found.curves[place].times.size < 2:
        return sentence("groups.unknown", group=group)
    if middle is None:
        return sentence("groups.no_median", group=group)
    ends = (middle if low is None else low, math.inf if high is None else high)
    shown = (
        _time(found.curves[place], middle, ends)
        if high is not None
        else (number(middle), f"{number(low)} or more")
    )
    return sentence(
        "groups.median",
        group=group,
        time=found.time,
        value=shown[0],
        interval=f"{_interval(found.privacy.unit)} {shown[1]}",
    )


def _curve_row(name: str, curve: Curve, places: Vector) -> tuple[str, ...]:
    cells = []
    for value, low, high in curve.at(places).T.tolist():
        shown = percent(value, (low, high))
        cells.append(NOT_KNOWN if math.isnan(value) else f"{shown[0]} ({shown[1]})")
    return name, _median(curve), *cells


def _curves_picture(found: SurvivalCurve, across: Axis) -> Picture:
    kept = list(zip(found.groups, DASHES, found.curves, strict=False))
    interval = _interval(found.privacy.unit, "s")
    bands = tuple(
        Band(each.times, each.low, each.high, interval * (place == 0))
        for place, (_, _, each) in enumerate(kept)
    )
    lines = tuple(Line(each.times, each.survival, name, dash=dash) for name, dash, each in kept)
    below = tuple(
        (
            name,
            tuple(
                f"{max(0.0, risk):,.0f}" if place <= each.times[-1] else ""
                for (place, _), risk in zip(
                    across.ticks,
                    np.interp([place for place, _ in across.ticks], each.times, each.at_risk),
                    strict=True,
                )
            ),
        )
        for name, _, each in kept
    )
    return Picture(
        f"Survival by {found.time}",
        f"{legend(found.groups)}; bands are {interval}, numbers below those at risk",
        across,
        axis("share without the event", 0.0, 1.0),
        (*bands, *lines),
        below=below,
    )
