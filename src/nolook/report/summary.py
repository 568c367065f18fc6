"""A release on one screen: what the command line prints, as text and as HTML for notebooks."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from rich.console import Console

from nolook.estimators.result import Summary
from nolook.report._templates import template
from nolook.report.findings import Findings, Table, Text
from nolook.report.shared import cautions, rows_used, sections
from nolook.report.terminal import print_findings

__all__ = ["html_of", "summary_of", "text_of"]

_WIDTH = 100  # characters of a line of text


def summary_of(found: Findings) -> Summary:
    """Return the summary of what was found."""
    rows = rows_used(found)
    printed = (part for section in sections(found) for part in section.printed)
    origin = found.origin
    private = origin.guarantee.private
    last = origin.guarantee.in_words()
    if not private:
        last = f"NOT PRIVATE: {origin.why_not_private()[1]} For experiments with public data only."
    parts = [*found.conclusion, *([rows] if rows else []), *printed, last]
    html = html_of(found.headline, parts, cautions=cautions(found))
    return Summary(text_of(lambda console: print_findings(console, found)), html)


def text_of(write: Callable[[Console], None]) -> str:
    """Return what is printed, as plain text."""
    console = Console(
        file=io.StringIO(),
        width=_WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,  # which would show it at once
        highlight=False,
        markup=False,
        emoji=False,
    )
    write(console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def html_of(title: Text, parts: Sequence[Text | Table], *, cautions: Sequence[str] = ()) -> str:
    """Return a title, cautions, texts and tables as HTML that stands in a page of others."""
    shown = [(isinstance(part, Table), part) for part in parts]
    return template("summary.html").render(title=title, cautions=cautions, parts=shown)
