"""Hints at a table's columns before a release, by names and declared types alone."""

from __future__ import annotations

from nolook._language import usage_hint
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
        hints.append(f"Not used: {listed(shown)}.")
    alone = table.unit.column is None
    if numbers:
        together = (
            ", and protect all rows of a patient or household together if one identifies them "
            f"({usage_hint('unit', numbers[0])})"
        )
        hints.append(
            f"Used as numbers: {listed(numbers)}. By their names these may be identifiers: if so, "
            f"leave them out ({usage_hint('exclude', numbers[:8], 'features=[...]')})"
            f"{together * alone}."
        )
    if units and alone:
        hints.append(
            f"Each row is protected separately. If {'one of ' * (len(units) > 1)}{listed(units)} "
            "identifies patients or households, who may have several rows, protect all of them "
            f"together ({usage_hint('unit', units[0] if len(units) == 1 else 'NAME')})."
        )
    return hints
