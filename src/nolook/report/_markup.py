"""The few pieces of HTML a report is made of; everything that comes from a table is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from nolook.formats.files import one_line

__all__ = ["count", "meter", "named", "row", "section", "table_of"]


def named(text: str) -> str:
    """Escape a name and keep its writing direction to itself."""
    return f"<bdi>{escape(one_line(text))}</bdi>"


def count(amount: int, noun: str) -> str:
    """Return a number of things, the noun in the plural where it belongs."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def section(name: str, heading: str, *parts: str, kind: str = "") -> str:
    """Return a part of the page under a heading; the parts are HTML."""
    styled = f' class="{kind}"' if kind else ""
    inside = "\n".join(parts)
    return (
        f'<section{styled} aria-labelledby="{name}">\n<h2 id="{name}">{escape(heading)}</h2>\n'
        f"{inside}\n</section>"
    )


def table_of(caption: str, heads: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table that scrolls in a box of its own; numbers stand on the right."""
    first, *others = heads
    columns = f'<th scope="col">{escape(first)}</th>' + "".join(
        f'<th scope="col" class="number">{escape(head)}</th>' for head in others
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n</div>"
    )


def row(name: str, cells: Iterable[str], kind: str = "") -> str:
    """Return a row of a table; the cells are HTML."""
    styled = f' class="{kind}"' if kind else ""
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f'<tr{styled}><th scope="row">{named(name)}</th>{numbers}</tr>'


def meter(share: float | None) -> str:
    """Return a share in percent with a bar, nothing if there is none."""
    if share is None:
        return ""
    return (
        f'<span class="meter">{100 * share:.0f} %<svg width="80" height="10" aria-hidden="true">'
        '<rect class="back" width="80" height="10" rx="5"/>'
        f'<rect class="part" width="{80 * share:.1f}" height="10" rx="5"/></svg></span>'
    )
