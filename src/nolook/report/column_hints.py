"""Hints at a table's columns before a release, by names and declared types alone."""

from __future__ import annotations

from nolook._language import usage_hint
from nolook.report.sentences import phrase
from nolook.tables.csv import CsvFile
from nolook.tables.table import Table
from nolook.tables.words import is_identifier, listed

__all__ = ["column_hints"]


def column_hints(table: Table, *, by_default: bool) -> list[str]:
    """Say, by names and declared types, which columns may be used otherwise than is meant.

    Those that no parameter leaves out, if the features are the usual ones; numbers that are
    called as identifiers are, unless a schema declares them; and what may say whose a row is.
    """
    declared = getattr(table._design.schema, "columns", {})
    known = {"", *table._design.source_names, *declared}
    unused = [column for column in table._source.columns if column.name not in known]
    # A byte has too few values, and is a level in many tables.
    small = {c.name for c in table._source.columns if str(c.type).endswith(("bool", "int8"))}
    named = {*filter(is_identifier, table._types)}.difference(declared, small)
    numbers = [f.name for f in table._design.features if f.levels is None and f.name in named]
    units = [name for name, column in declared.items() if column.type == "identifier"]
    units += sorted(named.difference(known))
    text = getattr(table._source.original, "kind", None) == CsvFile.kind
    hints = []
    if unused and by_default:
        shown = [each.name if text else f"{each.name} ({each.declared})" for each in unused]
        hints.append(phrase("before.unused", columns=listed(shown)))
    alone = table.unit.column is None
    if numbers:
        leave = usage_hint("exclude", numbers[:8], "features=[...]")
        protect = usage_hint("unit", numbers[0]) * alone
        said = phrase("before.numbers", columns=listed(numbers), leave=leave, protect=protect)
        hints.append(said)
    if units and alone:
        more = len(units) > 1
        protect = usage_hint("unit", "NAME" if more else units[0])
        hints.append(phrase("before.alone", columns=listed(units), several=more, protect=protect))
    return hints
