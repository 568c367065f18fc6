"""What a table is read from: declared columns, and Arrow record batches as often as wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from attrs import frozen
from numpy.typing import NDArray

from nolook.errors import TableError

__all__ = [
    "Column",
    "MemorySource",
    "NoAnswer",
    "Slicer",
    "Source",
    "attempt",
    "guarded",
    "in_words",
    "sound",
]

P = ParamSpec("P")
T = TypeVar("T")

#: Gives the rows [start, stop) of one column as an Arrow array.
Slicer: TypeAlias = Callable[[int, int], Any]

# Rows an in-memory source hands over at a time: few enough that their numbers stay in a cache,
# enough of each column that calls cost next to nothing.
_NUMBERS = 1 << 18
_LEAST_ROWS, _MOST_ROWS = 512, 32_768
# Numbers of one of its parts: many times the work of starting on one.
_PART_NUMBERS = 1 << 22

# Texts as bytes, which need not be UTF-8.
_STORED = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}

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
    declared: str  # the type in words, for messages
    nullable: bool = True

    @property
    def may_be_missing(self) -> bool:
        """Whether a number may be absent: null, NaN or infinite."""
        return self.nullable or pa.types.is_floating(self.type)

    @classmethod
    def from_field(cls, field: Any) -> Column:  # noqa: ANN401 -- pyarrow has no types
        """Take over an Arrow field."""
        return cls(field.name, field.type, in_words(field.type), field.nullable)


def in_words(kind: Any) -> str:  # noqa: ANN401
    """Return what to call an Arrow type in messages."""
    if kind is None:
        return "neither numbers nor texts"
    if pt.is_dictionary(kind):
        return in_words(kind.value_type)
    found = (words for words, names in _IN_WORDS.items() if re.match(names, str(kind)))
    return next(found, "something that is neither number nor text")


class Source(Protocol):
    """Anything rows are read from."""

    name: str  # what messages call it

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns, in the source's order."""

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


class MemorySource:
    """Columns of equal length that are in memory already.

    The callables `finite`, if any, tell together whether every cell is a finite number, faster than
    reading the columns.
    """

    def __init__(
        self,
        name: str,
        columns: Iterable[tuple[Column, Slicer]],
        rows: int,
        finite: Sequence[Callable[[], bool]] = (),
    ) -> None:
        pairs = tuple(columns)
        self.finite = tuple(finite)
        self.name = name
        self.columns = tuple(column for column, _ in pairs)
        self.slicers = tuple(slicer for _, slicer in pairs)
        self.rows = rows

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        pairs = zip(self.columns, self.slicers, strict=True)
        wanted = {column.name: slicer for column, slicer in pairs}
        rows = min(max(_NUMBERS // len(names), _LEAST_ROWS), _MOST_ROWS)
        refused = f"of {self.name} cannot be read as its declared type"
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)
            arrays = [
                attempt(f"column {name!r} {refused}", wanted[name], start, stop) for name in names
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def parts(self) -> Sequence[MemorySource]:
        """Return runs of rows."""
        size = max(_PART_NUMBERS // max(1, len(self.columns)), 1)
        if self.rows <= size:
            return (self,)
        starts = range(0, self.rows, size)
        return [self._run(start, min(start + size, self.rows)) for start in starts]

    def _run(self, first: int, last: int) -> MemorySource:
        def shifted(slicer: Slicer, start: int, stop: int) -> Any:  # noqa: ANN401
            return slicer(first + start, first + stop)

        slicers = (partial(shifted, slicer) for slicer in self.slicers)
        return MemorySource(self.name, zip(self.columns, slicers, strict=True), last - first)

    def surely_finite(self, names: Sequence[str]) -> bool:
        """Whether every cell is known to be a finite number, if these are all the columns."""
        if not self.finite or len(names) != len(self.columns):
            return False
        answers = [finite() for finite in self.finite]  # all: time must not tell where
        return all(answers)


def sound(array: Any) -> Any:  # noqa: ANN401
    """Return an Arrow array that is safe to read, with null for a cell its type cannot hold.

    Only buffers that are broken whatever the cells say are refused. A text that is not UTF-8 stays
    as it is: it is read byte by byte, and cannot be a declared level.
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
    array.view(stored).validate(full=True)
    return _only(array, _fitting(array)) if decimal else array


def _fitting(decimals: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Mark the decimals of no more digits than declared."""

    def fits(part: Any) -> bool:  # noqa: ANN401
        with suppress(pa.ArrowInvalid):
            part.validate(full=True)
            return True
        return False

    if fits(decimals):
        return np.ones(len(decimals), dtype=bool)
    return np.array([fits(decimals.slice(i, 1)) for i in range(len(decimals))])


def _only(array: Any, kept: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    """Return an array with null for the other cells."""
    return array if kept.all() else array.take(pa.array(np.arange(len(array)), mask=~kept))


class NoAnswer(TableError):  # noqa: N818 -- says what went wrong
    """A source gave nothing for too long."""


def attempt(message: str, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a library; if it refuses, raise `TableError` with our message alone.

    A library's own message may quote a cell, so it is neither repeated nor chained.
    """
    try:
        return action(*args, **kwargs)
    except NoAnswer:
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
