"""A plan as one HTML page and in the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nolook._version import __version__
from nolook.formats.files import one_line, write_text
from nolook.report._console import say
from nolook.report._templates import template
from nolook.report.findings import Table, plain
from nolook.report.plan_findings import plan_headline, plan_section
from nolook.report.terminal import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.planning.forecast import Forecast

__all__ = ["print_plan", "render_plan_page", "write_plan_page"]


def write_plan_page(found: Forecast, path: str | os.PathLike[str]) -> None:
    """Write the page of a plan."""
    write_text(Path(path), render_plan_page(found))


def render_plan_page(found: Forecast) -> str:
    """Render the page of a plan: no figure of any table is in it."""
    return template("plan.html").render(
        title=plan_headline(found), section_=plan_section(found), version=__version__
    )


def print_plan(console: Console, found: Forecast) -> None:
    """Print a plan."""
    say(console, plan_headline(found), style="bold")
    for part in plan_section(found).printed:
        if isinstance(part, Table):
            print_table(console, part)
        else:
            say(console, one_line(plain(part)))
