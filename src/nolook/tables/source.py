"""Sources of tables, which yield record batches repeatedly, and tables already in memory."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from numbers import Real
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from attrs import Factory, evolve, frozen
from numpy.typing import NDArray

from nolook._arrays import Array, Flags
from nolook.errors import NolookError, TableError

__all__ = [
    "BYTES",
    "LONGEST_CELL",
    "TEXT",
    "Column",
    "MemorySource",
    "Slicer",
    "Source",
    "as_array",
    "as_text",
    "attempt",
    "changed",
    "from_array",
    "from_frame",
    "from_target",
    "guarded",
    "in_words",
    "join",
    "movable",
    "plain",
    "raw_texts",
    "readable",
    "sound",
    "written_out",
]

P = ParamSpec("P")
T = TypeVar("T")

#: The types of texts, and of their bytes, of which an array may have any size.
TEXT, BYTES = pa.large_string(), pa.large_binary()
_VIEWS = {pa.string_view(): TEXT, pa.binary_view(): BYTES}
_LARGE = _VIEWS | {pa.string(): TEXT, pa.binary(): BYTES}
# Texts as bytes, which need not be UTF-8.
_STORED = {
    pa.string(): pa.binary(),
    TEXT: BYTES,
    pa.string_view(): pa.binary_view(),
}

#: The most bytes of a text in CSV files and databases, where every cell is read; a longer one is
#: missing, since no cell may make a table too large to be read.
LONGEST_CELL = 1 << 17

# Names of Arrow types.
_IN_WORDS = {
    "boolean": "bool",
    "integer": "u?int",
    "number": "halffloat|float|double|decimal",
    "text": "(large_)?string",
    "date and time": "timestamp",
    "date": "date",
    "time": "time|duration",
    "bytes": "(large_|fixed_size_)?binary",
    "nothing": "null",
    "list": "(large_|fixed_size_)?list",
    "structure": "struct|map",
}


@frozen
class Column:
    """One column as its source declares it."""

    name: str
    type: Any  # a pyarrow.DataType; None if it can become neither numbers nor categories
    #: The type in words, for messages.
    declared: str = Factory(lambda column: in_words(column.type), takes_self=True)
    nullable: bool = True

    @classmethod
    def from_field(cls, field: Any) -> Column:  # noqa: ANN401 -- pyarrow has no types
        """Take over an Arrow field."""
        return cls(field.name, field.type, nullable=field.nullable)


def in_words(kind: Any) -> str:  # noqa: ANN401
    """Return the name of an Arrow type for messages."""
    if kind is None:
        return "neither numbers nor strings"
    if pt.is_dictionary(kind):
        return in_words(kind.value_type)
    found = (words for words, names in _IN_WORDS.items() if re.match(names, str(kind)))
    return next(found, "something that is neither number nor text")


class Source(Protocol):
    """Anything rows are read from."""

    name: str  # what messages call it
    columns: tuple[Column, ...]  # as declared, in the source's order

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches holding at least the named columns: always the same rows in order.

        Each name occurs once among `columns`.
        """

    def parts(self) -> Sequence[Source]:
        """Return sources of the same columns whose rows, one after the other, are this one's.

        Each can be read while others are, by another thread; by another process too, if it can be
        sent there, as parts of files and databases can. A source that cannot be divided is its own
        only part.
        """


def changed(source: T, **attributes: object) -> T:
    """Return a copy of a source, or of what reads it, with some attributes of other values."""
    made = copy(source)
    vars(made).update(attributes)
    return made


def raw_texts(texts: Sequence[str | None]) -> Any:  # noqa: ANN401
    """Return texts as an array; two that differ stay different, whatever surrogates they hold."""
    cells = [None if text is None else str.encode(text, errors="surrogatepass") for text in texts]
    return pa.array(cells, BYTES).view(TEXT)


def movable(cells: Any) -> Any:  # noqa: ANN401
    """Return cells that Arrow can put into another order."""
    if pt.is_dictionary(cells.type):
        return pa.DictionaryArray.from_arrays(cells.indices, movable(cells.dictionary))
    return cells.cast(_VIEWS[cells.type]) if cells.type in _VIEWS else cells


