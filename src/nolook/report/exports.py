"""The main tables of a release for other documents: CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import numpy as np

from nolook.formats.files import one_line
from nolook.report.findings import Table, plain, texts
from nolook.report.picture import BARS
from nolook.report.sections import cautions

__all__ = ["exported"]

_LATEX = re.compile(rf"[&%$#_{{}}~^\\{BARS}]")
_MARKDOWN = re.compile(r"[\\`*_|<>\[\]]")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
_SPECIAL |= {bar: rf"\rule{{.4em}}{{{place / 8:g}em}}" for place, bar in enumerate(BARS, start=1)}


def exported(found: Any, form: str) -> str:  # noqa: ANN401 -- a result
    """Return a release's main table unrounded (csv), its report's (md, latex), or all (json)."""
    promised = one_line(found.privacy.in_words())  # a table is copied without its page
    if form == "csv":
        return _csv(found._columns(), promised)
    if form == "json":
        return _json(found)
    table_in = _markdown if form == "md" else _latex
    tables = [table for each in found.content().sections for table in each.printed]
    last = _MARKDOWN.sub(r"\\\g<0>", promised) if form == "md" else f"% {promised}"
    return "\n".join([*(table_in(each) for each in tables if isinstance(each, Table)), last, ""])


def _json(found: Any) -> str:  # noqa: ANN401
    """Return the sentences of a report and the numbers of a release; null is unknown."""
    content = found.content()
    columns = {name: list(map(_known, each)) for name, each in found._columns().items()}
    document = {
        "kind": found.kind,
        "headline": plain(content.headline),
        "cautions": cautions(content),
        "conclusion": [*map(plain, content.conclusion)],
        "certainty": [*map(plain, content.certainty)],
        "rows": content.rows and {"value": content.rows.value, "error": content.rows.error},
        "measures": [
            {"name": each.name, "value": _known(each.value), "interval": _known(each.ends)}
            for each in found.measures
        ],
        "columns": columns,
        "read_options": found.read_options,
        "privacy": found.privacy.to_dict(),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _known(value: Any) -> Any:  # noqa: ANN401 -- a number or an end of an interval
    if isinstance(value, tuple | np.ndarray):
        return [*map(_known, value)]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(columns: dict[str, Any], promised: str) -> str:
    """Return columns and, as the last one, the guarantee in each row: spreadsheets read it too."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, "guarantee"])
    for row in zip(*columns.values(), strict=True):
        cells = ["" if isinstance(c, float) and math.isnan(c) else c for c in row]
        writer.writerow([*cells, promised])
    return out.getvalue()


def _rows(table: Table) -> list[list[str]]:
    return [texts(row) for row in [*table.rows, *((table.foot,) if table.foot else ())]]


def _markdown(table: Table) -> str:
    def escaped(cells: Any) -> str:  # noqa: ANN401
        return "| " + " | ".join(_MARKDOWN.sub(r"\\\g<0>", cell) for cell in cells) + " |"

    rule = "| --- |" + " ---: |" * (len(table.heads) - 1)
    body = [escaped(table.heads), rule, *map(escaped, _rows(table))]
    return "\n".join([one_line(table.caption), "", *body, ""])


def _latex(table: Table) -> str:
    def escaped(cells: Any) -> str:  # noqa: ANN401
        changed = (_LATEX.sub(lambda m: _SPECIAL.get(m[0], "\\" + m[0]), c) for c in cells)
        return " & ".join(changed) + r" \\"

    columns = "l" + "r" * (len(table.heads) - 1)
    head = [f"% {one_line(table.caption)}", rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
    head += [escaped(table.heads), r"\hline"]
    body = [*map(escaped, _rows(table)), r"\hline", r"\end{tabular}", ""]
    return "\n".join([*head, *body])
