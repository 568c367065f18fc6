"""Coefficients with their intervals as an inline SVG picture.

Everything across is in percent of the picture's width and text keeps the page's size, so it fits
a telephone as well as a poster. Colours come from the page's style sheet.
"""

from __future__ import annotations

import html
import math
import statistics
import unicodedata
from collections.abc import Sequence

from nolook.formats.files import one_line
from nolook.report.summary import Coefficient, interval, number

__all__ = ["MOST_SHOWN", "coefficient_picture", "shortened"]

#: How many coefficients a picture shows, the largest effects first.
MOST_SHOWN = 100

_ROW = 26  # pixels
_TOP = 8
_AXIS = 40
_LEFT = 36.0  # percent of the width for the names
_RIGHT = 98.0
_NAME_LENGTH = 36
_CENTRED = 'text-anchor="middle"'
_LABELLED = 'role="img" aria-labelledby="picture-title picture-description"'


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


def coefficient_picture(coefficients: Sequence[Coefficient], caption: str) -> str:
    """Draw the effect of each column: a point for the coefficient, a line for its interval.

    A coefficient without an interval is a point alone.
    """
    ordered = sorted(coefficients, key=lambda one: -abs(one.effect))[:MOST_SHOWN]
    limit = _limit(ordered)
    height = _TOP + _ROW * len(ordered) + _AXIS
    lines = any(one.effect_ends is not None for one in ordered)
    description = (
        f"For each column a point shows the coefficient{' and a line its interval' * lines}; "
        "the table below holds the same numbers."
    )
    return "\n".join(
        [
            f'<svg class="picture" width="100%" height="{height}" {_LABELLED}>',
            f'<title id="picture-title">{html.escape(caption)}</title>',
            f'<desc id="picture-description">{description}</desc>',
            *_axis(limit, len(ordered), caption),
            *(_row(one, index, limit) for index, one in enumerate(ordered)),
            "</svg>",
        ]
    )


def _limit(coefficients: Sequence[Coefficient]) -> float:
    """Half the width of the axis: all points fit, and the ends of half the intervals at least.

    One wild interval would otherwise squeeze all others into a dot; it gets an arrow instead.
    """
    points = max(abs(one.effect) for one in coefficients)
    ends = [max(map(abs, one.effect_ends or (one.effect,))) for one in coefficients]
    typical = statistics.median_high(ends)
    largest = max(ends)
    room = max(1.5 * points, 3 * min(typical, 1e307))
    limit = min(largest, room)
    # Below the smallest normal double the ratios of the picture would lose their digits.
    return 1.05 * min(limit, 1e307) if limit > 1e-300 else 1.0


def _across(effect: float, limit: float) -> float:
    """Where an effect lies, in percent of the width; beyond the axis at its end."""
    share = min(max(effect / limit, -1.0), 1.0)
    return _LEFT + (_RIGHT - _LEFT) * (share + 1) / 2


def _axis(limit: float, rows: int, caption: str) -> list[str]:
    bottom = _TOP + _ROW * rows
    parts = []
    for tick in _ticks(limit):
        place = f"{_across(tick, limit):.3f}%"
        kind = "zero" if tick == 0 else "grid"
        parts += [
            f'<line class="{kind}" x1="{place}" x2="{place}" y1="{_TOP}" y2="{bottom}"/>',
            f'<text class="tick" x="{place}" y="{bottom + 16}" {_CENTRED}>{number(tick)}</text>',
        ]
    middle = f"{(_LEFT + _RIGHT) / 2:.3f}%"
    parts.append(
        f'<text class="tick" x="{middle}" y="{bottom + 33}" {_CENTRED}>'
        f"{html.escape(caption)}</text>"
    )
    return parts


def _ticks(limit: float) -> list[float]:
    """Round numbers on either side of 0, at most two."""
    decade = 10.0 ** math.floor(math.log10(limit))
    step = max(s * decade for s in (0.2, 0.5, 1.0, 2.0, 5.0) if 1.6 * s * decade <= limit)
    count = 2 if 2 * step <= 0.92 * limit else 1
    return [index * step for index in range(-count, count + 1)]


def _row(one: Coefficient, index: int, limit: float) -> str:
    middle = _TOP + _ROW * index + _ROW / 2
    name = one_line(one.name)
    kind = {True: "clear", False: "unclear", None: "alone"}[one.clear]
    ends = "" if one.effect_ends is None else f" ({interval(one.effect_ends)})"
    line = "" if one.effect_ends is None else _interval(one.effect_ends, middle, limit)
    return (
        f'<g class="{kind}"><title>{html.escape(name)}: {number(one.effect)}{ends}</title>'
        # The names have a window of their own: a long one is cut, never drawn over the plot.
        f'<svg x="0" y="{middle - _ROW / 2}" width="{_LEFT - 1.5}%" height="{_ROW}">'
        f'<text class="name" x="100%" y="{_ROW / 2 + 4.5}" text-anchor="end">'
        f"{html.escape(shortened(name, _NAME_LENGTH))}</text></svg>{line}"
        f'<circle cx="{_across(one.effect, limit):.3f}%" cy="{middle}" r="4.5"/></g>'
    )


def _interval(ends: tuple[float, float], middle: float, limit: float) -> str:
    """Draw a line, and an arrow where it would leave the picture."""
    low, high = (_across(end, limit) for end in ends)
    arrows = "".join(
        _arrow(_across(end, limit), middle, direction)
        for end, direction in zip(ends, (-1, 1), strict=True)
        if end * direction > limit
    )
    return (
        f'<line class="interval" x1="{low:.3f}%" x2="{high:.3f}%" y1="{middle}" y2="{middle}"/>'
        f"{arrows}"
    )


def _arrow(end: float, middle: float, direction: int) -> str:
    tip, base = (6, -2) if direction > 0 else (-6, 2)
    return (
        f'<svg class="arrow" x="{end:.3f}%" y="{middle}" overflow="visible">'
        f'<path d="M{tip} 0 L{base} -5 L{base} 5 Z"/></svg>'
    )
