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
    schema = table._design.schema
    declared = {} if schema is None else schema.columns
    known = {"", *table._design.source_names, *declared}
    unused = [column for column in table._source.columns if column.name not in known]
    plain = [each.name for each in table._design.features if each.levels is None]
    numbers = [name for name in plain if name not in declared and is_identifier(name)]
    units = [name for name, column in declared.items() if column.type == "identifier"]
    units += [column.name for column in unused if is_identifier(column.name)]
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
        several = len(units) > 1
        protect = usage_hint("unit", "NAME" if several else units[0])
        said = phrase("before.alone", columns=listed(units), several=several, protect=protect)
        hints.append(said)
    return hints
