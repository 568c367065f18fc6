"""Reports of groups that are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from attrs import astuple, evolve

from nolook._arrays import Vector
from nolook._unit import Unit
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.scaling import NoisyCount
from nolook.algorithms.survival import Curve
from nolook.estimators.comparison import SHARED, GroupComparison, Pair
from nolook.estimators.result import Ends
from nolook.estimators.survival import SurvivalCurve
from nolook.report.distribution_findings import FOUND, noise_and_sampling, what_was_found
from nolook.report.findings import (
    Figure,
    Findings,
    Section,
    Table,
    Text,
    dates_of,
    findings_of,
)
from nolook.report.picture import (
    DASHES,
    Axis,
    Picture,
    Point,
    around,
    axis,
    groups_picture,
    rows_picture,
)
from nolook.report.reference_levels import unseen_levels
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import (
    INTERVAL,
    NOT_KNOWN,
    day,
    estimated,
    number,
    p_value,
    percent,
    rows_in_words,
    with_ends,
)

__all__ = ["comparison_findings", "survival_findings"]

_LEAST_P = 0.001
_MISSING = "rows with any are left out"


def comparison_findings(found: GroupComparison) -> Findings:
    """Report a comparison of groups."""
    unit, first = found.privacy.unit, found.groups[0]
    far = max(found.pairs, key=lambda one: abs(one.exceeds.value - 0.5) if one.exceeds else 0.0)
    known = filter(None, (each.difference for each in found.pairs))
    clear = {each.low * each.high > 0.0 for each in known}
    overall = _tested("overall", found, pair=far, clear=sorted(clear))
    measure = f"{'Share' if found.boolean else 'Mean'} of {found.value}"
    heads = ("Group", f"{unit.tally} with a value", measure)
    groups = tuple(_group(found, place) for place in range(len(found.groups)))
    compared = (f"Compared with {first}", "Difference", "Higher", "p-value", "Distance", "p-value")
    pairs = tuple(_pair(found, pair) for pair in found.pairs)
    moved = _moved(found)
    means = f"Groups, with {INTERVAL}s{moved}"
    differences = f"Differences and probabilities of a higher value, with {INTERVAL}s"
    tables = Table(means, heads, groups), Table(differences, compared, pairs)
    notes = (phrase("groups.about", found=found, moved=moved),)
    section = Section("found", FOUND, (), tuple(_picture(found)), tables, notes)
    seen = zip(found.groups, found.forests.groups, strict=True)
    return findings_of(
        found,
        what=f"comparison of groups by {found.by}:",
        of=found.value,
        missing=_MISSING,
        rows=_counted(found),
        needed=(found.value, found.by),
        cards=(
            ("Difference", _pair(found, far)[1], f"{far.group} less {first}"),
            ("p-value", _p_value(found.p_value), "rank test, small if groups differ"),
        ),
        sections=(section,),
        settings=(("Value", found.value), ("Groups", found.by), ("Compared with", first)),
        cautions=_unseen(found, found.by, {name: [own] for name, own in seen}),
        question=sentence("questions.groups", found=found),
        conclusion=(*_said(found), *overall),
        certainty=(noise_and_sampling(unit, f"{INTERVAL}s"),),
    )


def _tested(test: str, found: GroupComparison | SurvivalCurve, **size: object) -> tuple[str, ...]:
    """State the verdict on all groups, if they were tested, with its size."""
    if found.p_value is None:
        return ()
    return (phrase(f"groups.{test}", found=found, groups=len(found.groups), **size),)


def _largest_gap(found: SurvivalCurve, places: Vector) -> dict[str, object]:
    """Return the largest gap between a curve and the first one, at some times."""
    places = np.append(0.0, places)
    curves = np.array([each.at(places) for each in found.curves])
    gaps = np.nan_to_num(np.abs(curves - curves[0])[:, 0])
    group, place = np.unravel_index(gaps.argmax(), gaps.shape)
    cells = curves[[0, group], :, place]
    return {
        "group": found.groups[group],
        "value": number(float(places[place])),
        "shares": [percent(value, (low, high))[0] for value, low, high in cells],
    }


def _sum_of(groups: Sequence[NoisyForest], unit: Unit) -> tuple[float, float]:
    """Return the number of rows of groups, and its standard error."""
    rows, errors = zip(*(each.counted for each in groups), strict=True)
    return unit.row_weight * max(math.fsum(rows), 0.0), unit.row_weight * math.hypot(*errors)


def _counted(found: GroupComparison | SurvivalCurve) -> NoisyCount:
    """Return the rows of all groups, and those that lack a needed value or declared level.

    How many of the latter there are, and not what they weigh, is not known of weighted rows.
    """
    rows, error = _sum_of(found.forests.groups, found.privacy.unit)
    if found.privacy.unit.weighting is not None:
        return NoisyCount(rows, error)
    lost = found.rows.value - rows
    return NoisyCount(rows, error, lost, None, math.hypot(error, found.rows.error))


def _unseen(
    found: GroupComparison | SurvivalCurve,
    column: str,
    levels: Mapping[str | None, Sequence[NoisyForest]],
) -> tuple[str, ...]:
    """Ask to check declared levels that hardly a row has."""
    if column not in found.read_options["categories"]:
        return ()
    shares = []
    for level, groups in levels.items():
        rows, error = _sum_of(groups, found.privacy.unit)
        low, high = ((rows + by * error) / max(found.rows.value, 1.0) for by in (-2.0, 2.0))
        shares.append((level, low, high))
    return unseen_levels(column, found.privacy.unit, shares)


def _p_value(found: float | None) -> str:
    """Return a p-value, or why there is none."""
    return "too few rows" if found is None else p_value(found, _LEAST_P)


def _amount(found: GroupComparison, value: float, ends: Ends) -> tuple[str, str]:
    """Return a difference and its interval; those of dates are in days."""
    if found.boolean:
        shown, between = percent(value, ends)
        return shown.replace("%", "percentage points"), between.removesuffix(" %")
    shown, between = estimated(value, ends)
    days = " days" * (found.value in dates_of(found))
    return f"{shown}{days}", f"{between}{days}"


def _group(found: GroupComparison, place: int) -> tuple[str, ...]:
    unit = found.privacy.unit
    rows, _ = rows_in_words(*_sum_of([found.forests.groups[place]], unit), unit.counted)
    mean, low, high, *_ = (float(each[place]) for each in found.shown)
    origin = dates_of(found).get(found.value)
    shown = with_ends(mean, (low, high), share=found.boolean, origin=origin)
    return found.groups[place], rows, shown


def _pair(found: GroupComparison, pair: Pair) -> tuple[str, ...]:
    numbers = (
        NOT_KNOWN if one is None else "{} ({})".format(*in_words(one.value, one.ends))
        for one, in_words in ((pair.difference, partial(_amount, found)), (pair.exceeds, percent))
    )
    ranks, distance = astuple(pair.p_values) if pair.p_values else (None, None)
    far = NOT_KNOWN if pair.distance is None else number(pair.distance, 2)
    return pair.group, *numbers, _p_value(ranks), far, _p_value(distance)


def _moved(found: GroupComparison) -> str:
    """State the largest move of the means by clipping, if it is much of an interval."""
    moved = found.shared / SHARED
    if found.boolean or not (4.0 * moved > found.means.high - found.means.low).any():
        return ""
    return f" (clipping may move all means by about {number(moved, 2)})"


def _said(found: GroupComparison) -> Iterator[Text]:
    """Yield the differences of means, and groups too small for one."""
    for pair in found.pairs:
        if (each := pair.difference) is None:
            continue
        group, first, value, low, high = pair.group, found.groups[0], *astuple(each)
        if high < 0.0:
            group, first, value, low, high = first, group, -value, -high, -low
        amount, ends = _amount(found, value, (low, high))
        yield sentence(
            "groups.difference", found=found, group=group, first=first, amount=amount, ends=ends,
            later=found.value in dates_of(found), clear=low > 0.0,
        )  # fmt: skip
    for group in np.array(found.groups)[np.isnan(found.means.low)]:
        yield sentence("groups.hidden", group=group)


def _picture(found: GroupComparison) -> Iterator[Figure]:
    """Yield the distributions of the groups, or the shares of true if there are any."""
    if not found.boolean:
        yield Figure(_distributions(found))
    elif not np.isnan(found.means.low).all():
        groups = enumerate(zip(found.groups, *found.shown, strict=True))
        points = [Point(value, place, (low, high), name=group)
                  for place, (group, value, low, high, *_) in groups if low <= high]  # fmt: skip
        title = f"How often {found.value} is true"
        yield Figure(rows_picture(title, f"lines are {INTERVAL}s", "share", points))


def _distributions(found: GroupComparison) -> Picture:
    kept = range(min(len(found.groups), len(DASHES)))
    shares = [found.forests.distribution(place) for place in kept]
    quantiles = np.array([each.ppf([0.005, 0.995]) for each in shares])
    low, high = around(float(quantiles[:, 0].min()), float(quantiles[:, 1].max()))
    curves = []
    for group, each in zip(found.groups, shares, strict=False):
        across = each.points[(each.points >= low) & (each.points <= high)]
        up, error = each.cdf(across), each.cdf_error(across)
        curves.append((group, (across, up), (across, up - 2 * error, up + 2 * error)))
    shown = axis(found.value, low, high)
    if (origin := dates_of(found).get(found.value)) is not None:
        shown = evolve(shown, ticks=tuple((at, day(at, origin)) for at, _ in shown.ticks))
    return groups_picture(shown, curves, "two standard errors on either side")


def survival_findings(found: SurvivalCurve) -> Findings:
    """Report survival curves."""
    names = found.groups
    ends = max(float(each.times[-1]) for each in found.curves)
    across = axis(found.time, 0.0, ends if ends > 0.0 else 1.0)
    # Where no curve is known, no time is either.
    ticks = across.ticks[1:] if ends > 0.0 else ()
    places = np.array([place for place, _ in ticks])
    overall = _tested("log_rank", found, **_largest_gap(found, places))
    rows = tuple(map(_curve_row, names, found.curves, [places] * len(names)))
    heads = "Group", "Median", *(f"at {words}" for _, words in ticks)
    table = Table(f"Survival by {found.time}, with {INTERVAL}s", heads, rows)
    card = ("p-value", _p_value(found.p_value), "log-rank test, small if groups differ")
    events: dict[str | None, Sequence[NoisyForest]] = {found.level: found.forests.groups[::2]}
    for level in found.read_options["categories"].get(found.event, ()):
        events.setdefault(level, found.forests.groups[1::2])
    return findings_of(
        found,
        what=f"survival curve of {found.event}:",
        of=found.time,
        missing=_MISSING,
        rows=_counted(found),
        needed=(found.time, found.event, *filter(None, (found.by,))),
        cards=(card,) * (len(names) > 1),
        sections=(
            what_was_found(
                table,
                (phrase("groups.about_curves", found=found),),
                *(_curves_picture(found, across),) * bool(ticks),
            ),
        ),
        settings=(
            ("Time", found.time),
            ("Event", f"{found.event} = {found.level}"),
            ("Groups", found.by or "none"),
        ),
        cautions=_unseen(found, found.event, events),
        question=sentence("questions.survival", found=found),
        conclusion=(*(_median_said(found, place) for place in range(len(names))), *overall),
        certainty=(noise_and_sampling(found.privacy.unit, f"{INTERVAL}s"),),
    )


def _median(curve: Curve) -> tuple[str, str]:
    """Return a median that is reached, and its interval; of whole times both are whole."""
    middle, low, high = curve.median()
    if high is None:
        return number(middle), f"{number(low)} or more"
    if curve.whole:
        return number(middle), f"{number(low)} to {number(high)}"
    return estimated(middle, (low or 0.0, high))


def _median_cell(curve: Curve) -> str:
    if curve.median()[0] is None:
        return "not reached" if curve.known else NOT_KNOWN
    return "{} ({})".format(*_median(curve))


def _median_said(found: SurvivalCurve, place: int) -> Text:
    group, curve = found.groups[place], found.curves[place]
    if not curve.known:
        return sentence("groups.unknown", group=group)
    if curve.median()[0] is None:
        end = float(curve.times[-1])
        (share,), (low,), (high,) = curve.at(curve.times[-1:]).tolist()
        shown = with_ends(share, (low, high), share=True)
        return sentence("groups.no_median", found=found, group=group, end=end, share=shown)
    value, ends = _median(curve)
    return sentence("groups.median", found=found, group=group, value=value, ends=ends)


def _curve_row(name: str, curve: Curve, places: Vector) -> tuple[str, ...]:
    found = curve.at(places).T.tolist()
    cells = (with_ends(value, (low, high), share=True) for value, low, high in found)
    return name, _median_cell(curve), *cells


def _curves_picture(found: SurvivalCurve, across: Axis) -> Picture:
    curves, least = [], 1.0
    for name, each in zip(found.groups, found.curves, strict=True):
        # In the first cell the band is wider than between its ends.
        first = np.linspace(0.0, each.times[each.times > 0.0][:1].sum(), 9)
        places = np.union1d(each.times, first)
        survival, *ends = each.at(places) if each.known else np.ones((3, places.size))
        curves.append((name, (places, survival), (places, *ends)))
        least = min(least, float(np.nanmin(ends)))
    picture = groups_picture(across, curves, f"{INTERVAL}s", "share without the event")
    legend = f"{picture.legend}, numbers below those at risk"
    if 0.5 <= (least := math.floor(10.0 * least) / 10.0) < 1.0:
        picture = evolve(picture, up=axis(picture.up.label, least, 1.0))
        legend += f"; the vertical axis starts at {least}, not at 0"
    at = [place for place, _ in across.ticks]
    below = []
    for name, each, _ in zip(found.groups, found.curves, DASHES, strict=False):
        risks = np.interp(at, each.times, each.at_risk, right=np.nan)
        numbers = tuple("" if np.isnan(risk) else f"{risk:,.0f}" for risk in risks)
        below.append((f"at risk, {name}", numbers))
    title = f"Survival by {found.time}"
    return evolve(picture, title=title, legend=legend, below=tuple(below))
