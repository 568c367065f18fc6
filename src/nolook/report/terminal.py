"""What the command line prints of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from nolook.formats.files import one_line
from nolook.report._console import STYLES, empty_table, say
from nolook.report.findings import Findings, Origin, Table, plain
from nolook.report.shared import cautions, rows_used, sections, verdict
from nolook.report.standing import UNKNOWN, Standing

__all__ = ["print_findings", "print_table"]


def print_findings(
    console: Console,
    found: Findings,
    *,
    output: Path | None = None,
    report_file: Path | None = None,
    standing: Standing = UNKNOWN,
) -> None:
    """Print what was found, what it cost, the guarantee and where the files are."""
    say(console, plain(found.headline), style="bold")
    for caution in cautions(found):
        say(console, caution, style="bold yellow")
    for text in found.conclusion:
        say(console, plain(text))
    if rows := rows_used(found):
        say(console, rows)
    for section in sections(found):
        for part in section.printed:
            if isinstance(part, Table):
                print_table(console, part)
            else:
                say(console, one_line(part))
    _print_promise(console, found.origin, standing)
    for kind, path in ((found.kind, output), ("report", report_file)):
        if path is not None:
            say(console, f"{kind}: {one_line(path)}", whole=True)


def _print_promise(console: Console, origin: Origin, standing: Standing) -> None:
    """Print the guarantee and what is left; last, where nobody overlooks it."""
    if origin.guarantee.private:
        say(console, origin.guarantee.in_words(), style=STYLES[verdict(origin)])
        if standing.ledger is not None:
            say(console, plain(standing.in_words()[-1]))
    else:
        why = f"NOT PRIVATE: {origin.why_not_private()[1]} For experiments with public data only."
        say(console, why, style=STYLES[None])


def print_table(console: Console, table: Table) -> None:
    """Print a table and what it is of."""
    # Not the table's own title, which would be folded at the width of a narrow table.
    say(console, one_line(table.caption), style="bold")
    shown = empty_table("", table.heads)
    for row in table.rows:
        shown.add_row(*_cells(row))
    if table.foot:
        shown.add_row(*_cells(table.foot), style="dim")
    console.print(shown)


def _cells(row: Sequence[str | float]) -> list[Text]:
    return [Text(one_line(c) if isinstance(c, str) else f"{100 * c:.0f} %") for c in row]
