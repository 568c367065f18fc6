"""Read JSON strictly: whatever is not exactly as expected is named in one line."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

__all__ = ["Broken", "array", "fits", "keys", "limit", "names", "number", "parse", "read", "text"]

_LARGEST_FILE = 64 * 2**20  # bytes; a model of 100,000 features has about half as many
_LARGEST_NUMBER = sys.float_info.max


class Broken(Exception):  # noqa: N818 -- never reaches a user
    """What is wrong with a file, without the file's name."""


def read(path: Path) -> str:
    """Return the text of a file that is not too large."""
    try:
        if path.exists() and not path.is_file():
            raise Broken("expected an ordinary file")
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "expected the path of a file"
        raise Broken(f"cannot read it ({reason})") from None
    if len(content) > _LARGEST_FILE:
        raise Broken(f"it has more than {_LARGEST_FILE} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Broken("it is not text in UTF-8") from None


def parse(text: str) -> dict[str, Any]:
    """Return the object a JSON text holds, without NaN, infinities and repeated keys."""
    try:
        document = json.loads(text, parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise Broken("it is not JSON, perhaps cut short") from None
    return document if isinstance(document, dict) else {}


def _refuse(constant: str) -> NoReturn:
    raise Broken(f"it holds the number {constant}; expected finite numbers")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Broken("it holds a key twice")
    return found


def keys(
    value: object, expected: frozenset[str], name: str, optional: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return an object that has exactly the expected keys, and perhaps the optional ones."""
    if not isinstance(value, dict):
        raise Broken(f"expected {name} to be an object")
    missing, unknown = sorted(expected - value.keys()), sorted(value.keys() - expected - optional)
    if missing or unknown:
        wrong = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise Broken(f"in {name}, the key {wrong}")
    return value


def text(value: object, name: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise Broken(f"expected {name} to be a text")
    return value


def names(value: object, name: str) -> tuple[str, ...]:
    """Return distinct texts, at least one."""
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        raise Broken(f"expected {name} to be a list of names")
    if len(set(value)) != len(value):
        raise Broken(f"expected {name} to name each column once")
    return tuple(value)


def number(value: object, name: str) -> float:
    """Return a finite number as a float."""
    # A number too large for a double reads as infinite.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Broken(f"expected {name} to hold numbers")
    if not abs(value) <= _LARGEST_NUMBER:
        raise Broken(f"expected {name} to hold finite numbers")
    return float(value)


def limit(value: object, name: str, sign: float = 1.0) -> float:
    """Return a number, or for null an infinite one of this sign."""
    return sign * math.inf if value is None else number(value, name)


def array(value: object, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return nested lists of finite numbers as an array of exactly this shape."""
    flat: list[float] = []
    _collect(value, shape, name, flat)
    return np.array(flat, dtype=np.float64).reshape(shape)


def _collect(value: object, shape: tuple[int, ...], name: str, flat: list[float]) -> None:
    if not shape:
        flat.append(number(value, name))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise Broken(f"expected {name} to have {shape[0]} entries")
    for entry in value:
        _collect(entry, shape[1:], name, flat)


def fits(value: object, hint: object) -> bool:
    """Tell whether a plain value has an annotated type: a scalar, a Literal, numbers or a union."""
    if get_origin(hint) in {Union, UnionType}:
        return any(fits(value, one) for one in get_args(hint))
    if get_origin(hint) is tuple:  # JSON has only lists; an entry may be one number or several
        entries = value if isinstance(value, list) else []
        several = (entry if isinstance(entry, list) else [entry] for entry in entries)
        return len(entries) == len(get_args(hint)) and all(
            fits(number, float) for numbers in several for number in numbers
        )
    if get_origin(hint) is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(hint))
    if hint is float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return plain and abs(cast("float", value)) <= _LARGEST_NUMBER
    return hint in {str, int, bool, NoneType} and type(value) is hint
