"""Assignment of a table's rows to units (patient, household, firm) in bounded memory.

Identifiers are compared as written, by a keyed hash of 128 bits whose key is forgotten; neither an
identifier nor a hash leaves this module. What is kept, a number for each row, is as confidential
as the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from hashlib import blake2b
from itertools import pairwise
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from nolook._arrays import Flags, Integers, Matrix, Places, Vector, Words
from nolook.tables.source import BYTES, TEXT, in_words, written_out

__all__ = [
    "Keys",
    "Units",
    "beside_weights",
    "can_identify",
    "group_hashes",
    "group_rows",
    "hashes_of",
    "kept_cells",
    "named_rows",
    "new_key",
    "weighed",
]

#: Gives so many random numbers of 64 bits.
Keys: TypeAlias = Callable[[int], Words]

# Rows are sorted bucket by bucket: parts of the hashes' range.
_BUCKET_BITS = 6
# Bytes of a bucket that stay in memory, and rows whose units do.
_SPOOLED = 1 << 20
_ROWS_IN_MEMORY = 1 << 22
# Rows renumbered at a time.
_PART = 1 << 20

_RECORD = np.dtype([("hash", "<u8", (2,)), ("row", "<u8")])
_NO_ROW = np.uint64(2**64 - 1)  # of a row that is left out


class Units:
    """The unit of every row, numbered from 0 in the order of their first rows.

    Parameters
    ----------
    of_rows : ndarray of uint32 or uint64, shape (rows,)
    counts : ndarray of int64, shape (units,)
        Rows of each.
    left_out : int
        How many other units there are, all of whose rows are left out.
    """

    def __init__(self, of_rows: NDArray[Any], counts: Integers, left_out: int = 0) -> None:
        self.counts, self.left_out = counts, left_out
        self._of_rows = of_rows

    def between(self, start: int, stop: int) -> Integers:
        """Return the units of the rows from `start` up to `stop`; fewer where they end before."""
        return self._of_rows[start:stop].astype(np.int64)

    def chosen(self, most: int, keys: Keys) -> Flags:
        """Mark `most` rows of each unit, or all it has: those of the smallest keys.

        `keys(n)` returns n random numbers. Ties, one in 2^64, go to the earlier row.
        """
        taken = np.zeros(len(self._of_rows), dtype=np.bool_)
        order = np.lexsort((keys(len(self._of_rows)), self._of_rows))
        first = np.cumsum(self.counts) - self.counts
        rank = np.arange(order.size) - np.repeat(first, self.counts)
        taken[order[rank < most]] = True
        return taken

    def only(self, kept: Flags) -> Units:
        """Return the units of some of the rows; their numbers stay."""
        of_rows = self._of_rows[kept]
        return Units(of_rows, np.bincount(of_rows, minlength=self.counts.size), self.left_out)


def can_identify(kind: Any) -> bool:  # noqa: ANN401 -- pyarrow has no types
    """Tell whether cells of an Arrow type are compared as they are written: not fractions."""
    words = in_words(kind)
    exact = {"text", "integer", "boolean", "bytes", "date"}
    return words in exact or (words == "number" and "decimal" in str(kind))


def named_rows(cells: Any) -> Flags:  # noqa: ANN401
    """Mark the rows that have an identifier. A dictionary's value may be null."""
    return cells.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def weighed(shares: Integers | int, weights: Vector, bound: float | None, power: int) -> Integers:
    """Return shares times the powers of weights in bounds, rounded down; no share grows."""
    parts = np.ones_like(weights) if bound is None else np.minimum(weights / bound, 1.0)
    return np.trunc(shares * (parts if power == 1 else parts * parts)).astype(np.int64)


def beside_weights(transform: Callable[[Matrix], Matrix], numbers: Matrix) -> Matrix:
    """Turn the numbers of rows whose last one is their weight, which stays."""
    return np.vstack([transform(numbers[:-1]), numbers[-1:]])


def kept_cells(cells: Any, kept: Flags) -> Any:  # noqa: ANN401
    """Return the identifiers of some of the rows."""
    return written_out(cells).filter(pa.array(kept))