def written_out(cells: Any) -> Any:  # noqa: ANN401
    """Return cells without a dictionary, texts as ones that may have any size together."""
    if pt.is_dictionary(cells.type):
        return written_out(cells.dictionary).take(cells.indices)
    return cells.cast(_LARGE[cells.type]) if cells.type in _LARGE else cells


def sound(array: Any) -> Any:  # noqa: ANN401
    """Return an Arrow array that is safe to read, with null for a cell its type cannot hold.

    Only buffers that are broken whatever the cells say are refused: no cell is held against what
    its type means, such as whole days. A text that is not UTF-8 stays as it is: it is read byte by
    byte, and cannot be a declared level.
    """
    kind = array.type
    if pt.is_dictionary(kind):
        array.validate()
        words, codes = sound(array.dictionary), sound(array.indices)
        places = codes.fill_null(0).to_numpy(zero_copy_only=False)
        codes = _only(codes, (places >= 0) & (places < len(words)))
        return pa.DictionaryArray.from_arrays(codes, words, ordered=kind.ordered, safe=False)
    decimal = pt.is_decimal(kind)
    stored = pa.binary(kind.byte_width) if decimal else _STORED.get(kind, kind)
    if pt.is_date(kind) or pt.is_time(kind):
        stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    array.view(stored).validate(full=True)
    return readable(array) if decimal else array


def readable(array: Any) -> Any:  # noqa: ANN401
    """Return an array with null for cells its type cannot hold: too many digits, or not UTF-8."""

    def fits(part: Any) -> bool:  # noqa: ANN401
        with suppress(pa.ArrowInvalid):
            part.validate(full=True)
            return True
        return False

    if fits(array):
        return array
    return _only(array, np.array([fits(array.slice(i, 1)) for i in range(len(array))]))


def _only(array: Any, kept: Flags) -> Any:  # noqa: ANN401
    """Return an array with null for the other cells."""
    return array if kept.all() else array.take(pa.array(np.arange(len(array)), mask=~kept))


