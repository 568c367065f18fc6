"""A cell that its Arrow type cannot hold is a missing value; only broken buffers are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest

from nolook.errors import NolookError, TableError
from nolook.tables import read_table

WORDS = pa.array([b"Bern", b"\xff\xfe", b"Basel"], pa.binary())


def texts(kind, cells):
    """Texts of a type, whether or not they are UTF-8."""
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    array = pa.array(cells, stored.get(kind, pa.binary_view()))
    return pa.Array.from_buffers(kind, len(array), array.buffers(), array.null_count)


def codes(cells, index, words=WORDS):
    """Cells as indices of words, whether or not there are so many."""
    return pa.DictionaryArray.from_arrays(pa.array(cells, index), words, safe=False)


def decimals(kind, cells):
    """Decimals of a type, whether or not they have too many digits."""
    width = kind.byte_width
    raw = [int(cell or 0).to_bytes(width, "little", signed=True) for cell in cells]
    return pa.array(
        [cell and r for cell, r in zip(cells, raw, strict=True)], pa.binary(width)
    ).view(kind)


BAD_WORDS = texts(pa.string(), WORDS.to_pylist())
GOOD_WORDS = pa.array(["Bern", "?", "Basel"])
# What a column holds, and the same with null for the cells it cannot hold.
CATEGORIES = {
    **{
        str(kind): (texts(kind, [b"Bern", b"\xff", None, b"Basel"]),
                    texts(kind, [b"Bern", None, None, b"Basel"]))
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    "a word": (codes([0, 1, None, 2], pa.int8(), BAD_WORDS),
               codes([0, None, None, 2], pa.int8(), GOOD_WORDS)),
    **{
        f"{index} {far}": (codes([0, far, None, 2], index, GOOD_WORDS),
                           codes([0, None, None, 2], index, GOOD_WORDS))
        for index, far in ((pa.int8(), -1), (pa.int32(), 2**30), (pa.uint64(), 2**64 - 1))
    },
    "whole numbers": (codes([0, 9, None, 2], pa.int8(), pa.array([7, 8, 9])),
                      codes([0, None, None, 2], pa.int8(), pa.array([7, 8, 9]))),
    "no words": (codes([0, 1, None, 2], pa.int8(), GOOD_WORDS[:0]),
                 codes([None] * 4, pa.int8(), GOOD_WORDS)),
}  # fmt: skip
NUMBERS = {
    str(kind): (
        decimals(kind, [1, 10**kind.precision, None, 10**kind.precision - 1]),
        decimals(kind, [1, None, None, 10**kind.precision - 1]),
    )
    for kind in (
        pa.decimal32(5, 2), pa.decimal64(9, 0), pa.decimal128(38, 2), pa.decimal256(50, 3),
    )
}  # fmt: skip


class Stream:
    """Gives an Arrow stream and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def in_file(table, folder, opening):
    path = folder / "t.arrow"
    with opening(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return path


def in_pandas(table, _):
    held = {n: pd.arrays.ArrowExtensionArray(table[n]) for n in table.column_names}
    return pd.DataFrame(held)


HOLDERS = {
    "table": lambda table, _: table,
    "chunks": lambda table, _: pa.concat_tables([table.slice(0, 2), table.slice(2)]),
    "stream": lambda table, _: Stream(table),
    "pandas": in_pandas,
    "file": lambda table, folder: in_file(table, folder, pa.ipc.new_file),
    "file of a stream": lambda table, folder: in_file(table, folder, pa.ipc.new_stream),
}


def told(cells, holder, folder, missing, levels):
    """What a user can learn of a column beside the three rows of numbers."""
    stored = HOLDERS[holder](pa.table({"c": cells, "y": [1.0, 2.0, 3.0, 4.0]}), folder)
    opened = read_table(stored, "y", features=["c"], categories=levels, missing=missing)
    try:
        opened.read_through()
    except TableError as error:
        return str(error).replace(opened._source.name, "the table")
    empty = np.empty((opened.n_columns, 0))
    return np.concatenate([empty, *opened.batches()], axis=1).tolist()


@pytest.mark.parametrize(
    ("kind", "holder", "missing"),
    [
        # Every day each kind in each holder, under one policy.
        pytest.param(kind, holder, missing, marks=[pytest.mark.slow] * ((i + j + k) % 2))
        for i, kind in enumerate([*CATEGORIES, *NUMBERS])
        for j, holder in enumerate(HOLDERS)
        for k, missing in enumerate(["drop-row", "zero"])
    ],
)
def test_a_cell_its_type_cannot_hold_is_a_missing_value(tmp_path, kind, holder, missing):
    levels = {"c": ["Bern", "Basel", None] if kind != "whole numbers" else [7, 9, None]}
    levels = levels if kind in CATEGORIES else None
    bad, null = CATEGORIES.get(kind) or NUMBERS[kind]
    with pytest.raises(pa.ArrowInvalid):
        bad.validate(full=True)
    null.validate(full=True)
    found = told(bad, holder, tmp_path, missing, levels)
    assert found == told(null, holder, tmp_path, missing, levels)
    rows = 4 if missing == "zero" else 0 if kind == "no words" else 2
    assert len(found[0]) == rows
    assert not isinstance(found, str)


def test_parts_may_have_more_words_together_than_indices_can_count():
    parts = [pa.array([f"{part}{i}" for i in range(100)]) for part in "ab"]
    column = pa.chunked_array([codes(range(100), pa.int8(), words) for words in parts])
    opened = read_table(pa.table({"c": column}), categories={"c": [None, "a7", "b99"]})
    opened.read_through()
    (numbers,) = opened.batches()
    assert np.argwhere(numbers).tolist() == [[0, 7], [1, 199]]


def test_a_text_that_is_not_utf_8_in_a_column_of_texts_in_pandas():
    bad = texts(pa.large_string(), [b"Bern", b"\xff"])
    held = pd.arrays.ArrowStringArray(pa.chunked_array([bad]))
    opened = read_table(pd.DataFrame({"c": held}), categories={"c": ["Bern"]})
    opened.read_through()
    assert next(iter(opened.batches())).tolist() == [[1.0]]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", ["texts", "words"])
def test_offsets_that_lead_out_of_their_buffers(tmp_path, holder, kind):
    # Reading such an array ends the process; the format has no checksum that would tell.
    far = np.array([0, 2**30, 9, 9, 9], np.int32).tobytes()
    broken = pa.Array.from_buffers(
        pa.string(), 4, [None, pa.py_buffer(far), pa.array(["Bern", "Basel"]).buffers()[2]]
    )
    if kind == "words":
        broken = codes([0, 1, 2, 3], pa.int8(), broken)
    stored = HOLDERS[holder](pa.table({"c": broken, "y": [1.0, 2.0, 3.0, 4.0]}), tmp_path)
    table = read_table(stored, "y", categories={"c": ["Bern"]}, missing="zero")
    with pytest.raises(TableError, match=r"cannot be read|can be read|not a readable Arrow file"):
        table.read_through()
    with pytest.raises(TableError):
        list(table.batches())


TEXTS = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(),
         pa.string_view(): pa.binary_view()}  # fmt: skip
