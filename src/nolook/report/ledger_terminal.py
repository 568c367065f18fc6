"""Ledgers in the terminal; imports nothing numeric, to be quick."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from nolook._strength import CHANGES
from nolook.formats.files import one_line
from nolook.privacy.ledger import Ledger
from nolook.report._console import empty_table, say
from nolook.report.ledger_page import STATES, in_words
from nolook.report.ledger_status import amounts

__all__ = ["print_history", "print_ledger"]


def print_ledger(console: Console, ledger: Ledger) -> None:
    """Print what a ledger allows and what is left of it."""
    table = empty_table(one_line(ledger.name), ("", "epsilon", "delta"))
    table.add_row("budget", *amounts(ledger.budget, up=False))
    table.add_row("spent", *amounts(ledger.spent, up=True))
    table.add_row("left", *amounts(ledger.remaining, up=False))
    console.print(table)
    one = f"{ledger.unit or 'row or unit'} {CHANGES[ledger.relation]}"
    say(console, f"Each release protects a {one}; others are refused.")


def print_history(console: Console, ledger: Ledger) -> None:
    """Print each release a ledger was charged for."""
    heads = ("release", "state", "epsilon", "delta")
    table = empty_table(f"{one_line(ledger.name)}: releases", heads)
    for entry in ledger.history():
        lines = (f"{entry.id} {entry.description}", *in_words(entry))
        words = Text("\n").join(Text(one_line(line)) for line in lines)
        table.add_row(words, STATES[entry.state], *amounts(entry.cost, up=True))
    console.print(table)
