"""From whatever holds a table to a `Table`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nolook.errors import ParameterError, TableError
from nolook.tables.design import Categories, check_categories, plan
from nolook.tables.files import ArrowFile, ParquetFile
from nolook.tables.memory import as_array, from_array, from_frame, from_target, join, plain
from nolook.tables.source import MemorySource, Source
from nolook.tables.table import Table
from nolook.tables.text import CsvFile

__all__ = ["read_table", "table_from_arrays", "table_from_values"]

_FORMATS: dict[str, type[ParquetFile | ArrowFile]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".arrows": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}
_CSV = ".csv"


def read_table(
    source: object,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    categories: Categories | None = None,
    missing: str = "error",
    multiline: bool = False,
) -> Table:
    """Open a table for private use; columns are taken by their declared types.

    Parameters
    ----------
    source : path, frame, stream or array
        A Parquet, CSV or Arrow file (``.parquet``, ``.csv``, ``.arrow``, ``.feather``, ``.ipc``),
        read in bounded memory however long it is; a pandas or Polars frame; an Arrow table, record
        batch or stream (any object with ``__arrow_c_stream__``; it is read once and kept in
        memory); or a two-dimensional NumPy array, whose columns are named x0, x1, ...
    target : str, optional
        The column to predict: numbers or booleans.
    features : sequence of str, optional
        The columns to use, in this order. Default: every number or boolean column but the target,
        and every column of `categories`. A pandas column of type object is refused then, since one
        text among numbers makes it one and it would be left out silently. A CSV file declares
        no types, so there the default is the columns of `categories` alone.
    categories : mapping, optional
        From a column of text, integers or booleans to its levels, such as
        ``{"city": ["A", "B", "C"]}``. The first level is the one the others are compared with:
        each of the others becomes a feature that is 1 or 0, here "city=B" and "city=C". Levels are
        declared and never looked up, since those found in the data would leak. A cell with another
        value, or none, gets 0 for every level, as the first level does; None among the levels
        stands for all such cells: ``["A", "B", None]`` gives them a feature of their own,
        "city=...", and ``[None, "A", "B"]`` compares with them. A single level is compared with
        all other values. Put a common level first: a difference from a rare one is known no better
        than the rare one itself.
    missing : {"error", "drop-row", "zero"}, default="error"
        What to do about null, NaN and infinite values: refuse the table (see
        :meth:`Table.check_complete`, which fitting calls), leave the row out, or put 0 in place of
        a feature (a row without a target is left out).
    multiline : bool, default=False
        Whether a line break in quotes is part of its cell, in a CSV file. By default every line is
        a row, so that a quote that is never closed spoils no other row; with True it does.

    Raises
    ------
    ParameterError
        If a parameter is not as described.
    TableError
        If the file cannot be read as its format, or a column is unknown, occurs twice or is of
        another type. Errors depend on parameters, format and declared columns only.

    Notes
    -----
    Integers, decimals and half floats become float64, rounded one by one; booleans become 1 and 0.
    In a CSV file, a cell that is not a number is a missing value, a line with too few or too many
    cells or with a quote that is not closed is a row of missing values, and blank lines are not
    rows. A cell its type cannot hold, such as a text that is not UTF-8, is a missing value too.

    Examples
    --------
    >>> import numpy as np
    >>> table = read_table(np.arange(6.0).reshape(2, 3), target="x2")
    >>> table.feature_names
    ('x0', 'x1')
    >>> [batch.tolist() for batch in table.batches()]
    [[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]]
    """
    levels = check_categories(categories)
    if not isinstance(multiline, bool):
        raise ParameterError(
            f"multiline is a value of type {type(multiline).__name__}; expected True or False"
        )
    opened = _open(source, levels, multiline=multiline)
    if features is None and isinstance(opened, CsvFile):
        if not levels:
            raise ParameterError(
                "features is None; expected a list of names, since a CSV file declares no types "
                "(for example features=['age', 'height'])"
            )
        features = list(levels)
    design = plan(opened, target, features, levels, missing)
    return Table(opened, replace(design, multiline=multiline))


def table_from_arrays(X: object, y: object = None) -> Table:
    """Take over features and a target as scikit-learn's users hold them, with ``missing="error"``.

    Columns of arrays are named x0, x1, ...; the target has its series' name, or "y". Raises
    TableError if X or y has another shape or type, or their lengths differ.
    """
    table = _features(X)
    names = [column.name for column in table.columns]
    if y is None:
        return Table(table, plan(table, None, names or None, {}, "error"))
    target = getattr(y, "name", None)
    target = plain(target) if isinstance(target, str) else ""
    if not target or target in names:
        target = "y"
    while target in names:
        target += "_"
    joined = join(table, from_target(y), target)
    return Table(joined, plan(joined, target, names or None, {}, "error"))


def table_from_values(values: object) -> Table:
    """Take over one column of numbers or booleans, as "values", with ``missing="error"``."""
    source = from_target(values, "values")
    return Table(source, plan(source, None, ["values"], {}, "error"))


def _open(source: object, levels: Mapping[str, object], *, multiline: bool) -> Source:
    if isinstance(source, str | os.PathLike):
        extension = Path(source).suffix.lower()
        if extension == _CSV:
            return CsvFile(source, levels, multiline=multiline)
        if extension not in _FORMATS:
            expected = ", ".join([*_FORMATS, _CSV])
            raise TableError(f"{str(source)!r} has no known extension; expected one of {expected}")
        return _FORMATS[extension](source)
    found: Source | None = from_frame(source)
    if found is None and isinstance(source, np.ndarray):
        found = from_array(source, "source")
    if found is None:
        raise ParameterError(
            f"source is a value of type {type(source).__name__}; expected a path, a frame, an "
            "Arrow stream or a two-dimensional NumPy array"
        )
    return found


def _features(X: object) -> MemorySource:
    if hasattr(X, "tocsr"):
        raise TableError("X is sparse; expected a dense array or a frame (use X.toarray())")
    frame = from_frame(X)
    if frame is not None:
        return frame
    return from_array(as_array(X, "X is not an array of numbers; expected 2D data"), "X")
