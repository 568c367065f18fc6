"""What to tell of a table's columns before it is used: by names and declared types alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from nolook._language import given
from nolook.tables.declarations import ColumnSchema
from nolook.tables.declared import original
from nolook.tables.design import unknown_column
from nolook.tables.table import Table
from nolook.tables.text import CsvFile

__all__ = [
    "check_columns",
    "identifiers_in_words",
    "is_identifier",
    "left_out_in_words",
    "no_unit_in_words",
]

#: Last words of names that numbers are given to tell things apart, not to count or measure.
_IDENTIFIERS = frozenset(
    (
        *("code", "iban", "id", "ids", "key", "mobile", "mrn", "nr", "phone", "plz"),
        *("postcode", "ssn", "tel", "telephone", "uuid", "zip"),
    )
)
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_MOST_NAMES = 8


def check_columns(
    header: Collection[str], names: Collection[str], table: object, parameter: str
) -> None:
    """Refuse names that no column of a table has."""
    for name in names:
        if name not in header:
            raise unknown_column(parameter, name, repr(str(table)), header)


def left_out_in_words(table: Table) -> tuple[str, ...]:
    """Say which columns nobody asked to leave out are not used, and what they hold."""
    known = {*table._design.source_names, *_declared(table)}
    for name, declared in _declared(table).items():
        known |= {f"{name}.{part}" for part in declared.parts}
    text = getattr(original(table._source), "kind", None) == CsvFile.kind
    left_out = [
        column.name if text else f"{column.name} ({column.declared})"
        for column in table._source.columns
        if column.name not in known
    ]
    return (f"Not used: {_listed(left_out)}.",) if left_out else ()


def identifiers_in_words(table: Table) -> tuple[str, ...]:
    """Say which numbers are called as identifiers are, unless a schema declares them numbers."""
    declared = _declared(table)
    found = [
        feature.name
        for feature in table._design.features
        if feature.levels is None and feature.name not in declared and is_identifier(feature.name)
    ]
    if not found:
        return ()
    unit = (
        ""
        if table.unit.column is not None
        else (
            f", and protect all rows of each together if one says whose they are "
            f"({given('unit', found[0])})"
        )
    )
    words = (
        f"Used as numbers: {_listed(found)}. By their names these may be identifiers: if so, leave "
        f"them out ({given('exclude', found[:_MOST_NAMES], 'features=[...]')}){unit}."
    )
    return (words,)


def no_unit_in_words(table: Table) -> tuple[str, ...]:
    """Say that rows are protected one by one, where a column may say whose they are."""
    if table.unit.column is not None:
        return ()
    declared = _declared(table)
    known = {*table._design.source_names, *declared}
    found = [name for name, column in declared.items() if column.type == "identifier"]
    found += [
        column.name
        for column in table._source.columns
        if column.name not in known and is_identifier(column.name)
    ]
    if not found:
        return ()
    words = (
        f"Every row is protected by itself. If one of {_listed(found)} says whose row it is, and "
        "somebody may have several, protect all of them together "
        f"({given('unit', 'NAME')})."
    )
    return (words,)


def _declared(table: Table) -> dict[str, ColumnSchema]:
    schema = table._design.schema
    return {} if schema is None else schema.columns


def is_identifier(name: str) -> bool:
    """Tell by its name whether a column's numbers tell things apart."""
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _IDENTIFIERS


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
