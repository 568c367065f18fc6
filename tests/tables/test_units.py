"""Rows are grouped by their identifiers as written, whatever holds them, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook import Schema
from nolook._unit import ROW, WHOLE, Unit
from nolook.errors import ParameterError, TableError
from nolook.tables import read_table, units
from nolook.tables.read import read_scores
from nolook.tables.units import Units, can_identify, group_rows, keyed_hashes
from nolook.tables.views import folds_of
from tests.collected import Collected


def numbered(cells):
    """Number values in the order in which they first come."""
    known = {}
    return [known.setdefault(cell, len(known)) for cell in cells]


def rows_of(found: Units):
    return found.between(0, 2**40).tolist()


def test_hashes_of_another_key_or_text_differ():
    texts = [b"", b"a", b"ab", bytes(range(200))]
    found = [keyed_hashes(texts, bytes([byte]) * 16) for byte in (0, 1)]
    assert len({row.tobytes() for hashes in found for row in hashes}) == 8
    assert np.array_equal(keyed_hashes(texts, bytes(16)), found[0])


def check_grouped(cells, arrays):
    expected = numbered(cells)
    found = group_rows((array, None) for array in arrays)
    assert rows_of(found) == expected
    assert found.counts.tolist() == np.bincount(expected).tolist() if expected else True
    assert found.counts.sum() == len(cells)


NEAR = st.integers(-2, 2).map
SMALL = {
    pa.string(): st.text("aé\0 ", max_size=3),
    pa.large_string(): st.text("aé\0 ", max_size=20),
    pa.string_view(): st.text("aé\0 ", max_size=20),
    pa.binary(): st.binary(max_size=3),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.int8(): st.integers(-2, 2),
    pa.int64(): NEAR(lambda i: 2**53 + i) | NEAR(lambda i: -(2**63) + 2 + i),
    pa.uint64(): NEAR(lambda i: 2**53 + i) | NEAR(lambda i: 2**64 - 3 + i),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.decimal128(38, 1): NEAR(lambda i: Decimal(10**36 + i) / 10),
}


@pytest.mark.parametrize("kind", SMALL, ids=str)
@pytest.mark.parametrize("as_dictionary", [False, True])
@settings(max_examples=12)
@given(data=st.data())
def test_equal_identifiers_are_one_unit_and_others_are_not(kind, as_dictionary, data):
    batches = data.draw(st.lists(st.lists(SMALL[kind], max_size=9), max_size=3))
    cells = [cell for batch in batches for cell in batch]
    arrays = [pa.array([None, *batch, None], kind).slice(1, len(batch)) for batch in batches]
    assert can_identify(kind)
    if as_dictionary:
        arrays = [
            pa.DictionaryArray.from_arrays(
                np.arange(len(batch))[::-1].copy(), pa.array(batch[::-1], kind)
            )
            for batch in batches
        ]
    check_grouped(cells, arrays)


def test_many_rows_are_grouped_alike_however_they_are_cut(monkeypatch):
    generator = np.random.default_rng(0)
    cells = generator.zipf(1.3, 30_000) % 2**60
    expected = numbered(cells.tolist())
    for cuts, spooled, room in ((1, 1 << 20, 1 << 22), (7, 100, 1 << 22), (301, 1 << 20, 1_000)):
        monkeypatch.setattr(units, "_SPOOLED", spooled)
        monkeypatch.setattr(units, "_ROWS_IN_MEMORY", room)
        monkeypatch.setattr(units, "_PART", 777)
        found = group_rows((pa.array(part), None) for part in np.array_split(cells, cuts))
        assert rows_of(found) == expected
        assert found.counts.tolist() == np.bincount(expected).tolist()


def test_hashes_that_agree_in_one_half_stay_apart(monkeypatch):
    def half(texts, key):
        found = keyed_hashes(texts, key).copy()
        found[:, 0] %= 3
        return found

    monkeypatch.setattr(units, "keyed_hashes", half)
    cells = np.random.default_rng(0).integers(0, 50, 500)
    check_grouped(cells.tolist(), [pa.array(cells)])


def test_nothing_depends_on_the_key(monkeypatch):
    cells = pa.array(np.random.default_rng(0).integers(0, 50, 500))
    found = []
    for byte in range(3):
        monkeypatch.setattr(units.os, "urandom", lambda size, byte=byte: bytes([byte]) * size)
        found.append(group_rows([(cells, None)]))
    assert len({tuple(rows_of(one)) for one in found}) == 1


def test_so_many_rows_of_each_unit_are_chosen_uniformly():
    of_rows = np.array([0, 1, 0, 2, 0, 1, 0, 0], dtype=np.uint32)
    found = Units(of_rows, np.bincount(of_rows))
    generator = np.random.default_rng(0)
    times = np.zeros(8)
    for _ in range(3_000):
        chosen = found.chosen(2, lambda n: generator.integers(0, 2**64, n, dtype=np.uint64))
        assert np.bincount(of_rows[chosen]).tolist() == [2, 2, 1]
        assert found.only(chosen).counts.tolist() == [2, 2, 1]
        times += chosen
    np.testing.assert_allclose(times[of_rows == 0] / 3_000, 0.4, atol=0.05)


def test_ties_of_keys_keep_so_many_all_the_same():
    of_rows = np.zeros(9, dtype=np.uint32)
    chosen = Units(of_rows, np.array([9])).chosen(3, lambda n: np.zeros(n, dtype=np.uint64))
    assert np.flatnonzero(chosen).tolist() == [0, 1, 2]


# --- tables --------------------------------------------------------------------------------------

CELLS = {"id": ["b", "a", "b", "c", "b"], "x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [0, 1, 0, 1, 0]}
STORED = pa.table(CELLS)


def weights_of(table):
    table._run.threads = 1  # which reads parts in their order
    parts = [weights for _, weights in table.fold(Collected()).batches]
    return np.concatenate(parts).tolist() if parts else []


def test_the_rows_of_a_unit_share_its_weight(store, tmp_path):
    table = read_table(store(STORED, tmp_path), "y", features=["x"], unit="id")
    table.read_through()
    assert weights_of(table) == [WHOLE // 3, WHOLE, WHOLE // 3, WHOLE, WHOLE // 3]
    with pytest.raises(RuntimeError):
        next(table.batches())


def test_views_have_the_same_units():
    table = read_table(STORED, "y", features=["x"], unit="id", missing="centre")
    view = table.filled(np.zeros(2)).select(np.array([True])).keeping_infinite()
    assert weights_of(view) == weights_of(table)


HOLES = {"id": ["a", None, "b", "a", "a"], "x": [1.0, 2.0, None, 3.0, None], "y": [1, 2, 3, 4, 5]}


def test_rows_are_counted_among_those_in_use(store, tmp_path):
    table = read_table(
        store(pa.table(HOLES), tmp_path), "y", features=["x"], unit="id", missing="drop-row"
    )
    table.read_through()
    assert weights_of(table) == [WHOLE // 2] * 2


@pytest.mark.parametrize("missing", ["drop-row", "zero", "centre"])
def test_a_row_without_an_identifier_is_left_out_and_no_units(missing, store, tmp_path):
    whole = pa.table(HOLES | {"x": [1.0] * 5})
    table = read_table(store(whole, tmp_path), "y", features=["x"], unit="id", missing=missing)
    assert weights_of(table) == [WHOLE // 3, WHOLE, WHOLE // 3, WHOLE // 3]
    assert table.left_out() == 0


def test_a_unit_is_left_out_if_none_of_its_rows_is_used(store, tmp_path):
    rows = {
        "id": ["a", "b", "b", None, "c", "d", "a", "e", "e"],
        "x": [1.0, None, np.inf, None, 2.0, np.nan, None, 3.0, None],
    }
    held = pa.table(rows | {"y": [1.0] * 9})
    table = read_table(store(held, tmp_path), "y", features=["x"], unit="id")
    assert weights_of(table) == [WHOLE] * 3
    assert table.left_out() == 2  # b and d
    folds = [*folds_of(table, 2, lambda count: np.zeros(count, np.uint8))]
    # Of all tables of folds the first fold alone has them.
    assert [(rest.left_out(), part.left_out()) for rest, part in folds] == [(0, 2), (0, 0)]
    chosen = table.sample_rows(1, lambda count: np.arange(count, dtype=np.uint64))
    assert chosen.left_out() == 2


def in_dictionary(cells):
    words = pa.array([None, *dict.fromkeys(cells)])
    return pa.DictionaryArray.from_arrays([words.to_pylist().index(c) for c in cells], words)


def test_rows_of_text_in_views_may_be_left_out():
    for kind in (pa.string_view(), pa.dictionary(pa.int32(), pa.string_view())):
        words = pa.array(["a", None, "b", "a"], pa.string_view())
        if pa.types.is_dictionary(kind):
            words = pa.DictionaryArray.from_arrays(np.arange(4), words)
        rows = pa.table({"id": words, "x": [1.0] * 4, "y": [1.0] * 4})
        table = read_table(rows, "y", unit="id", features=["x"], missing="drop-row")
        assert weights_of(table) == [WHOLE // 2, WHOLE, WHOLE // 2]


@pytest.mark.parametrize("cells", [["a", None, "b", "a"], [2**53, None, 2**53 + 1, 2**53]])
def test_a_null_of_a_dictionary_is_no_identifier(cells):
    rows = {"id": in_dictionary(cells), "y": [1.0] * 4}
    table = read_table(pa.table(rows | {"x": [1.0] * 4}), "y", unit="id", features=["x"])
    assert weights_of(table) == [WHOLE // 2, WHOLE, WHOLE // 2]


def test_an_unused_null_of_a_dictionary_is_no_error():
    rows = {"id": in_dictionary(["a", "b"]), "x": [1.0, 2.0], "y": [1.0, 2.0]}
    table = read_table(pa.table(rows), "y", unit="id", features=["x"])
    table.read_through()
    assert weights_of(table) == [WHOLE, WHOLE]


@pytest.mark.parametrize("missing", ["drop-row", "zero"])
def test_a_column_declared_full_that_has_gaps_keeps_rows_and_units_together(missing):
    # Otherwise every row after the gap would have the weight of the row before it.
    fields = [pa.field(name, pa.int64(), nullable=False) for name in ("id", "x", "y")]
    cells = [[1, 2, 3, 3, 3], [5, 6, 7, 8, 9], [None, 2, 3, 4, 5]]
    stored = pa.Table.from_arrays(
        [pa.array(each, pa.int64()) for each in cells], schema=pa.schema(fields)
    )
    table = read_table(stored, "y", unit="id", features=["x"], missing=missing)
    assert weights_of(table) == [WHOLE] + [WHOLE // 3] * 3


def written(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return tmp_path / "t.csv"


def test_an_empty_cell_of_a_text_file_is_no_identifier(tmp_path):
    path = written(tmp_path, 'id,x,y\n1,1,1\n,2,2\n"",3,3\n01,4,4\n 1 ,5,5\n')
    table = read_table(path, "y", features=["x"], unit="id", missing="drop-row")
    assert weights_of(table) == [WHOLE] * 3  # as written, blanks and all
    table = read_table(path, "y", features=["x"], unit="id", missing="zero")
    assert weights_of(table) == [WHOLE] * 3  # as written, blanks and all


@pytest.mark.parametrize("kind", ["identifier", "text", "integer", "number", "date"])
def test_a_declared_unit_is_compared_as_written(kind, tmp_path):
    big = 2**53
    path = written(tmp_path, f"id,x,y\n{big},1,1\n{big + 1},2,2\nNA,3,3\n{big},4,4\n")
    columns = {"id": {"type": kind, "use": "unit", "missing": ["NA"]}, "x": "number", "y": "number"}
    table = read_table(path, "y", schema=Schema(columns), missing="drop-row")
    assert table.unit == Unit("id")
    assert table.feature_names == ("x",)
    assert weights_of(table) == [WHOLE // 2, WHOLE, WHOLE // 2]


def test_an_identifier_of_numbers_stays_one_where_it_is_declared():
    cells = {"id": [2**53, 2**53 + 1, 2**53], "x": [1.0] * 3, "z": [2.0] * 3, "y": [1.0] * 3}
    schema = {"columns": {"id": {"type": "integer", "use": "unit"}, "x": {"type": "number"}}}
    table = read_table(pa.table(cells), "y", schema=schema)
    assert table.feature_names == ("x", "z")
    assert weights_of(table) == [WHOLE // 2, WHOLE, WHOLE // 2]


def test_a_unit_is_no_feature_beside_columns_of_no_use():
    cells = {"id": [1, 2], "x": [1.0, 2.0], "z": [1.0, 2.0], "y": [1.0, 2.0]}
    schema = {"columns": {"z": {"type": "number", "use": "nothing"}}}
    assert read_table(pa.table(cells), "y", unit="id", schema=schema).feature_names == ("x",)


def test_scores_have_the_unit_of_the_schema():
    schema = Schema({"id": {"type": "identifier", "use": "unit"}})
    table = read_scores(STORED, "x", "y", "1", schema=schema)
    assert table.unit == Unit("id")
    assert weights_of(table) == [WHOLE // 3, WHOLE, WHOLE // 3, WHOLE, WHOLE // 3]


def test_a_unit_that_is_no_feature_stays_the_unit():
    schema = Schema({"id": {"type": "identifier", "use": "unit"}}).without(["id", "x"])
    assert schema.used_as("unit") == ("id",)
    assert schema.used_as("nothing") == ("x",)


@pytest.mark.parametrize("other", ["x", "y"])
def test_a_unit_has_no_other_use(other):
    with pytest.raises(ParameterError, match="which is also"):
        read_table(STORED, "y", features=["x"], unit=other)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([1.0, 2.0]),
        pa.array([1.0, 2.0], pa.float32()).dictionary_encode(),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([None, None]),
        pa.array([[1], [2]]),
    ],
    ids=lambda cells: str(cells.type),
)
def test_what_may_be_rounded_is_no_identifier(cells):
    rows = pa.table({"id": cells, "x": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(TableError, match="expected text or integers"):
        read_table(rows, "y", features=["x"], unit="id")


def test_integers_that_pandas_made_fractions_are_no_identifiers():
    frame = pd.DataFrame({"id": [1, 2, None], "x": [1.0] * 3, "y": [1.0] * 3})
    with pytest.raises(TableError, match="expected text or integers"):
        read_table(frame, "y", unit="id")


def test_rows_that_were_not_there_when_rows_were_counted_are_left_out():
    table = read_table(STORED, "y", features=["x"], unit="id")
    whole = table.units()
    table._places.units = Units(whole.between(0, 3).astype(np.uint32), np.array([2, 1]))
    batches = table.fold(Collected()).batches
    assert sum(numbers.shape[1] for numbers, _ in batches) == 3
    assert weights_of(table) == [WHOLE // 2, WHOLE, WHOLE // 2]


def test_some_rows_of_each_unit_are_the_same_in_every_pass():
    table = read_table(STORED, "y", features=["x"], unit="id", rows_per_unit=2)
    keys = np.array([3, 0, 1, 0, 2], dtype=np.uint64)
    limited = table.sample_rows(2, lambda n: keys[:n])
    assert limited.unit == Unit("id", 2)
    for _ in range(2):
        (numbers, weights, of_rows), *_ = limited.batches_of_units()
        assert numbers[0].tolist() == [2.0, 3.0, 4.0, 5.0]
        assert weights is None
        assert of_rows.tolist() == [1, 0, 2, 0]
    chosen = limited.select(np.array([True]))
    assert np.concatenate(list(chosen.batches()), axis=1)[0].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_table_without_rows_has_no_units():
    table = read_table(STORED.slice(0, 0), "y", features=["x"], unit="id")
    assert weights_of(table) == []
    assert read_table(STORED, "y", features=["x"]).unit == ROW


GROUP = """
import sys
import numpy as np
import psutil
import pyarrow as pa
from nolook.tables import units

rows, kinds = int(sys.argv[1]), int(sys.argv[2])
process, peak = psutil.Process(), 0
group = units.group_hashes


def watched(hashes):
    global peak
    found = group(hashes)
    peak = max(peak, process.memory_info().rss - process.memory_info().shared)
    return found


units.group_hashes = watched
generator = np.random.default_rng(0)
before = process.memory_info().rss - process.memory_info().shared
cells = (pa.array(generator.integers(0, kinds, 65_536)) for _ in range(rows // 65_536))
parts = ((part, None) for part in cells)
found = units.group_rows(parts)
assert found.counts.sum() == rows // 65_536 * 65_536
print(peak - before)
"""


@pytest.mark.slow
def test_ten_million_rows_are_grouped_in_bounded_memory():
    def peak(rows, kinds):
        command = [sys.executable, "-c", GROUP, str(rows), str(kinds)]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    assert peak(10_000_000, 3_000_000) < 160e6
    # Rows of one unit are in memory together, 24 bytes each and what sorting them takes.
    assert peak(10_000_000, 1) < 500e6
