"""What a table is read from: declared columns, and Arrow record batches as often as wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from attrs import frozen
from numpy.typing import NDArray

from nolook.errors import TableError

__all__ = [
    "Column",
    "Source",
    "attempt",
    "guarded",
    "in_words",
    "movable",
    "raw_texts",
    "sound",
]

P = ParamSpec("P")
T = TypeVar("T")

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
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


def raw_texts(texts: Sequence[str | None]) -> Any:  # noqa: ANN401
    """Return texts as an array; two that differ stay different, whatever surrogates they hold."""
    cells = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
    return pa.array(cells, pa.large_binary()).view(pa.large_string())


def movable(cells: Any) -> Any:  # noqa: ANN401
    """Return cells that Arrow can put into another order."""
    if pt.is_dictionary(cells.type):
        return pa.DictionaryArray.from_arrays(cells.indices, movable(cells.dictionary))
    return cells.cast(_VIEWS[cells.type]) if cells.type in _VIEWS else cells


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


def attempt(message: str, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a library; if it refuses, raise `TableError` with our message alone.

    A library's own message may quote a cell, so it is neither repeated nor chained.
    """
    try:
        return action(*args, **kwargs)
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
