"""The form of a schema: a card for the file and each column, filled by the draft or a schema."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from nolook._language import as_option
from nolook.app.questions import Field
from nolook.tables.schema import SETTINGS

__all__ = ["Card", "cards", "read_form"]

_FILE = {
    "delimiter": "Column separator",
    "decimal": "Decimal separator",
    "thousands": "Thousands separator",
    "encoding": "Encoding",
    "skip": "Lines above the header",
    "missing": "Missing values",
}
_COLUMN = {
    "type": "Type",
    "use": "Use",
    "levels": "Levels, the first for comparison (... for all others)",
    "true": "Values for yes",
    "false": "Values for no",
    "pattern": "Pattern of dates, such as %d.%m.%Y",
    "decimal": "Decimal separator",
    "thousands": "Thousands separator",
    "currency": "Currency symbols",
    "percent": "In percent",
    "missing": "Missing values",
}
_CHOICES = {
    "type": tuple(SETTINGS),
    "use": ("", "feature", "unit", "weights", "nothing", "target"),
    "percent": ("", "true"),
}
_LISTS = ("levels", "true", "false", "missing", "currency")


@frozen
class Card:
    """A column, or the file, with its fields and what was found in the rows."""

    name: str
    fields: tuple[Field, ...]
    found: str = ""
    error: str = ""


def cards(content: Mapping[str, Any], found: Mapping[str, list[str]], error: str) -> list[Card]:
    """Return the cards; an error that names a column stands on its card."""
    named = re.search(r"column '(.*?)'", error)
    file, columns = content.get("file", {}), content.get("columns", {})
    made = [Card("The file", _fields("file", _FILE, file))] if file else []
    for number, (name, settings) in enumerate(columns.items()):
        own = error if named and named[1] == name else ""
        words = as_option(found.get(name, ()))
        made.append(Card(name, _fields(f"{number}", _COLUMN, settings), words, own))
    return made


def _fields(key: str, labels: Mapping[str, str], settings: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(
            f"{key}.{name}",
            flag=" ".join(f"for-{kind}" for kind, own in SETTINGS.items() if name in own),
            label=label,
            help="",
            kind="choice" if name in _CHOICES else "str",
            value=_text(settings.get(name, "")),
            choices=_CHOICES.get(name, ()),
        )
        for name, label in labels.items()
    )


def read_form(before: Mapping[str, Any], given: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the schema that a form declares, as plain data; what it does not show stays."""
    columns = {}
    for number, (name, old) in enumerate(before.get("columns", {}).items()):
        entered = _entered(str(number), _COLUMN, old, given)
        known = ("type", "use", "missing", "optional", *SETTINGS.get(entered["type"], ()))
        columns[name] = {key: value for key, value in entered.items() if key in known}
    return {"file": _entered("file", _FILE, before.get("file", {}), given), "columns": columns}


def _entered(
    key: str, labels: Mapping[str, str], old: Mapping[str, Any], given: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return settings with those of a form in the place of the old ones; without empty ones."""
    texts = {name: given[f"{key}.{name}"][0].strip() for name in labels if f"{key}.{name}" in given}
    kept = {name: value for name, value in old.items() if name not in texts}
    return kept | {name: _value(name, text) for name, text in texts.items() if text}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else as_option(value)


def _value(name: str, text: str) -> object:
    """Return a setting of the form as plain data."""
    if name in _LISTS:
        return [word.strip() for word in next(csv.reader([text], skipinitialspace=True))]
    if name == "skip" and text.isdecimal():
        return int(text)
    return text == "true" if name == "percent" else text
