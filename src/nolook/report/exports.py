"""The main tables of a release for other documents: CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any

from nolook.formats.files import one_line, write_text
from nolook.report.findings import Table, in_percent

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_tables"]

_LATEX = re.compile(r"[&%$#_{}~^\\]")
_MARKDOWN = re.compile(r"[\\`*_|<>\[\]]")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def write_tables(found: Any, path: Path) -> None:  # noqa: ANN401 -- a result
    """Write a release's main table unrounded, as .csv, or those of its report, as .md or .tex."""
    if path.suffix == ".csv":
        write_text(path, _csv(found._columns()))
        return
    form = _markdown if path.suffix == ".md" else _latex
    tables = [table for each in found.content().sections for table in each.printed]
    write_text(path, "\n".join(form(each) for each in tables if isinstance(each, Table)))


def _csv(columns: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if isinstance(c, float) and math.isnan(c) else c for c in row])
    return out.getvalue()


def _rows(table: Table) -> list[list[str]]:
    rows = [*table.rows, *((table.foot,) if table.foot else ())]
    return [[one_line(c) if isinstance(c, str) else in_percent(c) for c in row] for row in rows]


def _markdown(table: Table) -> str:
    lines = [list(table.heads), ["---", *["---:"] * (len(table.heads) - 1)], *_rows(table)]
    for number, line in enumerate(lines):
        cells = line if number == 1 else [_MARKDOWN.sub(r"\\\g<0>", cell) for cell in line]
        lines[number] = ["| " + " | ".join(cells) + " |"]
    return "\n".join([one_line(table.caption), "", *(line for (line,) in lines), ""])


def _latex(table: Table) -> str:
    def escaped(cells: Any) -> str:  # noqa: ANN401
        changed = (_LATEX.sub(lambda m: _SPECIAL.get(m[0], "\\" + m[0]), c) for c in cells)
        return " & ".join(changed) + r" \\"

    columns = "l" + "r" * (len(table.heads) - 1)
    body = [escaped(row) for row in _rows(table)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            *(r"\hline", escaped(table.heads), r"\hline"),
            *body,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )
