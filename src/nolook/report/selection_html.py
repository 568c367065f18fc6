"""A selection of columns as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nolook.formats.files import one_line, write_text
from nolook.report._markup import count, named
from nolook.report._page import (
    banner,
    figures,
    guarantee_section,
    how_it_was_made,
    page,
    privacy_figure,
    selection_section,
    spending_section,
)
from nolook.report.origin import Origin

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector

__all__ = ["render_selection", "write_selection_report"]


def write_selection_report(
    selector: PrivateSelector, path: Path, *, table: str, target: str
) -> None:
    """Write the report of a selection."""
    write_text(path, render_selection(selector, table=table, target=target))


def render_selection(selector: PrivateSelector, *, table: str, target: str) -> str:
    """Make the report of a selection: everything in it was released, nothing else is shown."""
    kind = "Private selection of columns" if selector.privacy_.private else "Selection of columns"
    origin = Origin.of_selection(selector)
    offered = count(selector.n_features_in_, "column")
    body = [
        f"<h1>{kind} for {named(target)}</h1>",
        _lead(table, target, offered),
        banner(origin),
        figures([privacy_figure(origin), ("Columns chosen", str(selector.k_), f"of {offered}")]),
        guarantee_section(origin),
        selection_section(origin),
        spending_section(origin),
        how_it_was_made(origin, [("Table", table), ("Label", target)]),
    ]
    return page(f"{kind} for {one_line(target)}", body)


def _lead(table: str, target: str, offered: str) -> str:
    which = f"which of {offered} explain {named(target)}"
    return f'<p class="quiet">From the table {named(table)}: {which}.</p>'
