"""Read JSON strictly: a file that is damaged or was edited is refused in one line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeVar

import msgspec

__all__ = ["Broken", "Content", "convert", "read_object", "refuse_others"]

_LARGEST_FILE = 64 * 2**20  # bytes; a model of 100,000 features has about half as many
_ROUNDING = 1e-9  # machines may add up the same numbers otherwise
_LONGEST_MESSAGE = 300  # letters; it may quote the file

_Kind = TypeVar("_Kind")


class Broken(ValueError):  # noqa: N818 -- never reaches a user
    """What is wrong with a file, without the file's name."""


class Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An object in a file: just these keys; `__post_init__` refuses what cannot go together."""


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, its numbers finite and its keys distinct, or {}."""
    text = _read(path)
    try:
        document = json.loads(
            text,
            parse_float=_finite,
            parse_int=_whole,
            parse_constant=_finite,
            object_pairs_hook=_distinct,
        )
    except Broken:
        raise
    except (ValueError, RecursionError):
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
        raise Broken(f"it holds a number that is not a finite double: {digits:.20}")
    return number


def _whole(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Broken("it holds a key twice")
    return found


def refuse_others(found: object, expected: object, place: str = "it") -> None:
    """Refuse plain values that differ from those expected by more than their rounding."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for key, value in expected.items():
            refuse_others(found[key], value, key)
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for one, other in zip(found, expected, strict=True):
            refuse_others(one, other, place)
    elif not _same(found, expected):
        raise Broken(f"{place} is not what follows from what was released")


def _same(found: object, expected: object) -> bool:
    if type(found) in {int, float} and type(expected) in {int, float}:
        return math.isclose(found, expected, rel_tol=_ROUNDING, abs_tol=_ROUNDING)  # type: ignore[arg-type]
    return type(found) is type(expected) and found == expected


def convert(value: object, kind: type[_Kind]) -> _Kind:
    """Return a value as a type states it: only whole numbers may become floats."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message = str(error)
    except UnicodeEncodeError:
        message = "a key is not Unicode text"
    raise Broken(f"{message[:1].lower()}{message[1:_LONGEST_MESSAGE]}")
