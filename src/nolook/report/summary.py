"""A release on one screen: what the command line prints, as text and as HTML for notebooks."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from nolook.estimators.result import Summary
from nolook.report._templates import template
from nolook.report.findings import Table
from nolook.report.terminal import Line, print_lines

__all__ = ["summary_of"]

_WIDTH = 100  # characters of a line of text


def summary_of(parts: Sequence[Line]) -> Summary:
    """Return texts and tables as one summary."""
    shown = [(isinstance(part, Table), style, part) for part, style in parts]
    return Summary(_text(parts), template("summary.html").render(parts=shown))


def _text(parts: Sequence[Line]) -> str:
    """Return the printed lines as plain text."""
    written = io.StringIO()
    console = Console(
        file=written,
        width=_WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,  # which would show it at once
        highlight=False,
        markup=False,
        emoji=False,
    )
    print_lines(console, parts)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())
