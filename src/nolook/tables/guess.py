"""How a text file seems to be written: a guess for its holder, from its first bytes.

No release depends on it. See `draft.py`.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from nolook.tables._rows import Rows, Signs
from nolook.tables.declarations import COMMENTS, DELIMITERS
from nolook.tables.files import Place
from nolook.tables.text import uncompressed

__all__ = ["MOST_ROWS", "Sample", "first_rows"]

#: The rows a guess is made from.
MOST_ROWS = 1000
_MOST_BYTES = 1 << 20
_FEW_LINES = 100
_SEPARATOR = f"[{re.escape(''.join(DELIMITERS))}]"
_APOSTROPHES = re.compile(rf"(?m)(?:^|{_SEPARATOR})'[^'\n]*'(?:{_SEPARATOR}|$)")
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Sample(NamedTuple):
    """The first rows of a text file, and how it seems to be written."""

    settings: dict[str, str]
    names: list[str]
    columns: list[Any]  # Arrow arrays of texts, perhaps not UTF-8


def first_rows(place: Place) -> Sample:
    """Guess how a file is written; its first line has the columns' names."""
    with uncompressed(place) as stream:
        raw = stream.read(_MOST_BYTES)
    encoding = _encoding(raw)
    text = raw.decode(encoding, "replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in (lines[:-1] if len(raw) == _MOST_BYTES else lines) if line]
    signs = _signs(lines[:_FEW_LINES])
    names, columns = _read(lines[: MOST_ROWS + 1], signs)
    kept: dict[str, str] = {"delimiter": signs.delimiter.decode(), "quote": signs.quote.decode()}
    if signs.comment:
        kept["comment"] = signs.comment.decode()
    return Sample({**kept, "encoding": encoding}, names, columns)


def _encoding(raw: bytes) -> str:
    if raw[:2] in _BYTE_ORDER_MARKS:
        return _BYTE_ORDER_MARKS[raw[:2]]
    zeros = [raw[place::2].count(0) for place in (0, 1)]
    if max(zeros) > len(raw) // 8:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        whole = error.start >= len(raw) - 3 and error.reason == "unexpected end of data"
        if not whole:
            return "cp1252"
    return "utf-8"


def _signs(lines: Sequence[str]) -> Signs:
    """Return the signs with which most lines have the header's number of cells."""
    text = "\n".join(lines)
    quote = "'" if '"' not in text and _APOSTROPHES.search(text) else '"'
    comments = [None, *(sign for sign in COMMENTS if text.startswith(sign))]

    def score(signs: Signs) -> tuple[int, int]:
        names, columns = _read(lines, signs)
        fitting = len(columns[0]) - columns[0].null_count if len(names) > 1 else 0
        return fitting, len(names)

    found = itertools.product(DELIMITERS, comments)
    return max((Signs.of(sign, quote, comment) for sign, comment in found), key=score)


def _read(lines: Sequence[str], signs: Signs) -> tuple[list[str], list[Any]]:
    """Return the header and the columns below it."""
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    rows = Rows(io.BytesIO(content), signs, None, multiline=False)
    names = [cell.decode().strip() for cell in rows.header]
    blocks = list(rows.columns(range(len(names)))) if names else []
    columns = [pa.concat_arrays(parts) for parts in zip(*blocks, strict=True)]
    return names, columns or [pa.array([], pa.string()) for _ in names]
