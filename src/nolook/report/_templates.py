"""The templates of pages; imports nothing numeric."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import (
    ChoiceLoader,
    Environment,
    PackageLoader,
    StrictUndefined,
    Template,
    select_autoescape,
)
from markupsafe import Markup, escape

from nolook.formats.files import one_line
from nolook.report.findings import Name, in_percent

if TYPE_CHECKING:
    from nolook.report.picture import Picture

# Spaces within a number and its unit, or its name, in escaped text: no line ends there.
_WITHIN = re.compile(
    r"(?<=\d) (?=(?:%|points?\b))|(?:(?<= =)|(?<= &lt;)) (?=[\d-])| (?=(?:=|&lt;) [\d-])"
    r"|(?:(?<=\bepsilon)|(?<=\bdelta)|(?<=\bmu)) (?=[\d-])"
)


# Where a browser would end a line after a sign.
_SIGNED = re.compile(
    r"(?<![\w.-])(p-value|(?:-\d[\d.,]*\d|-\d)(?:e[+-]?\d+)?|\d[\d.]*e-\d+|\d{4}-\d\d-\d\d)"
)


def _unbroken(text: str) -> Markup:
    """Escape a text on one line so that no line ends within a number or before its unit."""
    text = _WITHIN.sub("&nbsp;", escape(one_line(text)))
    return Markup(_SIGNED.sub(r'<span class="whole">\g<0></span>', text))  # noqa: S704 -- escaped


def _svg(picture: Picture) -> Markup:
    from nolook.report.svg import svg

    return svg(picture)


@cache
def template(name: str, package: str = "nolook.report") -> Template:
    """Return a template of a package, which may import those of reports.

    Everything put into one of HTML is escaped.
    """
    environment = Environment(
        autoescape=select_autoescape(),
        keep_trailing_newline=True,
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("nolook.report")]),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    own = {"in_percent": in_percent, "one_line": one_line, "svg": _svg, "unbroken": _unbroken}
    environment.filters |= own
    environment.tests["name"] = lambda piece: isinstance(piece, Name)
    return environment.get_template(name)
