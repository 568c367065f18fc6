"""A private distribution as one HTML page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from nolook.formats.files import one_line, write_text
from nolook.report._markup import named, row, section, table_of
from nolook.report._page import (
    banner,
    figures,
    guarantee_section,
    how_it_was_made,
    page,
    privacy_figure,
    spending_section,
)
from nolook.report.distribution_picture import draw

if TYPE_CHECKING:
    from nolook.report.distribution_picture import Picture
    from nolook.report.findings import Findings

__all__ = ["render_findings", "write_findings_report"]


def write_findings_report(findings: Findings, path: Path, *, table: str) -> None:
    """Write the report of a release."""
    write_text(path, render_findings(findings, table=table))


def render_findings(findings: Findings, *, table: str) -> str:
    """Make the report of a release: everything in it was released, nothing else is shown."""
    kind = f"private {findings.kind}" if findings.privacy_.private else findings.kind
    kind = kind[:1].upper() + kind[1:]
    cards = [(escape(head), escape(big), escape(small)) for head, big, small in findings.cards]
    body = [
        f"<h1>{escape(kind)} of {named(findings.of)}</h1>",
        f'<p class="quiet">From the table {named(table)}.</p>',
        banner(findings.origin),
        f'<p class="notice">{escape(findings.caution)}</p>' if findings.caution else "",
        figures([privacy_figure(findings.origin), *cards]),
        guarantee_section(findings.origin, _rows_in_words(findings)),
        _found(findings),
        spending_section(findings.origin),
        how_it_was_made(findings.origin, [("Table", table), *findings.settings]),
    ]
    return page(f"{kind} of {one_line(findings.of)}", body)


def _rows_in_words(findings: Findings) -> str:
    if findings.privacy_.relation == "replace":
        return "The number of rows is not protected."
    return "The number of rows is protected too; if this page tells one, it is a noisy one."


def _found(findings: Findings) -> str:
    rows = (row(name, map(escape, cells)) for name, *cells in findings.rows)
    return section(
        "found",
        "What was found",
        "" if findings.picture is None else _figure(findings.picture),
        table_of(findings.caption, findings.heads, rows),
        *(f'<p class="note">{escape(note)}</p>' for note in findings.notes),
    )


def _figure(picture: Picture) -> str:
    label = f"{escape(one_line(picture.title))}: {escape(picture.legend)}."
    return (
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Picture">\n'
        f"{draw(picture)}\n</div>\n<figcaption>{label}</figcaption></figure>"
    )
