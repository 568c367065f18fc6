"""Curves, bands and points with error bars as an inline SVG picture of shares.

Everything across is in percent of the picture's width and text keeps the page's size, so it fits
a telephone as well as a poster. Colours come from the page's style sheet.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.formats.files import one_line
from nolook.report.picture import shortened

__all__ = ["Bar", "Line", "Picture", "draw"]

_LEFT, _WIDTH = 10.0, 87.0  # percent of the width
_TOP, _HEIGHT, _AXIS = 10, 300, 46  # pixels
_LONGEST_NAME = 40
_LABELLED = 'role="img" aria-labelledby="picture-title picture-description"'

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points.

    Parameters
    ----------
    kind : {"curve", "zero"}
        What was found, or a line to compare it with.
    across, up : ndarray of shape (points,)
    """

    kind: str
    across: Vector
    up: Vector


@dataclass(frozen=True, slots=True)
class Bar:
    """A point with an error bar.

    Parameters
    ----------
    across, up : float
    low, high : float
        The ends of the bar.
    """

    across: float
    up: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: shares from 0 to 1 upwards.

    Parameters
    ----------
    title, across, up : str
        Of the picture and of its axes.
    low, high : float
        The ends of the axis across.
    lines : tuple of Line
    legend : str
        What the lines mean.
    band : tuple of ndarray, or None
        Places across, and the lower and the upper end there.
    bars : tuple of Bar
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


def draw(picture: Picture) -> str:
    """Draw a picture."""
    height = _TOP + _HEIGHT + _AXIS
    plot = (
        f'<svg x="{_LEFT}%" y="{_TOP}" width="{_WIDTH}%" height="{_HEIGHT}" '
        'viewBox="0 0 1000 1000" preserveAspectRatio="none">'
    )
    return "\n".join(
        [
            f'<svg class="picture" width="100%" height="{height}" {_LABELLED}>',
            f'<title id="picture-title">{_text(picture.title)}</title>',
            f'<desc id="picture-description">{_text(picture.legend)}</desc>',
            *_axes(picture),
            plot,
            *([] if picture.band is None else [_band(picture)]),
            *(_line(line, picture) for line in picture.lines),
            "</svg>",
            *(_bar(bar, picture) for bar in picture.bars),
            "</svg>",
        ]
    )


def _text(words: str) -> str:
    return html.escape(one_line(words))


def _across(value: float, picture: Picture) -> float:
    """Return the place of a value, as a share of the width."""
    share = (value / 2 - picture.low / 2) / (picture.high / 2 - picture.low / 2)
    return min(max(share, 0.0), 1.0)


def _percent(value: float, picture: Picture) -> str:
    return f"{_LEFT + _WIDTH * _across(value, picture):.3f}%"


def _pixel(share: float) -> str:
    return f"{_TOP + _HEIGHT * (1.0 - min(max(share, 0.0), 1.0)):.1f}"


def _axes(picture: Picture) -> list[str]:
    bottom = _TOP + _HEIGHT
    left, right = f"{_LEFT}%", f"{_LEFT + _WIDTH}%"
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = _pixel(share)
        parts += [
            f'<line class="grid" x1="{left}" x2="{right}" y1="{place}" y2="{place}"/>',
            _tick(f"{_LEFT - 1}%", float(place) + 4, f"{share:g}", "end"),
        ]
    for tick in _ticks(picture.low, picture.high):
        place = _percent(tick, picture)
        parts += [
            f'<line class="grid" x1="{place}" x2="{place}" y1="{_TOP}" y2="{bottom}"/>',
            _tick(place, bottom + 17, f"{tick + 0.0:.6g}"),
        ]
    axes = f"{shortened(one_line(picture.across), _LONGEST_NAME)} (across), {picture.up} (up)"
    return [*parts, _tick(f"{_LEFT + _WIDTH / 2}%", bottom + 37, axes)]


def _tick(across: str, down: float, words: str, anchor: str = "middle") -> str:
    return (
        f'<text class="tick" x="{across}" y="{down:.1f}" text-anchor="{anchor}">'
        f"{_text(words)}</text>"
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two others, at most six."""
    width = high / 4 - low / 4  # a quarter, as the whole may exceed the largest double
    decade = 10.0 ** math.floor(math.log10(width))
    step = next(s * decade for s in (1.0, 2.0, 5.0, 10.0) if s * decade >= 0.8 * width)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)][:6]


def _point(value: float, share: float, picture: Picture) -> str:
    up = 1000 * (1.0 - min(max(share, 0.0), 1.0))
    return f"{1000 * _across(value, picture):.1f},{up:.1f}"


def _line(line: Line, picture: Picture) -> str:
    points = " ".join(
        _point(x, y, picture) for x, y in zip(line.across.tolist(), line.up.tolist(), strict=True)
    )
    return f'<polyline class="{line.kind}" points="{points}"/>'


def _band(picture: Picture) -> str:
    if picture.band is None:
        return ""
    across, low, high = (ends.tolist() for ends in picture.band)
    there = [_point(x, y, picture) for x, y in zip(across, high, strict=True)]
    back = [_point(x, y, picture) for x, y in zip(across, low, strict=True)]
    return f'<polygon class="band" points="{" ".join([*there, *reversed(back)])}"/>'


def _bar(bar: Bar, picture: Picture) -> str:
    place = _percent(bar.across, picture)
    return (
        f'<g class="clear"><line class="interval" x1="{place}" x2="{place}" '
        f'y1="{_pixel(bar.low)}" y2="{_pixel(bar.high)}"/>'
        f'<circle cx="{place}" cy="{_pixel(bar.up)}" r="4.5"/></g>'
    )
