"""Parts of everything printed; names are shown as plain text, on one line.

Imports nothing numeric.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nolook._strength import Strength

#: The colour of each verdict, as on pages; None stands for what is not private.
STYLES: Mapping[Strength | None, str] = {
    "strong": "green",
    "moderate": "blue",
    "weak": "yellow",
    "next to none": "red",
    None: "bold red",
}


# Blanks at which no line breaks, and what stands for them until then.
_TOGETHER = re.compile(
    r"(?<=[\d%]) (?=to [-+\d])|(?<=[\d%] to) (?=[-+\d])|(?<=\d) (?=%)|(?<=±) (?=\d)"
)
_HELD = "\ufffc"


def plain_console(**how: Any) -> Console:  # noqa: ANN401 -- rich's own types
    """Return a console that prints texts as they are, whatever names they hold."""
    return Console(highlight=False, markup=False, emoji=False, **how)


def say(console: Console, text: str, style: str = "", *, whole: bool = False) -> None:
    """Print a text as it is; a whole one is not wrapped, so that a path can be copied.

    No line breaks within an interval, an error or a share in per cent.
    """
    shown = Text(text if whole else _TOGETHER.sub(_HELD, text), style=style)
    for line in [shown] if whole else shown.wrap(console, console.width):
        line.plain = line.plain.replace(_HELD, " ")
        console.print(line, soft_wrap=whole)


def empty_table(title: str, heads: Sequence[str]) -> Table:
    """Return a table to be filled; all columns but the first are aligned right."""
    shown = Text(title, style="bold") if title else None
    table = Table(title=shown, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table
