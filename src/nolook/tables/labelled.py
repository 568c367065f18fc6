"""A column of numbers beside a column of classes, of which one is told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from nolook._validation import check_names
from nolook.errors import ParameterError
from nolook.tables.reading import read_table
from nolook.tables.table import Table
from nolook.tables.text import CsvFile

__all__ = ["labelled_table"]

_BOOLEANS = {"1": "true", "True": "true", "0": "false", "False": "false"}


def labelled_table(
    source: object,
    number: str,
    label: str,
    positive: str,
    missing: str = "error",
    *,
    multiline: bool = False,
) -> Table:
    """Open a table of one column of numbers and, as its target, whether a label is the positive.

    Parameters
    ----------
    source : path, frame or stream
        As for :func:`nolook.read_table`.
    number, label : str
        The columns. The label may be text, integers, booleans or other numbers.
    positive : str
        The positive label as text; 1 and 0 also stand for true and false. In a CSV file the labels
        are numbers if this is one, and otherwise the cells' texts.
    missing : {"error", "drop-row", "zero"}, default="error"
        What to do about missing values. A missing label is another one than the positive, but a
        missing value where the labels are read as numbers with a fraction, as in a CSV file.
    multiline : bool, default=False
        As for :func:`nolook.read_table`.

    Returns
    -------
    Table
        Its target is 1 or 0.

    Raises
    ------
    ParameterError
        If a parameter is not as described.
    TableError
        If the file cannot be read, or a column is unknown or of another type.
    """
    check_names([number, label], "columns")
    opened = read_table(source, features=[number], multiline=multiline)._source
    kind = next((column.type for column in opened.columns if column.name == label), None)
    wanted = _number(positive)
    if isinstance(opened, CsvFile):  # it declares no types
        level, numeric = positive, wanted is not None
    else:
        level = _BOOLEANS.get(positive, positive) if kind == pa.bool_() else positive
        numeric = kind is not None and (pt.is_floating(kind) or pt.is_decimal(kind))
    if numeric:
        if wanted is None:
            raise _unlike(label, "a number", "1")
        table = read_table(source, label, features=[number], missing=missing, multiline=multiline)
        return _Labelled(table, wanted)
    if kind == pa.bool_() and level not in _BOOLEANS.values():
        raise _unlike(label, "true or false", "true")
    table = read_table(
        source,
        features=[number, label],
        categories={label: [level]},
        missing=missing,
        multiline=multiline,
    )
    return _Labelled(table, 1.0)


class _Labelled(Table):
    """Another table's first column, with whether its last one has a value as the target."""

    def __init__(self, whole: Table, positive: float) -> None:
        super().__init__(whole._source, whole._design)
        self._whole = whole
        self._positive = positive
        first, self.target_name = whole.column_names
        self.feature_names = (first,)

    def keeping_infinite(self) -> Table:
        return _Labelled(self._whole.keeping_infinite(), self._positive)

    def _read(self, *, drop: bool) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for numbers, complete in self._whole._read(drop=drop):
            numbers[1] = numbers[1] == self._positive
            yield numbers, complete


def _number(text: str) -> float | None:
    """Return a finite number, None if the text is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _unlike(label: str, expected: str, example: str) -> ParameterError:
    return ParameterError(
        f"the positive value of {label!r} is not {expected}, as its column holds; expected one "
        f"(for example {example})"
    )
