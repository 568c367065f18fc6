"""Many files that are one table: read one after the other, their columns compared beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from attrs import evolve

from nolook.errors import TableError
from nolook.tables._patience import check_patience
from nolook.tables.csv import is_text_file
from nolook.tables.dataset import from_dataset, is_dataset
from nolook.tables.files import MOST_PARTS, TYPED_FILES, File
from nolook.tables.listing import Listing, listed
from nolook.tables.places import Place
from nolook.tables.source import Column

__all__ = ["Folder", "is_text", "located", "open_place"]

_TEXT = pa.large_string()


def open_place(place: Place) -> File:
    """Open a file that declares types of its own."""
    return TYPED_FILES[Path(place.label).suffix.lower()](place)


def located(source: object) -> object:
    """Return what stands for several files, or one in storage, as these; else what is given."""
    check_patience()
    found = from_dataset(source) if is_dataset(source) else listed(source)
    if isinstance(found, Listing) and found is not source:
        _check_one_kind(found)
    return found


def is_text(source: object) -> bool:
    """Tell whether what holds a table is a file of text, or several."""
    return is_text_file(source.places[0].label if isinstance(source, Listing) else source)


def _check_one_kind(listing: Listing) -> None:
    kinds = [_kind(place.label) for place in listing.places]
    for place, kind in zip(listing.places, kinds, strict=True):
        if kind is None or kind != kinds[0]:
            raise TableError(
                f"{place.name} in {listing.name} is no {kinds[0] or 'Parquet, CSV or Arrow'} file; "
                "expected files of one kind, which the ends of their names tell, alone (take "
                "others away, or use a pattern such as '*.parquet')"
            )


def _kind(label: str) -> str | None:
    if is_text_file(label):
        return "CSV"
    found = TYPED_FILES.get(Path(label).suffix.lower())
    return None if found is None else found.kind


class Folder:
    """Files of the same columns, and columns of text that the names of their folders tell.

    Parameters
    ----------
    listing : Listing
    open_file : callable
        Opens one of its files.

    Raises
    ------
    TableError
        If a file cannot be opened, lacks a column of the first one, has another, or has one of
        another type.
    """

    def __init__(self, listing: Listing, open_file: Callable[[Place], File]) -> None:
        self.name, self.label = listing.name, listing.label
        self.keys = listing.keys
        self._values = listing.values or ((),) * len(listing.places)
        self._files: list[File] = []
        own: tuple[Column, ...] = ()
        seen: dict[tuple[Column, ...], tuple[Column, ...]] = {}
        for place in listing.places:
            file = open_file(place)
            if file.columns not in seen:
                own = _merged(own, file, self._files[0]) if seen else file.columns
            file.columns = seen.setdefault(file.columns, file.columns)  # once in memory
            self._files.append(file)
        for key in self.keys:
            if key in {column.name for column in own}:
                raise TableError(
                    f"{self.name} has a column {key!r} in its files and in the names of folders; "
                    "expected it in one of them"
                )
        self.kind = self._files[0].kind
        counts = [file.rows for file in self._files]
        self.rows = None if None in counts else sum(filter(None, counts))
        self._kinds = {column.name: column.type for column in own}
        self.columns = (*own, *(Column(key, _TEXT, "text") for key in self.keys))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        asked = [name for name in names if name not in self.keys]
        for file, values in zip(self._files, self._values, strict=True):
            told = dict(zip(self.keys, values, strict=True))
            # The rows of a file of which no column is wanted are still to be counted.
            for batch in file.batches(asked or [file.columns[0].name]):
                yield pa.RecordBatch.from_arrays(
                    [
                        _repeated(told[name], batch.num_rows)
                        if name in told
                        else _as_declared(batch.column(name), self._kinds[name])
                        for name in names
                    ],
                    names=list(names),
                )

    def parts(self) -> Sequence[Folder]:
        """Return parts of files, or runs of files where there are very many."""
        count = len(self._files)
        if count > MOST_PARTS:
            ends = [count * i // MOST_PARTS for i in range(MOST_PARTS + 1)]
            return [
                self._of(self._files[start:stop], self._values[start:stop])
                for start, stop in pairwise(ends)
            ]
        return [
            self._of([part], [values])
            for file, values in zip(self._files, self._values, strict=True)
            for part in file.parts(MOST_PARTS // count)
        ]

    def _of(self, files: list[File], values: Sequence[tuple[str | None, ...]]) -> Folder:
        part = copy(self)
        part._files, part._values = files, tuple(values)
        return part


def _merged(own: tuple[Column, ...], file: File, first: File) -> tuple[Column, ...]:
    """Return columns with what another file's say added: nullable where either is."""
    theirs = Counter(column.name for column in file.columns)
    for name in Counter(column.name for column in own) - theirs:
        raise TableError(
            f"{file.name} has no column {name!r}, which {first.name} has; expected the same "
            "columns in every file"
        )
    if len(file.columns) > len(own):
        # Not named: where a file of text has no header, this may be a cell.
        raise TableError(
            f"{file.name} has a column that {first.name} lacks; expected the same columns in "
            "every file"
        )
    found = {column.name: column for column in file.columns}
    return tuple(_common(column, found[column.name], file, first) for column in own)


def _common(column: Column, other: Column, file: File, first: File) -> Column:
    if not _alike(column.type, other.type):
        raise TableError(
            f"{file.name} has a column {column.name!r} of type {other.type}, which in {first.name} "
            f"is {column.type}; expected the same type in every file"
        )
    kind = column.type if column.type == other.type else _TEXT
    return evolve(column, type=kind, nullable=column.nullable or other.nullable)


def _alike(one: Any, other: Any) -> bool:  # noqa: ANN401 -- pyarrow has no types
    """Tell whether types differ at most in how a text is stored, which may depend on the cells."""
    return bool(one == other) or (_is_text(one) and _is_text(other))


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    if kind is not None and pt.is_dictionary(kind):
        kind = kind.value_type
    tests = (pt.is_string, pt.is_large_string, pt.is_string_view)
    return kind is not None and any(test(kind) for test in tests)


def _as_declared(cells: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return cells as their column's type: those of texts stored in different ways differ."""
    if cells.type == kind or kind != _TEXT:
        return cells
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells.cast(_TEXT)


def _repeated(value: str | None, rows: int) -> Any:  # noqa: ANN401
    return pa.nulls(rows, _TEXT) if value is None else pa.repeat(pa.scalar(value, _TEXT), rows)
