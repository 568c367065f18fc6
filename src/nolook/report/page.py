"""A release as one HTML page without scripts or outside resources; everything is escaped."""

from __future__ import annotations

from nolook.report._templates import template
from nolook.report.findings import Findings, plain
from nolook.report.ledger_status import UNKNOWN, LedgerStatus
from nolook.report.sections import cards, cautions, in_short, sections, verdict

__all__ = ["render_page"]


def render_page(found: Findings, ledger_status: LedgerStatus = UNKNOWN) -> str:
    """Render the page of a release: everything in it was released, nothing else is shown."""
    return template("page.html").render(
        found=found,
        title=found.title or plain(found.headline),
        cards=cards(found),
        cautions=cautions(found),
        short=in_short(found, ledger_status),
        verdict=verdict(found.guarantee),
        sections=sections(found),
    )
