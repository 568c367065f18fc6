"""The parts of a source, read apart, are the source."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from nolook import read_table

ROWS = 40_000


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    rng = np.random.default_rng(1)
    levels = np.array(["a", "b", "c"])[rng.integers(0, 3, ROWS)]
    return pa.table(
        {"x": rng.normal(size=ROWS), "n": rng.integers(0, 9, ROWS), "t": levels.tolist()}
    )


def parquet(frame, folder):
    pq.write_table(frame, folder / "t.parquet", row_group_size=1_000)
    return folder / "t.parquet"


def one_group(frame, folder):
    pq.write_table(frame, folder / "t.parquet")
    return folder / "t.parquet"


def arrow_file(frame, folder):
    with ipc.new_file(str(folder / "t.arrow"), frame.schema) as file:
        file.write_table(frame, max_chunksize=100)
    return folder / "t.arrow"


def arrow_stream(frame, folder):
    with ipc.new_stream(str(folder / "t.arrow"), frame.schema) as file:
        file.write_table(frame, max_chunksize=1_000)
    return folder / "t.arrow"


def csv(frame, folder):
    frame.to_pandas().to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


PLACES = {
    "parquet": (parquet, 40),
    "one group": (one_group, 1),
    "arrow file": (arrow_file, 256),
    "arrow stream": (arrow_stream, 1),
    "csv": (csv, 1),
    "pandas": (lambda frame, _: frame.to_pandas(), 3),
    "polars": (lambda frame, _: pl.from_arrow(frame), 3),
    "arrow": (lambda frame, _: frame, 3),
}


@pytest.mark.parametrize("place", PLACES)
def test_parts_in_order_are_the_table_and_can_be_read_in_any_order(
    place, frame, tmp_path, monkeypatch
):
    monkeypatch.setattr("nolook.tables.source._PART_NUMBERS", 3 * 15_000)
    make, count = PLACES[place]
    opened = read_table(
        make(frame, tmp_path), features=["x", "n", "t"], categories={"t": ["a", "b"]}
    )._source
    names = ["t", "x"]
    parts = opened.parts()
    assert len(parts) == count
    backwards = [list(part.batches(names)) for part in reversed(parts)][::-1]
    apart = pa.Table.from_batches([b.select(names) for part in backwards for b in part])
    whole = pa.Table.from_batches([b.select(names) for b in opened.batches(names)])
    assert apart.num_rows == ROWS
    assert apart.combine_chunks() == whole.combine_chunks()
    for part in parts[:2]:
        assert part.columns == opened.columns
        assert list(part.parts()) == [part] or len(part.parts()) == 1


@pytest.mark.parametrize("place", ["parquet", "arrow file", "csv"])
def test_parts_of_files_travel_to_other_processes(place, frame, tmp_path):
    make, _ = PLACES[place]
    opened = read_table(make(frame, tmp_path), features=["x", "n"])._source
    for part in opened.parts()[:2]:
        there = pickle.loads(pickle.dumps(part))
        assert list(there.batches(["x"])) == list(part.batches(["x"]))


def test_parts_of_relative_paths_lead_to_the_same_file(frame, tmp_path, monkeypatch):
    parquet(frame, tmp_path)
    monkeypatch.chdir(tmp_path)
    part = read_table("t.parquet", features=["x"])._source.parts()[0]
    sent = pickle.dumps(part)
    monkeypatch.chdir("/")
    assert list(pickle.loads(sent).batches(["x"])) == list(part.batches(["x"]))


def test_each_thread_has_its_own_rows_of_an_array():
    array = np.arange(6e6).reshape(-1, 6)
    source = read_table(array)._source
    ends = zip(*(part.batches(["x0", "x5"]) for part in source.parts()), strict=False)
    for batches in ends:  # interleaved
        for batch in batches:
            x0, x5 = (batch.column(i).to_numpy() for i in range(2))
            assert (x5 == x0 + 5).all()


def test_an_empty_table_is_one_part():
    assert len(read_table(np.empty((0, 3)))._source.parts()) == 1
