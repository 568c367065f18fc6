"""Predictions for a table of any length, written as they are made: as Parquet or CSV."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyarrow.csv import CSVWriter

from nolook.errors import ParameterError
from nolook.estimators._tables import named_rows, predicted
from nolook.formats.files import one_line, replacing
from nolook.tables import Table
from nolook.tables.source import written_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nolook.estimators.result import Result

__all__ = ["check_prediction_file", "write_predictions"]

_CLASS = "predicted_class"
_ENDINGS = (".parquet", ".pq", ".csv")

#: Takes rows of one schema, as often as called.
Write: TypeAlias = Callable[[Any], None]


def check_prediction_file(path: Path) -> None:
    """Refuse a file whose name says no known format."""
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(
            f"--output is {one_line(path)}, which is not a format for predictions; expected "
            f"{' or '.join(_ENDINGS)}"
        )


def write_predictions(
    model: Result, table: Table, path: Path, kept: tuple[str, ...] = ()
) -> tuple[int, Counter[str]]:
    """Predict the rows of a table, in bounded memory; the file appears whole or not at all.

    Row i of the file belongs to row i of the table: its cells of the columns `kept`, then its
    prediction (of two classes, the probability of the positive one, then the likelier class), null
    if the row lacks a value the model needs. For a declared logarithm "median" and "mean" have
    those of the column itself, the mean if it is known. The name says whether it is Parquet or CSV.
    Returns how many rows have none, and how many values of each column, in other rows, are not
    declared: as confidential as the table.
    """
    asked, ending = _questions(model), path.suffix.lower()
    if clash := {*kept}.intersection(asked):
        raise ParameterError(f"--keep names {min(clash)!r}, a column of predictions; leave it out")
    fields = table.fields_beside(kept)
    classes = pa.array(getattr(model, "classes_", ()))
    more = (pa.field(name, classes.type if name == _CLASS else pa.float64()) for name in asked)
    schema = pa.schema([*fields, *more])
    empty, other = 0, Counter[str]()
    _check_types(fields, ending)
    # A plain OSError while reading would be blamed on the output; tables raise their own errors.
    # Opened here, since pyarrow takes names in UTF-8 only.
    with replacing(path) as part, part.open("wb") as file, _opened(file, schema, ending) as write:
        for numbers, complete, cells in table.batches_in_place(kept):
            found = [ask(numbers) for ask in asked.values()]
            empty += int(np.count_nonzero(~complete))
            for place, name in table.others.items():
                other[name] += int(np.count_nonzero(numbers[place, complete]))
            columns = [*cells, *(pa.array(each, mask=~complete) for each in found)]
            write(pa.Table.from_arrays(columns, schema=schema))
    return empty, other


def _questions(model: Any) -> dict[str, Callable[[Any], Any]]:  # noqa: ANN401
    """Return the columns of predictions, and what gives each for rows, given columns first."""
    asked: dict[str, Callable[[Any], Any]] = {"prediction": partial(predicted, model)}
    if hasattr(model, "classes_"):
        asked[_CLASS] = lambda numbers: model.predict(named_rows(model, numbers))
    if getattr(model, "inverse", None) is not None:
        asked["median"] = lambda numbers: model.predict_median(named_rows(model, numbers))
        if model.smearing_ is not None:
            asked["mean"] = lambda numbers: model.predict_mean(named_rows(model, numbers))
    return asked


def _check_types(fields: list[Any], ending: str) -> None:
    """Refuse a column of a type the format has no place for; looks at no row."""
    for field in fields:
        schema = pa.schema([field])
        try:
            with _opened(io.BytesIO(), schema, ending) as write:
                write(schema.empty_table())
        except (pa.ArrowException, NotImplementedError):
            raise ParameterError(
                f"--keep names {one_line(field.name)!r}, whose type a {ending} file cannot "
                f"store; leave it out (or write {'.parquet' if ending == '.csv' else '.csv'})"
            ) from None


@contextmanager
def _opened(file: BinaryIO, schema: Any, ending: str) -> Iterator[Write]:  # noqa: ANN401
    """Open a file for rows of a schema."""
    if ending != ".csv":
        with pq.ParquetWriter(file, schema) as writer:
            yield lambda rows: writer.write_table(
                pa.Table.from_arrays(list(map(_utf8, rows.columns)), schema=schema)
            )
        return
    # A line that is empty would be no row: a text that is alone in its row is in quotes. Bytes are
    # copied, whether or not they are a text.
    types = [written_out(pa.nulls(0, kind)).type for kind in schema.types]
    types = [pa.large_string() if pt.is_large_binary(kind) else kind for kind in types]
    kinds = [pa.string()] if len(types) == 1 else types
    written = pa.schema(list(zip(schema.names, kinds, strict=True)))
    with CSVWriter(file, written) as writer:

        def write(rows: Any) -> None:  # noqa: ANN401
            columns = rows.cast(written, safe=False).columns
            filled = [columns[0].fill_null("")] if len(columns) == 1 else columns
            writer.write_table(pa.Table.from_arrays(filled, schema=written))

        yield write


def _utf8(column: Any) -> Any:  # noqa: ANN401
    """Return a column of texts with replacement characters for bytes that are not UTF-8."""
    kind = column.type
    if not (pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        cells = column.cast(pa.large_binary()).to_pylist()
        return pa.array([c and str(c, "utf-8", "replace") for c in cells], kind)
    return column
