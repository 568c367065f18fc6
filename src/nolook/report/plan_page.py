"""A plan as one HTML page and in the terminal."""

from __future__ import annotations

from rich.console import Console

from nolook._version import __version__
from nolook.planning.forecast import Forecast
from nolook.report._templates import template
from nolook.report.plan_findings import plan_headline, plan_section
from nolook.report.terminal import print_lines

__all__ = ["print_plan", "render_plan_page"]


def render_plan_page(found: Forecast) -> str:
    """Render the page of a plan: no figure of any table is in it."""
    return template("plan.html").render(
        title=plan_headline(found), section_=plan_section(found), version=__version__
    )


def print_plan(console: Console, found: Forecast) -> None:
    """Print a plan."""
    parts = ((part, "") for part in plan_section(found).printed)
    print_lines(console, ((plan_headline(found), "bold"), *parts))
