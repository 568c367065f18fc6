"""What the command line prints of a ledger. Imports nothing numeric, so that it is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from nolook.formats.files import one_line
from nolook.privacy.ledger import amount_text
from nolook.report._console import empty_table

if TYPE_CHECKING:
    from nolook.privacy.ledger import Ledger

__all__ = ["print_history", "print_ledger"]


def print_ledger(console: Console, ledger: Ledger) -> None:
    """Print what a ledger allows and what is left of it."""
    spent, left = ledger.spent, ledger.remaining
    table = empty_table(f"{one_line(ledger.name)} ({ledger.relation})", ("", "epsilon", "delta"))
    for name, amount in (("budget", ledger.budget), ("spent", spent), ("left", left)):
        up = name == "spent"
        table.add_row(name, amount_text(amount.epsilon, up=up), amount_text(amount.delta, up=up))
    console.print(table)


def print_history(console: Console, ledger: Ledger) -> None:
    """Print each release a ledger was charged for."""
    heads = ("time (UTC)", "release", "state", "epsilon", "delta")
    table = empty_table(f"{one_line(ledger.name)}: releases", heads)
    for entry in ledger.history():
        row = (
            entry.time,
            entry.description,
            entry.state,
            f"{entry.cost.epsilon:.6g}",
            f"{entry.cost.delta:.6g}",
        )
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)
