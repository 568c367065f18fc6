"""Inline SVG pictures: coefficients with their intervals, and curves of shares.

Everything across is in percent of the picture's width and text keeps the page's size, so a picture
fits a telephone as well as a poster. Colours come from the page's style sheet.
"""

from __future__ import annotations

import math
import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from nolook.formats.files import one_line
from nolook.report.wording import Ends, estimated, number

__all__ = [
    "MOST_SHOWN",
    "Bar",
    "Coefficient",
    "Line",
    "Picture",
    "coefficient_picture",
    "draw",
    "shortened",
]

#: How many coefficients a picture shows, the largest effects first: half a sheet holds them.
MOST_SHOWN = 20

_ROW = 26  # pixels of a coefficient
_MARGIN = 8  # pixels above the coefficients
_SCALE = 22  # pixels for the axis below them
_LEFT, _RIGHT = 36.0, 98.0  # percent of the width; the names are on the left
_NAME_LENGTH = 36

_START, _WIDTH = 10.0, 87.0  # percent of the width of a picture of shares
_TOP, _HEIGHT, _AXIS = 30, 300, 46  # pixels
_SQUARE = round(100 * _HEIGHT / _WIDTH)  # pixels across, where a plot is as wide as high
_LONGEST_NAME = 40

Vector = NDArray[np.float64]


def _framed(
    title: str,
    description: str,
    height: int,
    *parts: Markup,
    least: float = 0.0,
    key: str = "picture",
    square: bool = False,
) -> Markup:
    """Write the outer element of a picture, with its name and description for screen readers."""
    size = Markup('height="{}" style="min-width: {:g}rem"').format(height, least)
    if square:
        # It grows as a whole, text too: a share is as long upwards as across.
        size = Markup('viewBox="0 0 {} {}" style="max-width: 26rem"').format(_SQUARE, height)
    return Markup(
        '<svg class="picture" width="100%" {size} role="img" '
        'aria-labelledby="{key}-title {key}-description">\n'
        '<title id="{key}-title">{title}</title>\n'
        '<desc id="{key}-description">{description}</desc>\n{parts}\n</svg>'
    ).format(
        size=size,
        key=key,
        title=one_line(title),
        description=one_line(description),
        parts=Markup("\n").join(parts),
    )


def _tick(x: str, y: float, words: str, anchor: str = "middle") -> Markup:
    written = Markup('<text class="tick" x="{}" y="{:g}" text-anchor="{}">{}</text>')
    return written.format(x, y, anchor, one_line(words))


def _straight(kind: str, x: tuple[str, str], y: tuple[float, float]) -> Markup:
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(kind, *x, *y)


def _circle(x: str, y: float) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="4.5"/>').format(x, y)


def _upright(x: str, top: int, bottom: int, words: str, kind: str = "grid") -> list[Markup]:
    """Draw a line of the grid and what it stands for."""
    return [_straight(kind, (x, x), (top, bottom)), _tick(x, bottom + 16, words)]


def shortened(name: str, length: int) -> str:
    """Cut the middle out of a long name; wide letters count twice.

    Both ends stay: columns made from categories differ at the end.

    Examples
    --------
    >>> shortened("a_very_long_name_of_a_column=category", 16)
    'a_very_…category'
    """
    if _width(name) <= length:
        return name
    head, tail = "", ""
    while _width(head + name[len(head)]) <= (length - 1) // 2:
        head += name[len(head)]
    while _width(name[-1 - len(tail)] + tail) <= length - 1 - (length - 1) // 2:
        tail = name[-1 - len(tail)] + tail
    return f"{head}…{tail}"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


@dataclass(frozen=True, slots=True)
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


def coefficient_picture(coefficients: Sequence[Coefficient], title: str) -> Markup:
    """Draw the effect of each column: a point for the coefficient, a line for its interval."""
    ordered = sorted(coefficients, key=lambda one: -abs(one.effect))[:MOST_SHOWN]
    limit = _limit(ordered)
    lines = any(one.effect_ends is not None for one in ordered)
    return _framed(
        title,
        f"For each column a point shows the coefficient{' and a line its interval' * lines}; "
        "the table below holds the same numbers.",
        _MARGIN + _ROW * len(ordered) + _SCALE,
        *_scale(limit, len(ordered)),
        *(_effect(one, index, limit) for index, one in enumerate(ordered)),
        # On a narrow screen there is room for the points beside the longest name.
        least=min(
            1.3 * max(_width(shortened(one_line(one.name), _NAME_LENGTH)) for one in ordered), 34.0
        ),
    )


