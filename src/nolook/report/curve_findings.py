"""The curves of an additive model: pictures, shares, and the columns that have lines."""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve

from nolook._arrays import Vector
from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.estimators.base import PrivateModel
from nolook.report.findings import Figure, Section, Table, Text
from nolook.report.model_words import words_of
from nolook.report.picture import Band, Line, Picture, around, axis
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import CONFIDENCE, INTERVAL

__all__ = ["bent_columns", "curve_sections"]


_MOST_DRAWN = 12
# Scales about the centre that a picture shows, and places in it.
_SHOWN, _PLACES = 3.0, 200
# Share of a picture's height that the distribution of the column takes.
_LOWEST = 0.2


def curve_sections(model: PrivateModel) -> tuple[Section, ...]:
    """Show the curves, those first that vary most; none of a model of lines."""
    found = _by_share(model)
    if not found:
        return ()
    bent = [(name, curve) for name, curve in found if not curve.straight]
    target, family = model.scaling_.names[-1], words_of(model).family
    figures = tuple(
        Figure(
            _picture(model, place, name, curve),
            sentence("curves.caption", column=name, target=target, family=family),
        )
        for place, (name, curve) in enumerate(bent[:_MOST_DRAWN])
    )
    rows = tuple(
        (name, "line" if curve.straight else "curve", round(curve.share, 3))
        for name, curve in found
    )
    caption = "Share of the variances of all curves, each by itself"
    table = Table(caption, ("Column", "Shape", "Share"), rows)
    slopes = phrase("curves.slopes")
    notes = sentence("curves.about", family=family), slopes, *_lines(model, found)
    printed = evolve(table, rows=rows[:_MOST_DRAWN]), slopes
    return (Section("curves", "Curves", (), figures, (table,), notes, printed=printed),)


def bent_columns(model: PrivateModel) -> list[str]:
    """Name the columns whose curves are not lines, those first that vary most."""
    return [name for name, curve in _by_share(model) if not curve.straight]


def _by_share(model: PrivateModel) -> list[tuple[str, ColumnCurve]]:
    found = list(zip(model.scaling_.names, model.curves_, strict=False))
    return sorted((one for one in found if one[1].share > 0.0), key=lambda one: -one[1].share)


def _lines(model: PrivateModel, found: list[tuple[str, ColumnCurve]]) -> tuple[Text, ...]:
    """List the columns with lines, and those whose curves are not distinguishable from one."""
    scaling = model.scaling_
    levels = {name for name, own in zip(scaling.names, scaling.binary, strict=True) if own}
    fixed = levels | set(getattr(model, "straight", None) or ())
    straight = [name for name, curve in found if curve.straight]
    kinds = {
        "curves.not_bent": [name for name in straight if name not in fixed],
        "curves.straight": [name for name in straight if name in fixed],
        "curves.no_band": [name for name, curve in found if curve.band is None],
    }
    return tuple(sentence(kind, names=names) for kind, names in kinds.items() if names)


def _picture(model: PrivateModel, place: int, name: str, curve: ColumnCurve) -> Picture:
    """Draw a curve, with its band if that is known, about where its column lies."""
    scaling = model.scaling_
    column = scaling.names.index(name)
    center, reach = scaling.center[column], _SHOWN * scaling.scale[column]
    shown = curve.places
    if curve.below is not None and len(rows := np.flatnonzero(np.diff(curve.below))):
        shown = shown[rows[0] : rows[-1] + 2]  # the picture ends where they do
    low = float(max(shown[0], center - reach))
    high = float(min(shown[-1], center + reach))
    across = np.union1d(np.linspace(low, high, _PLACES), curve.places.clip(low, high))
    # Logarithms of ratios are drawn as such, and ticks name the ratios.
    family = words_of(model).family
    ratios = family != "linear"
    unit = math.log(10.0) if ratios else 1.0
    heights = curve.at(across) / unit
    ends = heights[:, None]
    marks: tuple[Band | Line, ...] = (Line(across, heights, name),)
    if curve.band is not None:
        band = curve.band.T / unit
        ends = np.column_stack([np.interp(across, curve.places, end) for end in band])
        marks = (Band(across, ends[:, 0], ends[:, 1], f"{CONFIDENCE} band"), *marks)
    bottom, top = around(float(ends.min()), float(ends.max()))
    if curve.below is not None:
        steps = _distribution(curve.places, curve.below, (low, high), (bottom, top))
        marks = (Line(*steps, f"distribution of {name}", guide=True), *marks)
    target = scaling.names[-1]
    return Picture(
        phrase("curves.picture", column=name, target=target, family=family),
        f"the line is the curve, the band its {INTERVAL}s, the steps below where rows are",
        axis(name, low, high),
        axis(phrase("curves.height", target=target, family=family), bottom, top, decades=ratios),
        marks,
        key=f"curve-{place}",
    )


def _distribution(
    places: Vector, below: Vector, shown: tuple[float, float], room: tuple[float, float]
) -> tuple[Vector, Vector]:
    """Return the outline of a column's histogram in the lowest part of a picture."""
    edges = np.unique(places.clip(*shown))
    shares = np.diff(np.interp(edges, places, below)) / np.diff(edges)
    most = max(float(shares.max(initial=0.0)), np.finfo(np.float64).tiny)
    heights = room[0] + _LOWEST * (room[1] - room[0]) * shares / most
    return np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)
