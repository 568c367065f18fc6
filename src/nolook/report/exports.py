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
from nolook.report.findings import Table, plain
from nolook.report.picture import BARS
from nolook.report.sections import cautions
from nolook.tables.schema import as_schema

__all__ = ["exported"]

_MARKDOWN = re.compile(r"[\\`*_|<>\[\]]")
# In the fonts that LaTeX has by default "<" is another character, and '"' a command of babel.
_LATEX = {sign: rf"\{sign}" for sign in "&%$#_{}"}
_LATEX |= {
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}",
}  # fmt: skip
_LATEX |= {bar: rf"\rule{{.4em}}{{{place / 8:g}em}}" for place, bar in enumerate(BARS, start=1)}


def exported(found: Any, form: str) -> str:  # noqa: ANN401 -- a result
    """Return a release's main table unrounded (csv), its report's (md, latex), or all (json).

    Warnings, notes and the guarantee stand below the tables, which are copied without their page.
    """
    if form == "csv":
        return _csv(found)
    if form == "json":
        return _json(found)
    content, (escaped, table_in) = found.content(), _FORMS[form]
    parts = [part for each in content.sections for part in each.exported or each.printed]
    tables = [part for part in parts if isinstance(part, Table)]
    texts = [part for part in parts if not isinstance(part, Table)]
    below = map(plain, (*cautions(content), *texts, found.privacy.in_words()))
    return "\n".join([*map(table_in, tables), *(f"{escaped(text)}\n" for text in below)])


def _json(found: Any) -> str:  # noqa: ANN401
    """Return the sentences of a report and the numbers of a release; null is unknown."""
    content = found.content()
    document = {
        "kind": found.kind,
        "headline": plain(content.headline),
        "cautions": cautions(content),
        "conclusion": [*map(plain, content.conclusion)],
        "certainty": [*map(plain, content.certainty)],
        "rows": content.rows and {"value": content.rows.value, "error": content.rows.error},
        "measures": [
            {"name": one.name, "value": _known(one.value)}
            | {f"{'noise_' * one.noise_only}interval": _known(one.ends)}
            for one in found.measures
        ],
        "columns": {name: [*map(_known, each)] for name, each in found._columns().items()},
        "read_options": found.read_options,
        "privacy": found.privacy.to_dict(),
    }
    return f"{json.dumps(document, ensure_ascii=False, indent=1)}\n"


def _known(value: Any) -> Any:  # noqa: ANN401 -- a number or an end of an interval
    if isinstance(value, tuple | np.ndarray):
        return [*map(_known, value)]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(found: Any) -> str:  # noqa: ANN401 -- a result
    """Return columns and, in the first row of the last one, the guarantee.

    Numbers have decimal commas, and cells semicolons between them, where the schema has the former.
    """
    out, declared = io.StringIO(), as_schema(found.read_options.get("schema"))
    comma = "," in {declared.file.decimal, *(each.decimal for each in declared.columns.values())}
    writer = csv.writer(out, delimiter=";" if comma else ",", lineterminator="\n")
    columns, promised = found._columns(), one_line(found.privacy.in_words())
    writer.writerow([*columns, "guarantee of nolook" if "guarantee" in columns else "guarantee"])
    for place, row in enumerate(zip(*columns.values(), strict=True)):
        cells = ["" if isinstance(c, float) and math.isnan(c) else c for c in row]
        if comma:
            cells = [str(c).replace(".", ",") if isinstance(c, float) else c for c in cells]
        writer.writerow([*cells, "" if place else promised])
    return out.getvalue()


def _in_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", text)


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _markdown(table: Table) -> str:
    heads, *rows = ([*map(_in_markdown, row)] for row in table.texts())
    rule = ["---", *["---:"] * (len(heads) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]
    return "\n".join([one_line(table.caption), "", *lines, ""])


def _latex(table: Table) -> str:
    heads, *rows = (" & ".join(map(_in_latex, row)) + r" \\" for row in table.texts())
    columns = f"l{'r' * (len(table.heads) - 1)}"
    start = f"% {one_line(table.caption)}\n\\begin{{tabular}}{{{columns}}}"
    return "\n".join([start, r"\hline", heads, r"\hline", *rows, r"\hline", r"\end{tabular}", ""])


_FORMS = {"md": (_in_markdown, _markdown), "latex": (_in_latex, _latex)}
