"""Releases in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nolook._strength import INDEPENDENT
from nolook.formats.files import one_line
from nolook.report._console import STYLES, empty_table, say
from nolook.report.findings import Findings, Table, plain
from nolook.report.findings import Text as Words
from nolook.report.ledger_status import UNKNOWN, LedgerStatus
from nolook.report.sections import cautions, rows_described, rows_used, sections, verdict

__all__ = ["Line", "lines", "print_findings", "print_lines", "print_table"]

_FEW = 4  # columns of tables that are never stacked

#: A text or a table, and the style of the text.
Line: TypeAlias = tuple[Words | Table, str]


def lines(found: Findings, *, details: bool = False) -> tuple[Line, ...]:
    """List the lines about a release on one screen, with `details` the costs of mechanisms too."""
    guarantee = found.guarantee
    answer = (*found.conclusion, *filter(None, (rows_used(found),)), *rows_described(found))
    shown = (each.printed for each in sections(found) if details or each.name != "costs")
    return (
        (found.headline, "bold"),
        *((INDEPENDENT, ""),) * (guarantee.private and guarantee.unit.column is None),
        *((caution, "bold yellow") for caution in cautions(found)),
        *((part, "") for part in (*answer, *chain(*shown))),
        # Last, where nobody overlooks it.
        (guarantee.in_words(), STYLES[verdict(guarantee)]),
    )


def print_findings(
    console: Console,
    found: Findings,
    *,
    output: Path | None = None,
    report_file: Path | None = None,
    ledger_status: LedgerStatus = UNKNOWN,
    details: bool = False,
) -> None:
    """Print what was found, what it cost, the guarantee and where the files are."""
    print_lines(console, lines(found, details=details))
    if ledger_status.ledger is not None and found.guarantee.private:
        say(console, plain(ledger_status.charged[0]))
    for kind, path in ((found.kind, output), ("report", report_file)):
        if path is not None:
            say(console, f"{kind}: {one_line(path)}", whole=True)


def print_lines(console: Console, parts: Iterable[Line]) -> None:
    """Print texts and tables."""
    for part, style in parts:
        if isinstance(part, Table):
            print_table(console, part)
        else:
            say(console, plain(part), style=style)


def print_table(console: Console, table: Table) -> None:
    """Print a table under its caption, stacked if its many columns would have to break words."""
    # Not the table's own title, which would be folded at the width of a narrow table.
    if table.caption:
        say(console, one_line(table.caption), style="bold")
    heads, *rows = table.texts()
    shown = empty_table("", heads)
    for row in rows:
        shown.add_row(*map(Text, row))
    if table.foot:
        shown.rows[-1].style = "dim"
    # A number is not broken where all of them fit.
    cells = [*zip_longest(heads, *rows, fillvalue="")]
    least = [max(map(cell_len, " ".join(column).split()), default=0) for column in cells]
    more = [max(map(cell_len, column)) - width for column, width in zip(cells, least, strict=True)]
    spare = console.width - 3 * len(cells) - 1 - sum(least)
    if spare < 0 and len(cells) > _FEW:
        # A line for each cell, under the name of its row.
        for name, *values in rows:
            own = tuple(zip(heads[1:], values, strict=False))
            print_table(console, Table("", (name or heads[0], ""), own))
        return
    if 0 <= spare < sum(more):
        for done, place in enumerate(sorted(range(len(more)), key=more.__getitem__)):
            given = min(more[place], spare // (len(more) - done))
            shown.columns[place].width, spare = least[place] + given, spare - given
    console.print(shown)
