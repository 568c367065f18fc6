"""A text of twice the longest that is read makes no table unreadable, wherever the table is."""

from __future__ import annotations

from contextlib import closing

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.tables.source import LONGEST_CELL
from nolook.tables.units import kept_cells
from nolook.tables.words import by_word
from tests.tables.database_places import DATABASES

TABLE = pa.table({
    "x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0], "text": ["1", "x" * 2 * LONGEST_CELL, "3"],
})  # fmt: skip


def in_csv(table, folder):
    columns = (column.to_pylist() for column in table.columns)
    lines = [",".join(map(str, line)) for line in zip(*columns, strict=True)]
    (folder / "t.csv").write_text("\n".join([",".join(table.column_names), *lines]))
    return folder / "t.csv"


def in_quotes(table, folder):
    path = in_csv(table, folder)
    path.write_text(path.read_text().replace("x" * 10, 'x"' + "x" * 8))
    return path


def in_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def in_arrow(table, folder):
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    return folder / "t.arrow"


KEPT = {
    **DATABASES,
    "csv": in_csv,
    "quotes": in_quotes,
    "parquet": in_parquet,
    "arrow": in_arrow,
    "memory": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "pandas objects": lambda table, _: table.to_pandas().astype({"text": object}),
    "pandas words": lambda table, _: table.to_pandas().astype({"text": "category"}),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
}
USES = {
    "number": ({"features": ["x", "text"], "schema": {"columns": {"text": "number"}}}, [1.0, 3.0]),
    "level": (
        {
            "features": ["x", "text"],
            "schema": {"columns": {"text": {"type": "category", "levels": ["1", "3"]}}},
            "missing": "drop-row",
        },
        [1.0, 3.0],
    ),
    "condition": (
        {
            "features": ["x"],
            "where": [("text", "<", 9)],
            "schema": {"columns": {"text": "number"}},
        },
        [1.0, 3.0],
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kept", KEPT)
def test_a_long_text_is_no_error(tmp_path, kept, use):
    options, expected = USES[use]
    columns = {"x": "number", "y": "number", **options["schema"]["columns"]}
    source = KEPT[kept](TABLE, tmp_path)
    given = options | {"schema": {"columns": columns}}
    table = nolook.read_table(source, "y", **given)
    found = np.concatenate(list(table.batches()), axis=1)[0].tolist()
    # Where it is read, it is a text like others: no number, and a level nobody declared.
    assert found in (expected, [1.0, 2.0, 3.0] if use == "level" else expected)


@pytest.mark.parametrize("kept", KEPT)
def test_a_long_identifier_is_a_unit_or_missing(tmp_path, kept):
    source = KEPT[kept](TABLE, tmp_path)
    table = nolook.read_table(source, features=["x"], unit="text")
    assert table.count_units() == (2 if kept in {*DATABASES, "csv", "quotes"} else 3)


WORDS = pa.table({"text": pa.array(["a", "b"]).dictionary_encode(), "x": [1.0, 2.0]})
GROWING = {
    "stream": lambda _: pa.RecordBatchReader.from_batches(WORDS.schema, WORDS.to_batches()),
    "chunks": lambda _: pa.concat_tables([TABLE, TABLE]),
    "sqlite": lambda folder: DATABASES["sqlite"](TABLE, folder),
}


@pytest.mark.parametrize("kept", GROWING)
def test_texts_put_together_may_have_any_size_together(tmp_path, kept):
    # 32,768 rows of one text of 65,536 bytes are too many for offsets of 32 bits.
    source = nolook.read_table(GROWING[kept](tmp_path), features=["x"], unit="text")._source
    (batch,) = source.original.batches(["text"])
    assert batch.column(0).type == pa.large_string()


def test_units_and_words_of_a_dictionary_may_have_any_size_together():
    words = WORDS["text"].chunk(0)
    assert by_word(lambda each: each, words).type == pa.large_string()
    assert kept_cells(words, np.array([True, False])).type == pa.large_string()


@pytest.mark.slow
def test_a_text_larger_than_what_duckdb_may_keep(tmp_path):
    text = np.random.default_rng(0).integers(97, 123, 150_000_000).astype("u1").tobytes().decode()
    with closing(duckdb.connect(str(tmp_path / "t.duckdb"))) as connection:
        connection.execute("CREATE TABLE t AS SELECT i::DOUBLE x, 'n' who FROM range(100000) r(i)")
        connection.execute("UPDATE t SET who = $1 WHERE x = 50000", [text])
    table = nolook.read_table(f"duckdb:{tmp_path / 't.duckdb'}#t", features=["x"], unit="who")
    assert table.count_units() == 1
    table = nolook.read_table(
        f"duckdb:{tmp_path / 't.duckdb'}#t", features=["x", "who"],
        schema={"columns": {"who": {"type": "category", "levels": ["n", "m"]}}},
    )  # fmt: skip
    numbers = np.concatenate(list(table.batches()), axis=1)[0]
    np.testing.assert_array_equal(numbers, np.delete(np.arange(100000.0), 50000))
