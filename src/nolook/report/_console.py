"""The few pieces that everything printed is made of; names are shown as plain text, on one line.

Imports nothing numeric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nolook.formats.files import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.report.origin import Origin

__all__ = ["empty_table", "say", "say_files", "say_guarantee", "spent"]


def say(console: Console, text: str, style: str = "", *, whole: bool = False) -> None:
    """Print a text as it is."""
    # A path stays whole, so that it can be copied; sentences are wrapped between words.
    console.print(Text(text, style=style), soft_wrap=whole)


def empty_table(title: str, heads: Sequence[str]) -> Table:
    """Return a table to be filled; all but the first column stand on the right."""
    table = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table


def spent(parts: Iterable[tuple[str, PrivacyGuarantee]]) -> Table:
    """Return what each step of a release cost, and what it spent that on."""
    from nolook.report.summary import number, spending

    table = empty_table("spent", ("", "mechanism", "cost"))
    for step, guarantee in parts:
        cost = f"epsilon = {number(guarantee.epsilon)}, delta = {number(guarantee.delta)}"
        table.add_row(step, "", cost)
        for one in spending(guarantee):
            table.add_row(Text(f"  {one.name}"), one.mechanism, one.cost)
    return table


def say_guarantee(console: Console, origin: Origin) -> None:
    """Say what is promised, loudly if that is nothing."""
    if not origin.guarantee.private:
        _, reason = origin.why_not_private()
        say(console, f"NOT PRIVATE: {reason}", style="bold red")
    say(console, origin.guarantee.in_words())


def say_files(console: Console, written: Mapping[str, Path | None]) -> None:
    """Say where the files lie that were written."""
    for kind, path in written.items():
        if path is not None:
            say(console, f"{kind}: {one_line(path)}", whole=True)
