"""Render a model, and read a page: its elements, and whatever it would load or run."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from attrs import evolve

from nolook.report.model_findings import model_findings
from nolook.report.page import render_page

# Attributes whose value a browser fetches, runs or follows.
_FETCHED = {"src", "srcset", "href", "xlink:href", "action", "formaction", "data", "poster", "ping"}
_ACTIVE = {"script", "iframe", "object", "embed", "link", "base", "img", "form", "audio", "video"}
_VOID = {"meta", "br", "hr", "img", "link", "input", "base", "embed"}


def of_table(found, table):
    """What was found, of a table of this name."""
    return evolve(found, guarantee=evolve(found.guarantee, table=table))


def render(model, *, table):
    """The page of a fitted model of a table of this name."""
    return render_page(of_table(model_findings(model), table))


class Page(HTMLParser):
    """A parsed page.

    `elements` lists (tag, attributes), `text` is all that is shown, `outside` whatever loads or
    runs something, `unbalanced` the tags that do not match.
    """

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.outside = []
        self.unbalanced = []
        self._open = []
        self._shown = []
        self.feed(source)
        self.close()
        self.unbalanced += self._open
        self.text = " ".join("".join(self._shown).split())

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in _ACTIVE:
            self.outside.append(f"<{tag}>")
        for name, value in attributes.items():
            if name in _FETCHED or name.startswith("on"):
                self.outside.append(f"{name}={value}")
            if name == "style":
                self._check_style(value)
            if name == "http-equiv" and value.lower() == "refresh":
                self.outside.append("refresh")

    def handle_endtag(self, tag):
        if tag in {"td", "th", "dt", "dd", "p", "caption"}:
            self._shown.append(" ")
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self._open[-1:] == ["style"]:
            self._check_style(data)
        else:
            self._shown.append(data)

    def _check_style(self, style):
        self.outside += re.findall(r"url\s*\(|@import|image-set|expression", style or "")

    def all(self, tag):
        """The attributes of each element of this name."""
        return [attributes for found, attributes in self.elements if found == tag]
