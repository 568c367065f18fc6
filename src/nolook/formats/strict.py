"""Read JSON strictly: a file that is damaged or was edited is refused in one line."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Interval, Intervals, Numbers

__all__ = ["Broken", "Content", "convert", "expect", "plain", "read_object"]

_LARGEST_FILE = 64 * 2**20  # bytes; a model of 100,000 features has about half as many
_LONGEST_MESSAGE = 300  # characters; it may quote a key of the file

_Kind = TypeVar("_Kind")

# In a list of intervals null stands where there is none.
_PAIRS: dict[Any, Any] = {
    Interval: tuple[float, float],
    Intervals: list[tuple[float, float] | None],
}


class Broken(ValueError):  # noqa: N818 -- never reaches a user
    """The fault of a file, without the file's name."""


def expect(condition: object, what: str) -> None:
    """Refuse a file unless a condition holds."""
    if not condition:
        raise Broken(f"expected {what}")


class Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An object in a file; `__post_init__` refuses an inconsistent one."""

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of an object: `others`, and its attributes of the other names.

        Their names may end in an underscore there. Null stands for an infinite number, and for an
        attribute that the object does not have.
        """
        own = (name for name in cls.__struct_fields__ if name not in others)
        named = {name: getattr(found, f"{name}_", getattr(found, name, None)) for name in own}
        return cls(**{name: _known(value) for name, value in named.items()}, **others)

    def fields(self, base: type[Content]) -> dict[str, Any]:
        """Return the values by name, without those of a base."""
        own = (name for name in self.__struct_fields__ if name not in base.__struct_fields__)
        return {name: getattr(self, name) for name in own}


def _known(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return tuple(map(_known, value))
    return None if isinstance(value, float) and math.isinf(value) else value


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, its numbers finite and its keys distinct, or {}."""
    text = _read(path)
    try:
        document = json.loads(
            text,
            parse_float=_finite,
            parse_int=lambda digits: int(digits) if _finite(digits) else 0,
            parse_constant=_finite,
            object_pairs_hook=_distinct,
        )
    except (json.JSONDecodeError, RecursionError):
        raise Broken("it is not JSON, perhaps cut short") from None
    return document if isinstance(document, dict) else {}


def _read(path: Path) -> str:
    try:
        content = _first_bytes(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise Broken(f"cannot read it ({getattr(error, 'strerror', error)})") from None
    if len(content) > _LARGEST_FILE:
        raise Broken(f"it has more than {_LARGEST_FILE} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Broken("it is not text in UTF-8") from None


def _first_bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise OSError(0, "it is not an ordinary file")
    with path.open("rb") as stream:
        return stream.read(_LARGEST_FILE + 1)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Broken("it holds a number that is not a finite double")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Broken("it holds a key twice")
    return found


def convert(value: object, kind: type[_Kind]) -> _Kind:
    """Return a value as a type states it: only integers may become floats."""
    try:
        found = msgspec.convert(value, kind, dec_hook=_array)
    except msgspec.ValidationError as error:
        message = str(error)
    except UnicodeEncodeError:
        message = "a key is not valid Unicode"
    else:
        # msgspec passes over unknown keys of attrs classes, and some that are missing.
        _refuse_others(value, plain(found))
        return found
    # Not the value that an error quotes.
    message = re.sub("^Invalid .*value .* - at", "invalid value - at", message.rpartition("; ")[2])
    raise Broken(f"{message[:1].lower()}{message[1:_LONGEST_MESSAGE]}")


def plain(value: object) -> Any:  # noqa: ANN401
    """Return a value as JSON types; of an array, an entry or a row that is or has NaN is null."""
    return msgspec.to_builtins(value, enc_hook=_list)


def _list(value: object) -> object:
    if isinstance(value, np.ndarray) and value.ndim and value.dtype == np.float64:
        unknown: Any = np.isnan(value).any(axis=tuple(range(1, value.ndim)))
        return [None if gone else row for gone, row in zip(unknown, value.tolist(), strict=True)]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a file cannot hold a {type(value).__name__}")


def _array(kind: Any, value: object) -> NDArray[Any]:  # noqa: ANN401
    """Return the array that a file holds as lists; of no certain type, it may hold texts."""
    (dtype,) = get_args(get_args(kind)[1])
    entry = {np.float64: float, np.bool_: bool, Any: str | bool | int | float}.get(dtype, int)
    known = list[float | None] if kind == Numbers else list[entry]  # type: ignore[valid-type]
    rows: Any = _PAIRS.get(kind, known)
    if kind not in _PAIRS and isinstance(value, list) and value and isinstance(value[0], list):
        rows = list[rows]
    try:
        found = msgspec.convert(value, rows)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).partition(" - at")[0]) from None
    if kind == Intervals:
        found = np.reshape([(math.nan, math.nan) if row is None else row for row in found], (-1, 2))
    elif len({len(row) for row in found if isinstance(row, list)}) > 1:
        raise ValueError("expected rows of one length")
    if len({isinstance(each, str) for each in found}) > 1:
        raise ValueError("expected strings or numbers, not both")
    try:
        array = np.array(found, None if dtype is Any else dtype)
    except OverflowError:
        raise ValueError("expected smaller integers") from None
    if kind in _PAIRS and (array[..., 0] > array[..., 1]).any():
        raise ValueError("expected the lower end before the upper end")
    return array


def _refuse_others(value: object, known: object) -> None:
    if isinstance(value, dict) and isinstance(known, dict):
        if missing := known.keys() - value.keys():
            raise Broken(f"object is missing required field `{min(missing)}`")
        for key, entry in value.items():
            if key not in known:
                raise Broken(f"object contains unknown field `{key:.40}`")
            _refuse_others(entry, known[key])
    elif isinstance(value, list) and isinstance(known, list | tuple):
        for entry, other in zip(value, known, strict=True):
            _refuse_others(entry, other)
