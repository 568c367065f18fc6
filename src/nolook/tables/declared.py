"""A source whose columns are what a schema declares, whatever they were before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, cast

import pyarrow as pa
from attrs import frozen

from nolook.tables.cells import PARTS, Conversion, conversion, part_conversion
from nolook.tables.declarations import ColumnSchema, FileFormat
from nolook.tables.filter import Filtered
from nolook.tables.source import Column, Source

__all__ = ["DeclaredSource", "in_place_of", "needed", "original", "part_levels", "unfiltered"]


@frozen
class _Made:
    """A column made of one of the source's."""

    column: Column
    of: str
    convert: Conversion | None  # None for cells as they are


def part_levels(name: str, declared: ColumnSchema) -> dict[str, list[str]]:
    """Return the levels of the categories that a column of dates gives, by their names."""
    known = {**PARTS, "year": tuple(map(str, declared.years))}
    return {f"{name}.{part}": list(known[part]) for part in declared.parts}


class DeclaredSource:
    """A source's columns as declared; those that are not declared stay as they are.

    Parameters
    ----------
    source : Source
    columns : mapping of str to ColumnSchema
        What each column is declared to be. Those that the source does not have are left out.
    form : FileFormat
        What numbers and missing values look like where a column does not say.

    Raises
    ------
    TableError
        If a column's type cannot be what is declared.
    """

    def __init__(
        self, source: Source, columns: Mapping[str, ColumnSchema], form: FileFormat
    ) -> None:
        self.name = source.name
        self._source = source
        made = [
            each
            for column in source.columns
            for each in _made(column, columns.get(column.name), form)
        ]
        self._made = {each.column.name: each for each in made}
        self.columns = tuple(each.column for each in made)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches holding the named columns."""
        wanted = [self._made[name] for name in names]
        for batch in self._source.batches(self._needed(names)):
            arrays = []
            for each in wanted:
                cells = batch.column(each.of)
                arrays.append(cells if each.convert is None else each.convert(cells))
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _needed(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(self._made[name].of for name in names))

    def parts(self) -> list[DeclaredSource]:
        """Return the source's parts, their columns as declared."""
        return [self._of(part) for part in self._source.parts()]

    def _of(self, part: Source | None) -> DeclaredSource:
        declared = copy(self)
        declared._source = cast("Source", part)  # None is replaced before it is read
        return declared


def unfiltered(source: Source) -> Source:
    """Return the source with all its rows."""
    return source._source if isinstance(source, Filtered) else source


def original(source: Source) -> Source:
    """Return the source with all its rows, and its columns as they are."""
    source = unfiltered(source)
    return source._source if isinstance(source, DeclaredSource) else source


def in_place_of(source: Source, other: Source | None) -> Source | None:
    """Return another source with the columns made of this one's, and its rows chosen likewise."""
    if isinstance(source, Filtered):
        return source._of(in_place_of(source._source, other))
    return source._of(other) if isinstance(source, DeclaredSource) else other


def needed(source: Source, names: Sequence[str]) -> list[str]:
    """Return the columns of the source as it is that some of its columns and rows follow from."""
    if isinstance(source, Filtered):
        return needed(source._source, list(dict.fromkeys((*names, *source.names))))
    return source._needed(names) if isinstance(source, DeclaredSource) else list(names)


def _made(column: Column, declared: ColumnSchema | None, form: FileFormat) -> list[_Made]:
    """Return what becomes of a column: itself, another, or a category for each part of a date."""
    if declared is None:
        return [_Made(column, column.name, None)]
    full = declared.within(form)
    if full.parts:
        return [
            _Made(
                Column(f"{column.name}.{part}", pa.large_string(), part),
                column.name,
                part_conversion(column, full, part),
            )
            for part in full.parts
        ]
    kind, convert = conversion(column, full)
    return [_Made(Column(column.name, kind, full.type), column.name, convert)]