def _limit(coefficients: Sequence[Coefficient]) -> float:
    """Return half the width of the axis: all points fit, and at least half the intervals.

    One wild interval would otherwise squeeze all others into a dot; it gets an arrow instead.
    """
    points = max(abs(one.effect) for one in coefficients)
    ends = [max(map(abs, one.effect_ends or (one.effect,))) for one in coefficients]
    room = max(1.5 * points, 3 * min(statistics.median_high(ends), 1e307))
    limit = min(max(ends), room)
    # Below the smallest normal double the ratios of the picture would lose their digits.
    return 1.05 * min(limit, 1e307) if limit > 1e-300 else 1.0


def _at(effect: float, limit: float) -> str:
    """Return where an effect lies; beyond the axis at its end."""
    share = min(max(effect / limit, -1.0), 1.0)
    return f"{_LEFT + (_RIGHT - _LEFT) * (share + 1) / 2:.3f}%"


def _scale(limit: float, rows: int) -> list[Markup]:
    bottom = _MARGIN + _ROW * rows
    # A round number on either side of 0, and lines half-way, whose numbers would not fit.
    decade = 10.0 ** math.floor(math.log10(limit))
    step = max(s * decade for s in (0.8, 1.0, 2.0, 4.0, 6.0, 8.0) if s * decade <= 0.92 * limit)
    halves = (_at(half, limit) for half in (-step / 2, step / 2))
    parts = [_straight("grid", (x, x), (_MARGIN, bottom)) for x in halves]
    for tick, kind in ((-step, "grid"), (0.0, "zero"), (step, "grid")):
        parts += _upright(_at(tick, limit), _MARGIN, bottom, number(tick), kind)
    return parts


def _effect(one: Coefficient, index: int, limit: float) -> Markup:
    middle = _MARGIN + _ROW * index + _ROW / 2
    name = one_line(one.name)
    value, between = estimated(one.effect, one.effect_ends, "")
    ends = f" ({between})" if between else ""
    kind = {True: "clear", False: "unclear", None: "alone"}[one.clear]
    return Markup(
        '<g class="{}"><title>{}: {}{}</title>'
        # The names have a window of their own: a long one is cut, never drawn over the plot.
        '<svg x="0" y="{}" width="{}%" height="{}"><text class="name" x="100%" y="{}" '
        'text-anchor="end">{}</text></svg>{}{}</g>'
    ).format(
        *(kind, name, value, ends),
        *(middle - _ROW / 2, _LEFT - 1.5, _ROW, _ROW / 2 + 4.5, shortened(name, _NAME_LENGTH)),
        "" if one.effect_ends is None else _interval(one.effect_ends, middle, limit),
        _circle(_at(one.effect, limit), middle),
    )


def _interval(ends: Ends, middle: float, limit: float) -> Markup:
    """Draw a line, and an arrow where it would leave the picture."""
    low, high = (_at(end, limit) for end in ends)
    arrow = Markup(
        '<svg class="arrow" x="{}" y="{}" overflow="visible">'
        '<path d="M6 0 L-2 -5 L-2 5 Z" transform="scale({} 1)"/></svg>'
    )
    arrows = (
        arrow.format(_at(end, limit), middle, sign)
        for end, sign in zip(ends, (-1, 1), strict=True)
        if end * sign > limit
    )
    return Markup().join([_straight("interval", (low, high), (middle, middle)), *arrows])


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points: a "curve" that was found, or "zero" to compare it with."""

    kind: str
    across: Vector
    up: Vector


@dataclass(frozen=True, slots=True)
class Bar:
    """A point with an error bar from `low` to `high`."""

    across: float
    up: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Shares from `floor` to `ceiling` upwards, over an axis from `low` to `high`.

    `across` and `up` name the axes, `legend` says what the lines mean, and `band` holds places
    across with the lower and the upper end there. With `decades` places across are decimal
    logarithms. `key` tells the pictures of a page apart.
    """

    title: str
    across: str
    up: str
    low: float
    high: float
    lines: tuple[Line, ...]
    legend: str
    band: tuple[Vector, Vector, Vector] | None = None
    bars: tuple[Bar, ...] = ()
    floor: float = 0.0
    ceiling: float = 1.0
    square: bool = False
    decades: bool = False
    key: str = "picture"


