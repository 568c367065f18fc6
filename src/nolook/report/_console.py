"""What everything printed is made of; names are shown as plain text, on one line.

Imports nothing numeric.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["empty_table", "say"]


def say(console: Console, text: str, style: str = "", *, whole: bool = False) -> None:
    """Print a text as it is; a whole one is not wrapped, so that a path can be copied."""
    console.print(Text(text, style=style), soft_wrap=whole)


def empty_table(title: str, heads: Sequence[str]) -> Table:
    """Return a table to be filled; all columns but the first are aligned right."""
    shown = Text(title, style="bold") if title else None
    table = Table(title=shown, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table
