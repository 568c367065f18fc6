"""Pictures as inline SVG, for pages.

Everything across is in percent of the picture's width and text keeps the page's size, so a picture
fits a telephone as well as a poster. Colours come from the page's style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen
from markupsafe import Markup

from nolook.formats.files import one_line
from nolook.report.picture import DASHES, UNKNOWN, Band, Line, Picture, Point, shortened, width

__all__ = ["svg"]

_ROW, _NUMBERS = 26, 40  # pixels of a row, and of numbers below with their name
_START, _WIDTH = 10.0, 87.0  # percent of the width
_TOP, _HEIGHT = 30, 300  # pixels
_LONGEST_LABEL = 40
_ROOM, _LAST = 0.4, 0.93  # letters along a percent of a telephone's width; share of the last tick

_SAME = "; the table below holds the same numbers"
_CIRCLE = Markup('<circle cx="{}" cy="{}" r="4.5"/>')
_WORDS = Markup('<text class="tick" x="{}" y="{}" dx="8" dy="4">{}</text>')
# Where an interval would leave the picture.
_ARROW = Markup(
    '<svg class="arrow" x="{}" y="{}" overflow="visible">'
    '<path d="M6 0 L-2 -5 L-2 5 Z" transform="scale({} 1)"/></svg>'
)
_KINDS = {True: "clear", False: "unclear", None: "alone"}


@frozen
class _Frame:
    """Where a picture's values are drawn: across in percent of the width, upwards in pixels."""

    picture: Picture
    left: float
    across: float
    top: int
    height: int

    def x(self, value: float) -> str:
        return f"{self.left + self.across * self.picture.across.share(value):.3f}%"

    def y(self, value: float) -> float:
        share = self.picture.up.share(value)
        return round(self.top + self.height * (share if self.picture.rows else 1.0 - share), 1)

    @property
    def bottom(self) -> int:
        return self.top + self.height


def svg(picture: Picture) -> Markup:
    """Draw a picture, with its title and legend for screen readers."""
    points = [one for one in picture.marks if isinstance(one, Point)]
    longest = max((width(shortened(one.name or "")) for one in points), default=0)
    if picture.rows:
        rows = round(picture.up.high - picture.up.low)
        # The names are on the left; below is room for the axis.
        left = min(max(36.0, 3.2 * longest), 52.0)
        frame, below = _Frame(picture, left, 98.0 - left, 8, _ROW * rows), 22
    else:
        frame = _Frame(picture, _START, _WIDTH, _TOP, _HEIGHT)
        below = 46 + _NUMBERS * len(picture.below)
    parts = (
        *_axes(frame),
        *_below(frame),
        *_curves(frame),
        *(_point(one, frame) for one in points),
    )
    # On a narrow screen there is room for the longest name.
    least = min(51.0 * longest / (frame.left - 1.5), 34.0)
    size = Markup('height="{}" style="min-width: {:g}rem"').format(frame.bottom + below, least)
    if picture.square:
        # It grows as a whole, text too: both axes stay as long.
        size = Markup('viewBox="0 0 {} {}" style="max-width: 26rem"').format(
            round(100 * _HEIGHT / _WIDTH), frame.bottom + below
        )
    return Markup(
        '<svg class="picture" width="100%" {size} role="img" '
        'aria-labelledby="{key}-title {key}-description">\n'
        '<title id="{key}-title">{title}</title>\n'
        '<desc id="{key}-description">{legend}</desc>\n{parts}\n</svg>'
    ).format(
        size=size,
        key=picture.key,
        title=one_line(picture.title),
        legend=one_line(picture.legend + _SAME * picture.rows),
        parts=Markup("\n").join(parts),
    )


def _axes(frame: _Frame) -> Iterator[Markup]:
    """Draw the grid, what its lines stand for, and the names of both axes."""
    picture, bottom = frame.picture, frame.bottom
    for place, words in picture.up.ticks:
        y = frame.y(place)
        yield _straight("grid", (f"{frame.left}%", f"{frame.left + frame.across}%"), (y, y))
        yield _text(f"{frame.left - 1}%", y + 4, words, "end")
    for place, _ in picture.across.ticks:
        x = frame.x(place)
        yield _straight("grid", (x, x), (frame.top, bottom))
    yield from _along(frame, bottom + 16, [words for _, words in picture.across.ticks])
    if picture.across.zero is not None:
        x = frame.x(picture.across.zero)
        yield _straight("zero", (x, x), (frame.top, bottom))
    if not picture.rows:
        label = shortened(picture.across.label, _LONGEST_LABEL)
        yield _text("0", frame.top - 16, picture.up.label, "start")
        yield _text(f"{frame.left + frame.across / 2}%", bottom + 37, label)