FLAT = [
    *(pa.null(), pa.bool_(), pa.date32(), pa.date64(), pa.binary(7), pa.month_day_nano_interval()),
    *(getattr(pa, f"{sign}int{n}")() for sign in ("", "u") for n in (8, 16, 32, 64)),
    *(pa.float16(), pa.float32(), pa.float64(), pa.binary(), pa.large_binary(), pa.binary_view()),
    *(*TEXTS, pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns")
      for zone in (None, "UTC", "Europe/Zurich", "+02:00")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.decimal32(5, 2), pa.decimal64(9, 0), pa.decimal128(38, 2), pa.decimal256(50, 3)),
    pa.decimal128(5, -2),
]  # fmt: skip


def random_bits(kind, generator, rows=64):
    """Cells of a type, whatever bits they hold."""
    if kind == pa.null():
        return pa.nulls(rows)
    if str(kind) in {
        "string",
        "large_string",
        "string_view",
        "binary",
        "large_binary",
        "binary_view",
    }:
        cells = [generator.bytes(generator.integers(0, 20)) for _ in range(rows)]
        return pa.array(cells, TEXTS.get(kind, kind)).view(kind)
    bits = [generator.bytes(rows // 8), generator.bytes(rows * kind.bit_width // 8)]
    return pa.Array.from_buffers(kind, rows, list(map(pa.py_buffer, bits)))


DECLARED = {
    "as it is": {"target": "y", "features": ["c"]},
    "number": {"target": "y", "features": ["c"], "schema": {"columns": {"c": "number"}}},
    "integer": {"target": "y", "features": ["c"], "schema": {"columns": {"c": "integer"}}},
    "boolean": {"target": "c", "features": ["y"], "positive": "1", "negative": "0"},
    "date": {"target": "y", "features": ["month", "weekday"], "schema": {"columns": {
        "c": {"type": "date", "pattern": "%Y-%m-%d", "use": "nothing"},
        "month": {"month_of": "c"}, "weekday": {"weekday_of": "c"}}}},
    "moment": {"target": "y", "features": ["c"], "schema": {"columns": {"c": {
        "type": "date", "pattern": "%Y-%m-%d"}}}},
    "category": {"target": "y", "categories": {"c": ["1", "5"]}},
    "condition": {"features": ["y"], "where": [("c", "=", "5")]},
    "order": {"features": ["y"], "where": [("c", ">", 5)]},
    "before": {"features": ["y"], "where": [("c", "<", "2020-01-01")]},
    "unit": {"features": ["y"], "unit": "c"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words", "holder"),
    [
        pytest.param(kind, words, holder, marks=[pytest.mark.slow] * ((i + j + 3 * words) % 6 > 0))
        for i, kind in enumerate(FLAT)
        for j, holder in enumerate(HOLDERS)
        for words in (False, True)
    ],
    ids=str,
)
def test_no_error_depends_on_bits(tmp_path, kind, words, holder):
    """What can be declared of a type can be read, whatever its cells are."""
    generator = np.random.default_rng(5)
    cells = random_bits(kind, generator)
    if words:
        index = pa.array(generator.integers(-128, 128, 64), pa.int8())
        try:
            cells = pa.DictionaryArray.from_arrays(index, cells, safe=False)
        except pa.ArrowException:
            pytest.skip("there are no dictionaries of this type")
    if words and kind == pa.string_view() and holder in {"chunks", "stream"}:
        pytest.skip("Arrow cannot decode them")
    table = pa.table({"c": cells, "y": np.arange(64.0)})
    try:
        stored = HOLDERS[holder](table, tmp_path)
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError):
        pytest.skip("this cannot be held so")
    for name, options in DECLARED.items():
        if holder == "stream":
            stored = HOLDERS[holder](table, tmp_path)
        try:
            opened = read_table(stored, **options)
        except NolookError:
            continue  # by its type
        opened.count_units() if name == "unit" else list(opened.batches())


def can_be_read(kind, options):
    table = pa.table({"c": random_bits(kind, np.random.default_rng(5)), "y": np.arange(64.0)})
    try:
        read_table(table, **options)
    except NolookError:
        return False
    return True


@pytest.mark.parametrize("options", DECLARED.values(), ids=DECLARED)
def test_everything_is_read_of_some_type(options):
    """So that the test above leaves nothing out."""
    assert any(can_be_read(kind, options) for kind in FLAT)