def draw(picture: Picture) -> Markup:
    """Draw curves, a band and points with error bars."""
    curve = Markup('<polyline class="{}" points="{}"/>')
    curves = [curve.format(one.kind, _points(one.across, one.up, picture)) for one in picture.lines]
    if picture.band is not None:
        across, low, high = picture.band
        around = _points(np.append(across, across[::-1]), np.append(high, low[::-1]), picture)
        curves.insert(0, Markup('<polygon class="band" points="{}"/>').format(around))
    plot = Markup(
        '<svg x="{}%" y="{}" width="{}%" height="{}" viewBox="0 0 1000 1000" '
        'preserveAspectRatio="none">\n{}\n</svg>'
    ).format(_START, _TOP, _WIDTH, _HEIGHT, Markup("\n").join(curves))
    bars = (_bar(bar, picture) for bar in picture.bars)
    height = _TOP + _HEIGHT + _AXIS
    parts = (*_axes(picture), plot, *bars)
    words = picture.title, picture.legend
    return _framed(*words, height, *parts, key=picture.key, square=picture.square)


def _share(value: float, picture: Picture) -> float:
    """Return the place of a value, as a share of the width."""
    # Halves, as the whole may exceed the largest double.
    share = (value / 2 - picture.low / 2) / (picture.high / 2 - picture.low / 2)
    return min(max(share, 0.0), 1.0)


def _percent(value: float, picture: Picture) -> str:
    return f"{_START + _WIDTH * _share(value, picture):.3f}%"


def _raised(value: float, picture: Picture) -> float:
    """Return how high a value is, as a share of the height."""
    share = (value - picture.floor) / (picture.ceiling - picture.floor)
    return min(max(share, 0.0), 1.0)


def _pixel(value: float, picture: Picture) -> float:
    return round(_TOP + _HEIGHT * (1.0 - _raised(value, picture)), 1)


def _points(across: Iterable[float], up: Iterable[float], picture: Picture) -> str:
    return " ".join(
        f"{1000 * _share(x, picture):.1f},{1000 * (1.0 - _raised(y, picture)):.1f}"
        for x, y in zip(across, up, strict=True)
    )


def _axes(picture: Picture) -> list[Markup]:
    bottom = _TOP + _HEIGHT
    ends = f"{_START}%", f"{_START + _WIDTH}%"
    parts = []
    whole = picture.floor == 0.0 and picture.ceiling == 1.0
    quarters = [0.0, 0.25, 0.5, 0.75, 1.0]
    for share in quarters if whole else _ticks(picture.floor, picture.ceiling):
        y = _pixel(share, picture)
        parts += [
            _straight("grid", ends, (y, y)),
            _tick(f"{_START - 1}%", y + 4, number(share, 6), "end"),
        ]
    for tick in _ticks(picture.low, picture.high):
        words = number(10.0**tick, 2) if picture.decades else number(tick, 6)
        parts += _upright(_percent(tick, picture), _TOP, bottom, words)
    across = shortened(one_line(picture.across), _LONGEST_NAME)
    below = _tick(f"{_START + _WIDTH / 2}%", bottom + 37, across)
    return [*parts, _tick("0", _TOP - 16, picture.up, "start"), below]


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two others, at most six."""
    width = high / 4 - low / 4  # a quarter, as the whole may exceed the largest double
    decade = 10.0 ** math.floor(math.log10(width))
    step = next(s * decade for s in (1.0, 2.0, 5.0, 10.0) if s * decade >= 0.8 * width)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)][:6]


def _bar(bar: Bar, picture: Picture) -> Markup:
    x = _percent(bar.across, picture)
    line = _straight("interval", (x, x), (_pixel(bar.low, picture), _pixel(bar.high, picture)))
    return Markup('<g class="clear">{}{}</g>').format(line, _circle(x, _pixel(bar.up, picture)))
