"""A release on one screen: what the command line prints, as text and as HTML for notebooks."""

from __future__ import annotations

import io
from collections.abc import Sequence

from nolook.estimators.result import Summary
from nolook.report._console import plain_console
from nolook.report._templates import template
from nolook.report.findings import Table
from nolook.report.terminal import Line, print_lines

__all__ = ["summary_of"]

_WIDTH = 100  # characters of a line of text


def summary_of(parts: Sequence[Line]) -> Summary:
    """Return texts and tables as one summary."""
    written = io.StringIO()
    # Never shown at once, as a notebook would.
    here = {"color_system": None, "force_terminal": False, "force_jupyter": False}
    print_lines(plain_console(file=written, width=_WIDTH, **here), parts)
    text = "\n".join(line.rstrip() for line in written.getvalue().splitlines())
    shown = [(isinstance(part, Table), style, part) for part, style in parts]
    return Summary(text, template("summary.html").render(parts=shown))
