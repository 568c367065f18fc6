"""A ledger as one HTML page: its budget, what is left of it and its releases.

Imports nothing numeric.
"""

from __future__ import annotations

from nolook._strength import strength
from nolook._version import __version__
from nolook.formats.files import one_line
from nolook.privacy.ledger import Ledger, LedgerEntry
from nolook.report._templates import template
from nolook.report.ledger_status import amounts, attack_on

__all__ = ["STATES", "in_words", "render_ledger_page"]

#: The state of an entry in words.
STATES = {
    "complete": "made",
    "reserved": "charged; not known to have been made",
    "refunded": "not made, and given back",
}
_DIGITS = 12  # of a digest


def render_ledger_page(ledger: Ledger) -> str:
    """Render the page of a ledger: names and costs, no figure about the data."""
    entries = ledger.history()
    sums = (("Budget", ledger.budget), ("Spent", ledger.spent), ("Left", ledger.remaining))
    cards = []
    for head, amount in sums:
        epsilon, delta = amounts(amount, up=head != "Left")
        cards.append((head, f"epsilon {epsilon}", f"delta {delta}"))
    return template("ledger.html").render(
        name=ledger.name,
        file=ledger.path.name,
        cards=cards,
        verdict=strength(ledger.budget.epsilon, ledger.budget.delta),
        meanings=_meanings(ledger),
        unit=ledger.unit,
        number_is_public=ledger.relation == "replace",
        releases=[*map(_release, entries)],
        states=sorted({entry.state for entry in entries} & {"reserved", "refunded"}),
        version=__version__,
    )


def _meanings(ledger: Ledger) -> tuple[tuple[str, str], ...]:
    """Return the most an attacker can learn from the spent budget, and from all of it."""
    spent, whole = (
        attack_on(ledger, each)
        if each.epsilon or each.delta
        else "Nothing: no release has been made."
        for each in (ledger.spent, ledger.budget)
    )
    return ("Spent so far", spent), ("The whole budget", whole)


def in_words(entry: LedgerEntry) -> tuple[str, ...]:
    """Return the subject, output and time of a release, as far as they are known."""
    details = entry.details
    subject = " of ".join(text for text in (details.about, details.table) if text)
    if details.schema:
        subject += f" (schema {details.schema[:_DIGITS]})"
    if details.unit and not subject:
        subject = f"protects a {details.unit}"
    elif details.unit:
        subject += f", protecting a {details.unit}"
    output = details.output and f"in {details.output}"
    by = f", by {details.who}" if details.who else ""
    time = f"{entry.time.removesuffix('+00:00').replace('T', ' ')} UTC{by}"
    return tuple(map(one_line, filter(None, (subject, output, time))))


def _release(entry: LedgerEntry) -> tuple[object, ...]:
    lines = (*in_words(entry), STATES[entry.state])
    return entry.id, entry.description, lines, *amounts(entry.cost, up=True)
