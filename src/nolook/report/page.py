"""A release as one HTML page without scripts or outside resources; everything is escaped."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from nolook.formats.files import one_line, write_text
from nolook.report.findings import Findings, Name, plain
from nolook.report.shared import cards, sections

__all__ = ["render_page", "write_page"]


def write_page(found: Findings, path: str | os.PathLike[str], *, table: str) -> None:
    """Write the page of a release; `table` is the name of the table it is about."""
    write_text(Path(path), render_page(found, table=table))


def render_page(found: Findings, *, table: str) -> str:
    """Render the page of a release: everything in it was released, nothing else is shown."""
    return _template().render(
        found=found,
        table=table,
        title=plain(found.headline),
        private=found.origin.guarantee.private,
        cards=cards(found),
        sections=sections(found),
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        keep_trailing_newline=True,
        loader=PackageLoader("nolook.report"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["one_line"] = one_line
    environment.tests["name"] = lambda piece: isinstance(piece, Name)
    return environment.get_template("page.html")