def group_rows(identifiers: Iterable[tuple[Any, Any]]) -> Units:
    """Give units numbers, from arrays of the rows' identifiers, none of them null.

    Each comes with those of rows left out, or None: they have no number, but are counted.
    """
    key, rows, left_out = new_key(), 0, 0
    with ExitStack() as stack:
        buckets = [
            stack.enter_context(SpooledTemporaryFile(_SPOOLED)) for _ in range(2**_BUCKET_BITS)
        ]
        for cells, others in identifiers:
            _distribute(cells, key, np.arange(rows, rows + len(cells)), buckets)
            rows += len(cells)
            if others is not None:
                _distribute(others, key, _NO_ROW, buckets)
        of_rows = _room(rows)
        counts, firsts, known = [], [], 0
        for bucket in buckets:
            bucket.seek(0)
            everyone = np.frombuffer(bucket.read(), dtype=_RECORD)
            used = everyone["row"] != _NO_ROW
            records = everyone if used.all() else everyone[used]
            found, places = group_hashes(records["hash"])
            if len(records) < len(everyone):
                left_out += len(group_hashes(everyone["hash"])[1]) - len(places)
            of_rows[records["row"]] = known + found
            counts.append(np.bincount(found, minlength=len(places)))
            firsts.append(records["row"][places])
            known += len(places)
            bucket.truncate(0)
    return _in_order(of_rows, np.concatenate(counts), np.concatenate(firsts), left_out)


def new_key() -> bytes:
    """Return a secret key to compare identifiers by."""
    return os.urandom(16)


def hashes_of(cells: Any, key: bytes) -> Words:  # noqa: ANN401
    """Return the keyed hashes of identifiers, none of them null, shape (rows, 2)."""
    cells = written_out(cells)
    if pt.is_date(cells.type):  # as numbers, since not all of 64 bits are whole days
        cells = cells.view(pa.int32() if pt.is_date32(cells.type) else pa.int64())
    if pt.is_integer(cells.type):  # eight bytes each, of any width: less than their digits
        wide = cells.cast(pa.uint64() if pt.is_uint64(cells.type) else pa.int64())
        cells = wide.view(pa.binary(8))
    elif not (pt.is_large_binary(cells.type) or pt.is_fixed_size_binary(cells.type)):
        cells = cells.cast(TEXT)
    return keyed_hashes(cells.cast(BYTES).to_pylist(), key)


def keyed_hashes(texts: Iterable[bytes], key: bytes) -> Words:
    """Hash texts of bytes by BLAKE2b, a key before each, shape (texts, 2)."""
    digests = b"".join([blake2b(key + text, digest_size=16).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)


def _distribute(cells: Any, key: bytes, rows: Places | np.uint64, buckets: list[Any]) -> None:  # noqa: ANN401
    """Append records of identifiers to the buckets of their hashes, in order."""
    records = np.empty(len(cells), dtype=_RECORD)
    records["hash"], records["row"] = hashes_of(cells, key), rows
    bucket = (records["hash"][:, 0] >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=len(buckets)))
    for file, (start, stop) in zip(buckets, pairwise([0, *ends.tolist()]), strict=True):
        if stop > start:
            file.write(records[order[start:stop]].tobytes())


def group_hashes(hashes: Words) -> tuple[Integers, Places]:
    """Give equal hashes one number; return the numbers and, of each, its first place."""
    cells = pa.py_buffer(np.ascontiguousarray(hashes))
    coded = pa.Array.from_buffers(pa.binary(16), len(hashes), [None, cells]).dictionary_encode()
    numbers = coded.indices.to_numpy().astype(np.int64)  # in the order of their first places
    return numbers, np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))


def _in_order(of_rows: NDArray[Any], counts: Integers, firsts: Words, left_out: int) -> Units:
    """Renumber units by their first rows, so that their numbers do not depend on the key."""
    order = np.argsort(firsts)
    numbers = np.empty(order.size, dtype=of_rows.dtype)
    numbers[order] = np.arange(order.size)
    for start in range(0, len(of_rows), _PART):
        part = slice(start, start + _PART)
        of_rows[part] = numbers[of_rows[part]]
    return Units(of_rows, counts[order], left_out)


def _room(rows: int) -> NDArray[Any]:
    """Return an array for the units of n rows: a temporary file's if they are many."""
    kind = np.uint32 if rows <= 2**32 else np.uint64
    if rows <= _ROWS_IN_MEMORY:
        return np.empty(rows, dtype=kind)
    with TemporaryFile() as file:
        return np.memmap(file, dtype=kind, mode="w+", shape=(rows,))