def _below(frame: _Frame) -> Iterator[Markup]:
    """Write rows of numbers under the ticks, each below its name."""
    for row, (name, numbers) in enumerate(frame.picture.below):
        y = frame.bottom + 70 + _NUMBERS * row
        yield _text("0", y - 16, shortened(name), "start")
        yield from _along(frame, y, numbers)


def _along(frame: _Frame, y: float, words: Sequence[str]) -> Iterator[Markup]:
    """Write texts at the ticks across; on a telephone only every other one where many are long."""
    crowded = sum(width(each) + 2 for each in words) > _ROOM * frame.across
    for number, (place, _) in enumerate(frame.picture.across.ticks):
        # The last one stays within the picture.
        anchor = "end" if frame.picture.across.share(place) > _LAST else "middle"
        kind = "tick spare" if crowded and number % 2 else "tick"
        if words[number]:
            yield _text(frame.x(place), y, words[number], anchor, kind)


def _curves(frame: _Frame) -> Iterator[Markup]:
    """Draw lines and bands, in a window that stretches with the page."""
    curves = []
    for one in frame.picture.marks:
        if isinstance(one, Line):
            drawn = Markup('<polyline class="{}" points="{}"{}/>')
            kind, dash = "zero" if one.guide else f"curve {one.dash}", DASHES[one.dash]
            dashes = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
            curves.append(drawn.format(kind, _points(one.across, one.up, frame.picture), dashes))
        elif isinstance(one, Band):
            across = *one.across, *one.across[::-1]
            around = _points(across, (*one.high, *one.low[::-1]), frame.picture)
            curves.append(Markup('<polygon class="band" points="{}"/>').format(around))
    if curves:
        yield Markup(
            '<svg x="{}%" y="{}" width="{}%" height="{}" viewBox="0 0 1000 1000" '
            'preserveAspectRatio="none">\n{}\n</svg>'
        ).format(frame.left, frame.top, frame.across, frame.height, Markup("\n").join(curves))


def _points(across: Iterable[float], up: Iterable[float], picture: Picture) -> str:
    return " ".join(
        f"{1000 * picture.across.share(x):.1f},{1000 * (1.0 - picture.up.share(y)):.1f}"
        for x, y in zip(across, up, strict=True)
    )


def _point(one: Point, frame: _Frame) -> Markup:
    """Draw a point with its interval and, in a row, its name."""
    x, y = frame.x(one.across), frame.y(one.up)
    parts = [Markup("<title>{}</title>").format(one.numbers)] if one.numbers else []
    if one.name is not None:
        # The names have a window of their own: a long one is cut, never drawn over the plot.
        own = y - _ROW / 2, frame.left - 1.5, _ROW, _ROW / 2 + 4.5, shortened(one.name)
        name = Markup(
            '<svg x="0" y="{}" width="{}%" height="{}"><text class="name" x="100%" y="{}" '
            'text-anchor="end">{}</text></svg>'
        )
        parts.append(name.format(*own))
    if one.ends is not None and frame.picture.rows:
        parts.append(_straight("interval", map(frame.x, one.ends), (y, y)))
        for limit, sign in frame.picture.across.left(one.ends):
            parts.append(_ARROW.format(frame.x(limit), y, sign))
    elif one.ends is not None:
        parts.append(_straight("interval", (x, x), map(frame.y, one.ends)))
    parts.append((_WORDS if one.sure is None else _CIRCLE).format(x, y, UNKNOWN))
    return Markup('<g class="{}">{}</g>').format(_KINDS[one.sure], Markup().join(parts))


def _text(x: str, y: float, words: str, anchor: str = "middle", kind: str = "tick") -> Markup:
    written = Markup('<text class="{}" x="{}" y="{:g}" text-anchor="{}">{}</text>')
    return written.format(kind, x, y, anchor, one_line(words))


def _straight(kind: str, x: Iterable[str], y: Iterable[float]) -> Markup:
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(kind, *x, *y)
