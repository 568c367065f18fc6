"""Reports of a plan: words, a table and a curve. Everything in it is public."""

from __future__ import annotations

import math

import numpy as np
from attrs import asdict, astuple

from nolook.estimators.catalogue import CLASSIFIERS, COUNTS
from nolook.planning.curves import WIDEST
from nolook.planning.forecast import MEASURES, PLANNED, Expected, Forecast
from nolook.report.findings import Figure, Section, Table
from nolook.report.picture import Band, Line, Picture, axis
from nolook.report.sentences import phrase
from nolook.report.wording import NOT_KNOWN, count, number

__all__ = ["plan_headline", "plan_section"]

_HEADS = {
    "interval": "Narrowest interval ±",
    "median": "Half the intervals ±",
    "hidden": "Effects shown",
    "loss": "Loss of {of}",
    "error": "Error of {of}",
    "quantile": "Error of a quartile",
}
#: What the loss or error of a method is of; R2 for other models, a share for other methods.
_OF = {
    **dict.fromkeys(CLASSIFIERS, "AUC"),
    **dict.fromkeys(COUNTS, "deviance explained"),
    **dict.fromkeys(("describe", "tabulate"), "a mean"),
    "roc": "the AUC",
    "calibration": "a group's share",
    "compare-groups": "the probability of a higher value",
    "survival": "the curve",
}
_POINTS = 33  # of a curve
_VIEW = 0.1, 10.0  # epsilons


def plan_headline(found: Forecast) -> str:
    """Return the findings of a plan."""
    largest = " of the largest weight" * found.weighted
    counted = f"{number(found.rows, 12)} row{'s' * (found.rows != 1)}{largest}"
    counted += f", {found.rows_per_unit} a unit" * (found.rows_per_unit != "weights")
    where = f", rows where {found.where}" if found.where else ""
    return f"Plan of {found.method}{where}: {counted}, {count(found.columns, 'column')}"


def plan_section(found: Forecast) -> Section:
    """Return the plan; the terminal shows all but the curve."""
    table, words = _table(found), _wanted(found)
    shown = [name for name in _shown(found) if any(getattr(one, name) for one in found.lines)]
    of, measures = _OF.get(found.method, "R2"), ", ".join(PLANNED[found.method])
    meaning = (phrase("plan.meaning", name=name, method=found.method, of=of) for name in shown)
    unlike = "this method was" if found.method == "tukey" else "tables of this size and budget were"
    unknown = phrase("plan.unknown", method=found.method, measures=measures, unlike=unlike)
    notes = (*filter(None, meaning), phrase("plan.range")) if shown else (unknown,)
    figures = (_figure(found, shown[0]),) if shown else ()
    return Section("plan", "What can be expected", words, figures, (table,), notes)


def _shown(found: Forecast) -> tuple[str, ...]:
    return tuple(name for name in MEASURES if name in PLANNED[found.method])


def _head(found: Forecast, name: str) -> str:
    return _HEADS[name].format(of=_OF.get(found.method, "R2" if name == "loss" else "a share"))


def _table(found: Forecast) -> Table:
    names = _shown(found)
    heads = ("Epsilon", *(_head(found, name) for name in names))
    heads += ("Rows needed",) * (found.method == "tukey")
    rows = tuple(
        (
            number(one.epsilon),
            *(_cell(one, name, found.columns) for name in names),
            *_enough(one, found),
        )
        for one in found.lines
    )
    delta = f", delta = {number(found.delta)}" if found.delta else ""
    return Table(f"Expected of an ordinary table (easiest to hardest){delta}", heads, rows)


def _enough(one: Expected, found: Forecast) -> tuple[str, ...]:
    if one.rows_needed is None:
        return ()
    said = "enough" if found.rows >= one.rows_needed else "too few rows"
    return (f"{number(one.rows_needed, 12)}: {said}",)


def _cell(one: Expected, name: str, columns: int) -> str:
    known = getattr(one, name)
    if known is None:
        return NOT_KNOWN
    if name == "hidden":
        least, own, most = (round(columns - columns * x) for x in astuple(known)[::-1])
        return f"{own} of {columns} ({least} to {most})"
    low, expected, high = map(_amount, astuple(known))
    return expected if low == expected == high else f"{expected} ({low} to {high})"


def _amount(value: float) -> str:
    if value >= 0.99 * WIDEST:
        return "none"
    return "<0.001" if value < 0.001 else number(round(value, 3), 2)


def _wanted(found: Forecast) -> tuple[str, ...]:
    wanted = found.wanted
    if wanted is None:
        return ()
    said = asdict(wanted) | {"measure": _head(found, wanted.measure)}
    return (phrase("plan.wanted", **said),)


def _figure(found: Forecast, name: str) -> Figure:
    """Draw how the first measure falls with epsilon."""
    lines = found.at(np.geomspace(*_VIEW, _POINTS).tolist())
    known = [(one.epsilon, each) for one in lines if (each := getattr(one, name)) is not None]
    places = np.log10([epsilon for epsilon, _ in known])
    low, middle, high = np.array([astuple(one) for _, one in known]).T
    across = axis("Epsilon", *map(math.log10, _VIEW), decades=True)
    up = axis(_head(found, name), 0.0, max(float(high.max()), 1e-6))
    band = Band(places, low, high, "from the easiest to the hardest table")
    about = "the line is an ordinary table, the band from the easiest to the hardest"
    marks = band, Line(places, middle, "an ordinary table")
    return Figure(Picture(_head(found, name), about, across, up, marks))
