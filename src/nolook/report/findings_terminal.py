"""A private distribution as it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from nolook.formats.files import one_line
from nolook.report._console import empty_table, say, say_files, say_guarantee, spent

if TYPE_CHECKING:
    from nolook.report.findings import Findings

__all__ = ["print_findings"]


def print_findings(
    console: Console, findings: Findings, *, output: Path, report_file: Path | None
) -> None:
    """Print what was found, what was spent, the guarantee and where the files lie."""
    title = f"{findings.kind} of {one_line(findings.of)}"
    table = empty_table(title, findings.heads)
    for cells in findings.rows:
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console.print(table)
    for note in findings.notes:
        say(console, note)
    if findings.caution:
        say(console, findings.caution, style="bold yellow")
    console.print(spent(findings.origin.steps))
    say_guarantee(console, findings.origin)
    say_files(console, {findings.kind: output, "report": report_file})
