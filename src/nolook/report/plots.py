"""Pictures on matplotlib's axes.

Colours are told apart by everybody (Okabe and Ito 2008), and never carry a meaning alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from nolook._validation import require
from nolook.formats.files import one_line
from nolook.report.picture import UNKNOWN, Axis, Band, Line, Picture, Point, shortened

__all__ = ["draw_on"]

Axes: TypeAlias = Any  # matplotlib's own types

_BLUE, _GREY = "#0072B2", "0.4"
_OTHERS = ("#D55E00", "#009E73", "#CC79A7")  # of further curves
_GUIDE = {"color": "black", "linestyle": "--", "linewidth": 0.8}


def draw_on(picture: Picture, ax: Axes = None) -> Axes:
    """Draw a picture on axes, on new ones if none are given; return them."""
    rows = round(picture.up.high - picture.up.low)
    ax = _new_axes(1.2 + 0.35 * rows if picture.rows else 4.8) if ax is None else ax
    colours = {kind: iter((_BLUE, *_OTHERS)) for kind in (Band, Line)}
    for one in picture.marks:
        if isinstance(one, Point):
            _point(one, picture, ax)
        elif isinstance(one, Band):
            style = {"color": next(colours[Band]), "alpha": 0.2, "linewidth": 0}
            ax.fill_between(one.across, one.low, one.high, label=_plain(one.label), **style)
        else:
            style = _GUIDE if one.guide else {"color": next(colours[Line]), "linestyle": one.dash}
            ax.plot(one.across, one.up, label=_plain(one.label), **style)
    if picture.across.zero is not None:
        ax.axvline(picture.across.zero, **_GUIDE)
    ax.set(xlabel=_plain(picture.across.label), xlim=_limits(picture.across))
    ax.set_xticks(*zip(*picture.across.ticks, strict=True))
    if picture.rows:
        named = [one for one in picture.marks if isinstance(one, Point) and one.name is not None]
        names = [_plain(shortened(one.name or "")) for one in named]
        ax.set_yticks([one.up for one in named], names)
        ax.set_ylim(picture.up.high, picture.up.low)
        ax.set_title(_plain(picture.legend), fontsize="small")
    else:
        ax.set(ylabel=_plain(picture.up.label), ylim=_limits(picture.up))
        ax.set_yticks(*zip(*picture.up.ticks, strict=True))
        if picture.points:
            ax.plot([], [], "o-", color=_BLUE, label=picture.points)
        ax.legend()
        for row, (name, numbers) in enumerate(picture.below):
            low = -48 - 24 * row  # points, so that a figure has room for them
            how = {"textcoords": "offset points", "fontsize": "small"}
            ax.annotate(_plain(name), (0, 0), (0, low), "axes fraction", **how)
            how["ha"], frame = "center", ax.get_xaxis_transform()
            for (place, _), words in zip(picture.across.ticks, numbers, strict=True):
                ax.annotate(words, (place, 0), (0, low - 12), frame, **how)
    if picture.square:
        ax.set_aspect("equal")
    return ax


def _point(one: Point, picture: Picture, ax: Axes) -> None:
    colour = _GREY if one.sure is None else _BLUE
    if one.ends is not None:
        level = (one.up, one.up) if picture.rows else (one.across, one.across)
        ax.plot(*((one.ends, level) if picture.rows else (level, one.ends)), color=colour)
        for limit, sign in picture.across.left(one.ends) if picture.rows else ():
            ax.plot(limit, one.up, "<>"[sign > 0], color=colour, clip_on=False)
    if one.sure is None:
        ax.text(one.across, one.up, "  " + UNKNOWN, color=colour, verticalalignment="center")
    else:
        filled = colour if one.sure else "white"
        ax.plot(one.across, one.up, "o", color=colour, markerfacecolor=filled)


def _limits(axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis with room for what lies on them."""
    room = 0.01 * (axis.high / 2 - axis.low / 2)
    return axis.low - room, axis.high + room


def _new_axes(height: float) -> Axes:
    plt = require("matplotlib.pyplot", "plots", "plot")
    return plt.subplots(figsize=(6.4, min(height, 40.0)), layout="constrained")[1]


def _plain(text: str) -> str:
    """Return a text on one line whose dollar signs begin no formula."""
    return one_line(text).replace("$", r"\$")
