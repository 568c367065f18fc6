"""A ledger as one HTML page: its budget, what is left of it and its releases.

Imports nothing numeric.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nolook._version import __version__
from nolook.formats.files import one_line, write_text
from nolook.privacy.ledger import amount_text
from nolook.report._templates import template

if TYPE_CHECKING:
    from nolook.privacy.ledger import Ledger, LedgerEntry

__all__ = ["in_words", "render_ledger_page", "write_ledger_page"]

# With which tables the guarantee compares.
_NEIGHBOURS = {
    "add-remove": ("with a {one} in the table", "without it"),
    "replace": ("with a {one} in the table", "with another {one} in its place"),
}
_ROW = "row"  # what ledgers call the unit that is one
_STATES = {
    "complete": "made",
    "reserved": "charged; not known to have been made",
    "refunded": "not made, and given back",
}
_DIGITS = 12  # of a digest


def write_ledger_page(ledger: Ledger, path: str | os.PathLike[str]) -> None:
    """Write the page of a ledger as it is now."""
    write_text(Path(path), render_ledger_page(ledger))


def render_ledger_page(ledger: Ledger) -> str:
    """Render the page of a ledger: names and costs, no figure about the data."""
    entries = ledger.history()
    unit = ledger.unit
    one = _ROW if unit in {None, _ROW} else "unit"
    with_one, without_one = (words.format(one=one) for words in _NEIGHBOURS[ledger.relation])
    amounts = (("Budget", ledger.budget), ("Spent", ledger.spent), ("Left", ledger.remaining))
    cards = [
        (head, *_cost(amount.epsilon, amount.delta, up=head != "Left")) for head, amount in amounts
    ]
    return template("ledger.html").render(
        name=ledger.name,
        file=ledger.path.name,
        cards=cards,
        with_one=with_one,
        without_one=without_one,
        one=one,
        unit=unit,
        number_is_public=ledger.relation == "replace",
        releases=[_release(entry) for entry in entries],
        states=sorted({entry.state for entry in entries} & {"reserved", "refunded"}),
        version=__version__,
    )


def in_words(entry: LedgerEntry) -> tuple[str, ...]:
    """Say what a release is of, where it went and when it was charged, as far as it is known."""
    details = entry.details
    subject = " of ".join(text for text in (details.about, details.table) if text)
    if details.schema:
        subject += f" (schema {details.schema[:_DIGITS]})"
    if details.unit and not subject:
        subject = f"protects a {details.unit}"
    elif details.unit:
        subject += f", protecting a {details.unit}"
    output = () if details.output is None else (f"in {details.output}",)
    time = f"{entry.time.removesuffix('+00:00').replace('T', ' ')} UTC"
    return tuple(map(one_line, (*[subject] * bool(subject), *output, time)))


def _release(entry: LedgerEntry) -> tuple[object, ...]:
    epsilon, delta = (amount_text(part, up=True) for part in (entry.cost.epsilon, entry.cost.delta))
    lines = (*in_words(entry), _STATES[entry.state])
    return entry.id, entry.description, lines, epsilon, delta


def _cost(epsilon: float, delta: float, *, up: bool) -> tuple[str, str]:
    return (
        f"epsilon {amount_text(epsilon, up=up)}",
        f"delta {amount_text(delta, up=up)}",
    )