def attempt(message: str, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a library; if it refuses, raise `TableError` with our message alone.

    A library's own message may quote a cell, so it is neither repeated nor chained. An error of
    ours never does.
    """
    try:
        return action(*args, **kwargs)
    except NolookError:
        raise
    except BaseException as error:
        # Polars panics over some types; a panic is not an Exception, nor is an interruption.
        if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
            raise
    raise TableError(message)


def guarded(batches: Iterable[T], message: str) -> Iterator[T]:
    """Yield from `batches`, with whatever goes wrong on the way turned into our message."""
    iterator = iter(batches)
    while (batch := attempt(message, next, iterator, None)) is not None:
        yield batch


#: Gives the rows [start, stop) of one column as an Arrow array.
Slicer: TypeAlias = Callable[[int, int], Any]


# Rows an in-memory source hands over at a time: few enough that their numbers stay in a cache,
# enough of each column that calls cost next to nothing.
_NUMBERS = 1 << 18
_LEAST_ROWS, _MOST_ROWS = 512, 32_768
# Numbers of one of its parts: many times the work of starting on one.
_PART_NUMBERS = 1 << 22


_NAME = "the table"
_EXPECTED = "expected one number a row (shape (rows,))"


def from_frame(source: Any) -> MemorySource | None:  # noqa: ANN401 -- pyarrow has no types
    """Take over a pandas, Polars or Arrow table; return None for anything else."""
    if _is_pandas(source, "DataFrame"):
        names = [plain(str(name)) for name in source.columns]
        series = [_series_column(source.iloc[:, i], name) for i, name in enumerate(names)]
        return MemorySource(_NAME, series, len(source))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    elif type(source).__module__.startswith("polars.dataframe"):
        # A null character in a name makes its stream abort the process; this raises.
        source = attempt("the frame gives no readable Arrow stream of rows", source.to_arrow)
    if not isinstance(source, pa.Table):
        return None
    columns = zip(map(Column.from_field, source.schema), map(_slicer, source.columns), strict=True)
    return MemorySource(_NAME, columns, source.num_rows)


def as_array(values: object, message: str) -> NDArray[Any]:
    """Return values as an array; those that declare no type become float64, whatever they are.

    NumPy would make up the type of a list from its cells: each is read by itself, and missing if it
    is neither a number nor a boolean. Raises TableError with the message if there is no array.
    """
    kind = object if isinstance(values, list | tuple) else None
    array: NDArray[Any] = attempt(message, np.asanyarray, values, kind)
    declared = isinstance(getattr(values, "dtype", None), np.dtype)
    return array if declared else attempt(message, _floats, array)


def from_array(array: NDArray[Any], name: str) -> MemorySource:
    """Take over a two-dimensional array of numbers or booleans; columns are named x0, x1, ..."""
    if isinstance(array, np.ma.MaskedArray):
        raise TableError(f"{name} is a masked array (fill the mask with NaN)")
    if array.ndim != 2:
        raise TableError(
            f"{name} has {array.ndim} dimension{'s' * (array.ndim != 1)}: Expected 2D array. "
            f"Reshape your data with {name}.reshape(-1, 1) if it has a single feature; in a list, "
            "all rows need one length"
        )
    dtype = _native(array.dtype, name)
    columns = [
        _numeric_column(values, f"x{i}", dtype) for i, values in enumerate(np.asarray(array).T)
    ]
    return MemorySource(_NAME, columns, array.shape[0])


def from_target(target: object, name: str = "y") -> MemorySource:
    """Take over one column under a name: an array, a series, or a frame of one column.

    Raises TableError if it has another shape, or is neither numbers nor booleans.
    """
    if _is_pandas(target, "Series") or type(target).__module__.startswith("polars.series"):
        target = target.to_frame(name)  # type: ignore[attr-defined]
    elif isinstance(target, pa.Array | pa.ChunkedArray):
        target = pa.table({name: target})
    frame = from_frame(target)
    if frame is None:
        array = as_array(target, f"{name} is not an array of numbers; {_EXPECTED}")
        frame = from_array(array[:, np.newaxis] if array.ndim == 1 else array, name)
    if len(frame.columns) != 1:
        raise TableError(f"{name} has {len(frame.columns)} columns; {_EXPECTED}")
    ((column, slicer),) = frame.pairs
    return MemorySource(frame.name, [(evolve(column, name=name), slicer)], frame.rows)


def plain(text: str) -> str:
    """Return a text that Arrow can hold: question marks stand for lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def join(left: MemorySource, target: MemorySource, name: str, what: str = "y") -> MemorySource:
    """Add a target to the features under a name; both must have the same number of rows."""
    if left.rows != target.rows:
        raise TableError(
            f"X and {what} have different numbers of rows; expected one number for each row"
        )
    ((column, slicer),) = target.pairs
    return MemorySource(left.name, (*left.pairs, (evolve(column, name=name), slicer)), left.rows)


def _is_pandas(source: object, kind: str) -> bool:
    # There are no pandas objects before pandas is imported.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, getattr(pandas, kind))


def _native(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """Return the dtype to read an array as, in this machine's byte order."""
    if dtype.kind not in "biuf":
        reason = "Complex data not supported" if dtype.kind == "c" else "not numbers"
        kind = dtype.type.__name__.rstrip("_")  # lengths and units of time depend on cells
        raise TableError(f"{name} has dtype {kind}: {reason}; expected floats, ints or booleans")
    return np.dtype(np.float64) if dtype.itemsize > 8 else dtype.newbyteorder("=")


def _cast(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values as another dtype, silently: a warning would tell of a cell."""
    with np.errstate(all="ignore"):
        return values.astype(dtype, copy=False)


def _floats(cells: NDArray[Any]) -> Array:
    """Return numbers and booleans as float64, infinite beyond every double; other objects NaN."""
    if cells.dtype.kind == "O" and cells.ndim:
        return np.fromiter(map(_float, cells.flat), np.float64, cells.size).reshape(cells.shape)
    if cells.dtype.kind not in "biuf":
        raise TypeError
    return _cast(cells, np.dtype(np.float64))


def _float(cell: Any) -> float:  # noqa: ANN401
    # NumPy counts timedelta64 among the integers.
    if not issubclass(type(cell), Real | np.bool_) or issubclass(type(cell), np.timedelta64):
        return math.nan
    try:
        with np.errstate(all="ignore"):
            return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _numeric_column(values: NDArray[Any], name: str, dtype: np.dtype[Any]) -> tuple[Column, Slicer]:
    kind = pa.from_numpy_dtype(dtype)
    column = Column(name, kind, nullable=False)
    return column, lambda start, stop: pa.array(_cast(values[start:stop], dtype), kind)


def _slicer(column: Any) -> Slicer:  # noqa: ANN401
    return lambda start, stop: _whole(column.slice(start, stop - start))


def _series_column(series: Any, name: str) -> tuple[Column, Slicer]:  # noqa: ANN401
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return _numeric_column(series.to_numpy(), name, _native(dtype, name))
    pandas = sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        words = _texts(dtype.categories)
        kind = pa.dictionary(pa.int32(), TEXT)

        def coded(start: int, stop: int) -> Any:  # noqa: ANN401
            part = codes[start:stop].astype(np.int32)
            return pa.DictionaryArray.from_arrays(pa.array(part, mask=part < 0), words)

        return Column(name, kind), coded
    text = isinstance(dtype, pandas.StringDtype) and dtype.storage == "python"
    if text or dtype is np.dtype(object):
        column = Column(name, TEXT, "text" if text else "object")
        return column, lambda start, stop: _texts(series.iloc[start:stop])

    # Other types convert themselves, if they can; an empty part tells what that gives.
    kind = None
    with suppress(Exception):
        kind = pa.array(series.iloc[:0]).type
    return Column(name, kind), lambda start, stop: _whole(pa.array(series.iloc[start:stop]))


def _texts(cells: Any) -> Any:  # noqa: ANN401
    """Return each cell as text, or null if it is not a text, number or boolean. Never raises."""
    return raw_texts([as_text(cell) for cell in cells])


def as_text(cell: object) -> str | None:
    """Return a text, number or boolean as text, and None for anything else."""
    with suppress(Exception):  # a class of Python's may raise wherever a cell of it is read
        if isinstance(cell, str):
            return cell
        if isinstance(cell, float | np.floating) and cell == float(cell):  # nothing is rounded
            cell = float(cell)
            is_whole = not cell % 1.0 and -(2**63) <= cell < 2**64  # 1.0 is the unit 1
            return str(int(cell)) if is_whole else float.__repr__(cell)
        # No declared level is larger, and Python refuses to print integers of very many digits.
        if isinstance(cell, int | np.integer | np.bool_) and -(2**63) <= int(cell) < 2**64:
            return str(cell).lower()
    return None


def _whole(column: Any) -> Any:  # noqa: ANN401
    """Return a column as one array; a producer may hand over what a damaged file held."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [sound(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    # Together they may have more words than indices can count.
    return pa.concat_arrays(map(written_out, parts)) if parts else pa.array([], column.type)


class MemorySource:
    """Columns of equal length that are in memory already."""

    def __init__(self, name: str, columns: Iterable[tuple[Column, Slicer]], rows: int) -> None:
        self.name, self.rows, self._first = name, rows, 0
        self.pairs = tuple(columns)
        self.columns = tuple(column for column, _ in self.pairs)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        wanted = {column.name: slicer for column, slicer in self.pairs}
        rows = min(max(_NUMBERS // len(names), _LEAST_ROWS), _MOST_ROWS)
        refused = f"of {self.name} cannot be read as its declared type"
        end = self._first + self.rows
        for start in range(self._first, end, rows):
            stop = min(start + rows, end)
            arrays = [
                attempt(f"column {name!r} {refused}", wanted[name], start, stop) for name in names
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def parts(self) -> Sequence[MemorySource]:
        """Return runs of rows."""
        size = max(_PART_NUMBERS // max(1, len(self.columns)), 1)
        end = self._first + self.rows
        starts = range(self._first, end, size)
        return [changed(self, rows=min(size, end - at), _first=at) for at in starts] or [self]
