"""How the papers' figures look: colours that everybody can tell apart, and the same bytes again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes", "line_style", "save"]

# Okabe and Ito's colours, which differ in lightness too; yellow is too light for a line.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    # Words stay words, for those who search or listen; the names inside the file do not vary.
    "svg.fonttype": "none",
    "svg.hashsalt": "nolook",
}


def line_style(place: int, *, private: bool = True) -> dict[str, Any]:
    """Return how matplotlib draws the line of a method.

    Parameters
    ----------
    place : int
        Which of the methods it is: decides colour and marker.
    private : bool, default=True
        Whether its guarantee holds for rows; otherwise the line is dashed and its markers hollow.
    """
    style = {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}
    if private:
        return {**style, "linestyle": "-", "markersize": 4}
    return {**style, "linestyle": "--", "markersize": 5, "markerfacecolor": "none"}


def axes(
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (7.0, 3.6),
    **options: Any,  # noqa: ANN401 -- matplotlib's own
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row.

    Parameters
    ----------
    rows, columns : int, default=1
    size : tuple of float
        Width and height in inches.
    **options
        What ``Figure.subplots`` takes.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(grid.ravel())


def save(figure: Figure, path: Path) -> str:
    """Write a figure as SVG; return the name of the file.

    Parameters
    ----------
    figure : Figure
    path : Path
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_STYLE):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path.name
