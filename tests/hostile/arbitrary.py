"""Tables of every type, with whatever cells; the same for the same seed."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.hostile.harness import CANARY

__all__ = ["KINDS", "NAMES", "damaged", "odd_values", "store", "tables"]

NAMES = (
    "a", "b", "y", "a.b", " ", "", "é", "x" * 200, "<script>alert(1)</script>", "a,b", 'q"uote',
    "new\nline", "\x1b[31mred", "=1+1", "\u202eright", "日本語", "l.list.element", "nul\0", "'",
    "{}", "%s", "a", "[bold]", "..", "/etc/passwd",
)  # fmt: skip
_FLOATS = (
    0.0, -0.0, 1.5, -7.0, 1.0, np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324, 2.0**53, 1e-300,
)  # fmt: skip
_TEXTS = (
    CANARY, f"{CANARY} é", f"{CANARY}\n{CANARY}", f"{CANARY},{CANARY}", f'{CANARY}"', CANARY * 100,
)  # fmt: skip
_INTEGERS = (0, 1, 2, -1, 127, -128)
DAMAGES = ("flip", "flip", "flip", "cut", "byte", "zero", "put", "twice")
_DAY = dt.date(2024, 2, 29)


def _pick(values, kind):
    def column(rows, generator, share):
        missing = generator.random(rows) < share
        cells = [values[i] for i in generator.integers(len(values), size=rows)]
        return pa.array([None if gone else c for c, gone in zip(cells, missing, strict=True)], kind)

    return column


def _cast(values, kind):
    return lambda *given: _pick(values, None)(*given).cast(kind)


def _encoded(values, index):
    def column(rows, generator, share):
        codes = _pick(range(len(values)), index)(rows, generator, share)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values))

    return column


def _union(rows, generator, share):
    kinds = pa.array([0] * rows, pa.int8())
    return pa.UnionArray.from_sparse(kinds, [pa.array([1.0] * rows, pa.float64())])


def _run_ends(rows, generator, share):
    if not rows:
        return pa.array([], pa.float64())
    return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([1.0]))


_LARGE = decimal.Decimal(10) ** 30
KINDS: dict[str, Callable] = {
    "float64": _pick(_FLOATS, pa.float64()),
    "tame": _pick((0.5, 1.0, -3.0, 2.25), pa.float64()),
    "float32": _pick((0.5, np.nan, np.inf, 3e38), pa.float32()),
    "float16": _pick([np.float16(x) for x in (0.5, np.nan, np.inf, 6e4)], pa.float16()),
    "int8": _pick(_INTEGERS, pa.int8()),
    "int64": _pick((*_INTEGERS, 2**63 - 1, -(2**63)), pa.int64()),
    "uint64": _pick((0, 1, 2**64 - 1), pa.uint64()),
    "bool": _pick((True, False), pa.bool_()),
    "decimal128": _pick((_LARGE, -_LARGE, decimal.Decimal(1)), pa.decimal128(38, 2)),
    "decimal256": _pick((_LARGE, decimal.Decimal(1)), pa.decimal256(76, 5)),
    "text": _pick(_TEXTS, pa.string()),
    "large text": _pick(_TEXTS, pa.large_string()),
    "text view": _cast(_TEXTS, pa.string_view()),
    "bytes": _pick([t.encode() for t in _TEXTS], pa.binary()),
    "coded text": _encoded(_TEXTS, pa.int8()),
    "coded integers": _encoded((1, 2, 3), pa.uint32()),
    "day": _pick((_DAY,), pa.date32()),
    "moment": _pick((0, 1, -(10**15)), pa.timestamp("us")),
    "while": _pick((dt.timedelta(1),), pa.duration("us")),
    "list": _pick(([1, 2], [], [None]), pa.list_(pa.int64())),
    "struct": _pick(({"b": 1.0},), pa.struct([("b", pa.float64())])),
    "map": _pick(([("k", 1)],), pa.map_(pa.string(), pa.int64())),
    "null": lambda rows, *_: pa.nulls(rows),
    "fixed bytes": _pick((b"abcd",), pa.binary(4)),
    "run ends": _run_ends,
    "union": _union,
}
_TAME = ("tame", "int8", "bool", "float64")


@st.composite
def tables(draw) -> pa.Table:
    """A table of a few columns, perhaps with equal names, perhaps without rows."""
    rows = draw(st.sampled_from([0, 1, 2, 3, 17, 60]))
    share = draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Half of the columns can be used, so that what comes after the first check is met as well.
    kinds = draw(
        st.lists(st.one_of(st.sampled_from(_TAME), st.sampled_from(list(KINDS))), max_size=6)
    )
    tame = st.sampled_from(NAMES[:3])
    names = draw(
        st.lists(st.one_of(tame, st.sampled_from(NAMES)), min_size=len(kinds), max_size=len(kinds))
    )
    arrays = [KINDS[kind](rows, generator, share) for kind in kinds]
    nullable = draw(st.booleans())
    fields = [
        pa.field(name, array.type, nullable or array.null_count > 0 or pa.types.is_null(array.type))
        for name, array in zip(names, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def store(table: pa.Table, path: Path) -> bool:
    """Write a table in the format of the path's extension; False if the format cannot hold it."""
    rows = max(20, table.num_rows // 10)  # in several parts, but not in thousands
    try:
        if path.suffix == ".parquet":
            pq.write_table(table, path, row_group_size=rows, write_page_checksum=True)
        elif path.suffix == ".csv":
            pa.csv.write_csv(table, path)
        else:
            opening = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
            with opening(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
    except pa.ArrowException:
        path.unlink(missing_ok=True)
        return False
    return True


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """Bytes with some flipped, cut off, repeated, moved or replaced."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(changed) - 1)))
        kind = draw(st.sampled_from(DAMAGES))
        if not changed or kind == "put":
            changed[place:place] = draw(st.binary(max_size=20))
        elif kind == "flip":
            changed[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del changed[place:]
        elif kind == "byte":
            changed[place] = draw(st.sampled_from([0, 0x22, 0x2C, 0x0A, 0x0D, 0x7F, 0x80, 0xFF]))
        elif kind == "zero":
            changed[place : place + 8] = draw(st.sampled_from([bytes(8), b"\xff" * 8]))
        else:
            changed += changed[place : place + 100]
    return bytes(changed)


class Unprintable:
    """Fails at whatever is asked of it."""

    def __repr__(self):
        raise ValueError("no")

    __str__ = __float__ = __int__ = __bool__ = __repr__


def odd_values() -> st.SearchStrategy:
    """Values no parameter expects, or only some."""
    return st.sampled_from(
        [
            None, True, False, 0, 1, 2, 5, -1, 0.5, 1.0, 1e-6, 1e-320, 5e-324, 1e308, 1e9, 3.7,
            -0.0, np.nan, np.inf, -np.inf, 10**400, -(10**400), 10**5000, 2**63, 2**64, 1 + 2j,
            decimal.Decimal("0.5"), np.float32(0.5), np.int64(3), np.float64("nan"), np.bool_(True),
            np.array(1.0), np.array([1.0, 2.0]), np.array(["a"]), "", "auto", "a", "1", "\ud800",
            "line\nbreak", "x" * 5000, b"", b"1", [], [1], ["a"], ["a", "a"], [None], (), (1, 2),
            (0.0, 1.0), (None, None), {}, {"a": 1}, {1: 2}, set(), {"a"}, range(3), object(), int,
            len, Unprintable(), dt.date(2024, 1, 1), slice(1), ...,
        ]
    )  # fmt: skip
