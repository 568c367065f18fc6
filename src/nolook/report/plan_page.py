"""A plan as one HTML page and in the terminal."""

from __future__ import annotations

from nolook._version import __version__
from nolook.estimators.result import Summary
from nolook.planning.forecast import Forecast
from nolook.report._templates import template
from nolook.report.plan_findings import plan_headline, plan_section
from nolook.report.summary import summary_of
from nolook.report.terminal import Line

__all__ = ["plan_lines", "plan_summary", "render_plan_page"]


def render_plan_page(found: Forecast) -> str:
    """Render the page of a plan: no figure of any table is in it."""
    return template("plan.html").render(
        title=plan_headline(found), section_=plan_section(found), version=__version__
    )


def plan_lines(found: Forecast) -> tuple[Line, ...]:
    """Return a plan as texts and tables for the terminal and notebooks."""
    return (plan_headline(found), "bold"), *((part, "") for part in plan_section(found).printed)


def plan_summary(found: Forecast) -> Summary:
    """Return a plan on one screen."""
    return summary_of(plan_lines(found))
