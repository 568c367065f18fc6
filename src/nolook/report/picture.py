"""Description of a picture: `svg.py` draws it on pages, `plots.py` with matplotlib."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook.estimators.result import Ends
from nolook.formats.files import one_line
from nolook.report.wording import NOT_KNOWN, number

__all__ = [
    "BARS",
    "DASHES",
    "UNKNOWN",
    "Axis",
    "Band",
    "Curve",
    "Line",
    "Picture",
    "Point",
    "around",
    "axis",
    "groups_picture",
    "rows_picture",
    "shortened",
    "width",
]

#: Lines that can be told apart, and the lengths of their dashes and gaps.
DASHES = {"solid": "", "dashed": "8 4", "dotted": "2 4", "dashdot": "8 4 2 4"}
#: Characters of small pictures in tables, the lowest first.
BARS = "▁▂▃▄▅▆▇█"
#: How wide a column's name may be in a picture, in letters.
LONGEST_NAME = 36
#: What a point of which nothing is known is drawn as: a mark without words, at 0, is read as 0.
UNKNOWN = f"\N{MULTIPLICATION SIGN} {NOT_KNOWN}"


@frozen
class Axis:
    """A range of numbers.

    `ticks` are places and what is written there, and `zero` is a place to compare with.
    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    zero: float | None = None

    def share(self, value: float) -> float:
        """Return the position of a value between the ends, from 0 to 1; beyond them, an end."""
        # Halves, as the whole may exceed the largest double.
        return min(max((value / 2 - self.low / 2) / (self.high / 2 - self.low / 2), 0.0), 1.0)

    def left(self, ends: Ends) -> list[tuple[float, int]]:
        """Return the ends of the axis that an interval goes beyond, with the sign of each side."""
        sides = zip(ends, (self.low, self.high), (-1, 1), strict=True)
        return [(limit, sign) for end, limit, sign in sides if end * sign > limit * sign]


@frozen(eq=False)
class Line:
    """A line through points that were found, or a `guide` to compare them with.

    The `dash` is one of :data:`DASHES`.
    """

    across: Vector
    up: Vector
    label: str
    guide: bool = False
    dash: str = "solid"


@frozen(eq=False)
class Band:
    """Where a line may lie: the lower and the upper end at each place across."""

    across: Vector
    low: Vector
    high: Vector
    label: str


@frozen
class Point:
    """A point and the interval around it: across in a picture of rows, upwards in others.

    `sure` is False where noise may have made the point, None where nothing is known.
    `name` is that of its row, and `numbers` are its own in words.
    """

    across: float
    up: float
    ends: Ends | None
    sure: bool | None = True
    name: str | None = None
    numbers: str = ""


Mark: TypeAlias = Line | Band | Point
#: The name of a group, its line and its band.
Curve: TypeAlias = tuple[str, tuple[Vector, Vector], tuple[Vector, Vector, Vector]]


@frozen
class Picture:
    """Marks between two axes.

    Parameters
    ----------
    title, legend : str
        What is shown, and what the marks mean.
    across, up : Axis
    marks : tuple of Mark
        Those behind others come first.
    rows : bool
        Whether `up` counts rows with a name each, from the top.
    points : str
        Name of the points, where they are not rows.
    square : bool
        Whether both axes are of the same length.
    below : tuple of (str, tuple of str)
        Rows of numbers under the ticks across, each below its name.
    key : str
        Tells the pictures of a page apart.
    """

    title: str
    legend: str
    across: Axis
    up: Axis
    marks: tuple[Mark, ...]
    rows: bool = False
    points: str = ""
    square: bool = False
    below: tuple[tuple[str, tuple[str, ...]], ...] = ()
    key: str = "picture"


def axis(label: str, low: float, high: float, *, decades: bool = False) -> Axis:
    """Return an axis with ticks at round numbers; with `decades` places are decimal logarithms."""
    if (low, high) == (0.0, 1.0):
        places = [0.0, 0.25, 0.5, 0.75, 1.0]
    else:
        width = high / 4 - low / 4  # a quarter, as the whole may exceed the largest double
        decade = 10.0 ** math.floor(math.log10(width))
        steps = [step * decade for step in (10.0, 5.0, 2.0, 1.0, 0.5, 0.2)]
        coarse = (step for step, finer in pairwise(steps) if finer < 0.8 * width)
        each = ([i * step for i in range(*_within(low / step, high / step))] for step in coarse)
        places = next(places for places in each if len(places) > 2)[:6]
    words = (number(10.0**place, 2) if decades else number(place, 6) for place in places)
    return Axis(label, low, high, tuple(zip(places, words, strict=True)))


def _within(low: float, high: float) -> tuple[int, int]:
    """Return the first whole number between two, and one more than the last."""
    return math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1


def around(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis that shows two values and what lies between them."""
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return float(low - room), float(high + room)


def rows_picture(
    title: str, legend: str, label: str, points: Sequence[Point], zero: float | None = None
) -> Picture:
    """Return a picture of points with intervals in rows, across an axis that shows all of them."""
    reached = [end for one in points for end in (one.across, *(one.ends or ()))]
    reached += [] if zero is None else [zero]
    across = axis(label, *around(min(reached), max(reached)))
    rows = Axis("", -0.5, max(one.up for one in points) + 0.5)
    return Picture(title, legend, evolve(across, zero=zero), rows, tuple(points), rows=True)


def groups_picture(
    across: Axis, curves: Iterable[Curve], about: str, share: str = "share of the group"
) -> Picture:
    """Return a picture of shares by group, as many as can be told apart.

    `about` is what a band shows.
    """
    bands: list[Band] = []
    lines: list[Line] = []
    for (name, line, band), dash in zip(curves, DASHES, strict=False):
        bands.append(Band(*band, about * (not bands)))
        lines.append(Line(*line, name, dash=dash))
    legend = ", ".join(f"{one.dash}: {one.label}" for one in lines)
    marks: tuple[Mark, ...] = (*bands, *lines)
    title = f"The share of each group up to each value of {across.label}"
    return Picture(title, f"{legend}; bands are {about}", across, axis(share, 0.0, 1.0), marks)


def shortened(name: str, length: int = LONGEST_NAME) -> str:
    """Return a name on one line, without the middle of a long one; wide letters count twice.

    Both ends stay: columns made from categories differ at the end.

    Examples
    --------
    >>> shortened("a_very_long_name_of_a_column=category", 16)
    'a_very_…category'
    """
    name = one_line(name)
    if width(name) <= length:
        return name
    head, tail = "", ""
    while width(head + name[len(head)]) <= (length - 1) // 2:
        head += name[len(head)]
    while width(name[-1 - len(tail)] + tail) <= length - 1 - (length - 1) // 2:
        tail = name[-1 - len(tail)] + tail
    return f"{head}…{tail}"


def width(text: str) -> int:
    """Return the width of a string in narrow letters."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
