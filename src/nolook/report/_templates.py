"""The templates of pages; imports nothing numeric."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from nolook.formats.files import one_line
from nolook.report.findings import Name

__all__ = ["template"]


@cache
def template(name: str) -> Template:
    """Return a template: everything put into it is escaped."""
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
    return environment.get_template(name)
