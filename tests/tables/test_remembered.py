"""What the first pass of a release has read, the next ones have in memory, if all of it fits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import nolook
from nolook.tables.files import ParquetFile
from nolook.tables.folding import CACHE_BYTES, Run

ROWS, COLUMNS = 30_000, 4


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=ROWS) for i in range(COLUMNS - 1)}
    columns["y"] = columns["x0"] - columns["x1"] + rng.normal(size=ROWS)
    # A row without a value, which is left out.
    columns["x2"][7] = np.nan
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=4_000)
    return tmp_path / "t.parquet"


@pytest.fixture
def reads(monkeypatch):
    """How often the file, or a part of it, was read."""
    found, stream = [], ParquetFile._stream

    def reading(self, names):
        found.append(self._pieces)
        return stream(self, names)

    monkeypatch.setattr(ParquetFile, "_stream", reading)
    return found


def fitted(path, kind=nolook.LinearRegression, **given):
    table = nolook.read_table(path, "y", missing="drop-row", **given)
    return kind(1.0, 1e-6, random_state=1).fit(table)


def in_a_release(table):
    return table.charging(lambda: None)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fit_reads_a_file_once_and_finds_what_it_would_by_reading_on(
    threads, path, reads, monkeypatch
):
    model = fitted(path, threads=threads)
    # Every part once, or all of them at a time.
    assert len(reads) == len({str(part) for part in reads})
    once = len(reads)
    reads.clear()
    monkeypatch.setattr("nolook.tables.folding.CACHE_BYTES", 0)
    again = fitted(path, threads=threads)
    assert len(reads) >= 6 * once
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.coef_interval_, again.coef_interval_)


def test_rows_of_units_are_kept_too(path, reads):
    held = pq.read_table(path)
    unit = pa.array(np.arange(ROWS) // 3)
    pq.write_table(held.append_column("who", unit), path)
    fitted(path, unit="who")
    # Who is whose, whether values are missing, and all else.
    assert len(reads) <= 3


@pytest.mark.parametrize("fits", [True, False])
def test_all_that_is_in_use_is_kept_or_nothing(fits, path, reads, monkeypatch):
    monkeypatch.setattr("nolook.tables.folding.CACHE_BYTES", ROWS * COLUMNS * 8 - (not fits))
    table = in_a_release(nolook.read_table(path, "y", missing="drop-row", threads=2))
    passes = [sum(numbers.sum() for numbers, _ in part_of(table)) for _ in range(3)]
    assert passes[0] == passes[1] == passes[2]
    assert len(reads) == len(table._parts) * (1 if fits else 3)


def part_of(table):
    for part in range(len(table._parts)):
        yield from table._weighted(part)


def test_what_is_kept_of_a_table_goes_with_the_release(path, reads):
    table = nolook.read_table(path, "y", missing="drop-row", threads=1)
    for _ in range(2):
        nolook.LinearRegression(1.0, 1e-6).fit(table)
        assert len(reads) == len(table._parts)
        reads.clear()


def test_only_a_small_table_in_memory_is_kept_as_numbers_too(monkeypatch):
    rng = np.random.default_rng(0)
    table = nolook.read_table(pa.table({"x": rng.normal(size=100), "y": rng.normal(size=100)}), "y")
    assert in_a_release(table)._run.room >= 100 * 2 * 8
    monkeypatch.setattr("nolook.tables.folding.CACHE_BYTES", 8 * 100 * 2 * 8 - 1)
    assert in_a_release(table)._run.room < 0


def test_a_folder_is_kept_if_all_its_files_tell_their_rows(path, tmp_path):
    def kept(source):
        return in_a_release(nolook.read_table(source, "y"))._run.room >= 0

    (tmp_path / "more").mkdir()
    held = pq.read_table(path)
    for i in range(2):
        pq.write_table(held, tmp_path / "more" / f"{i}.parquet")
    assert kept(path)
    assert kept(tmp_path / "more")
    feather.write_feather(held, tmp_path / "t.arrow")
    assert not kept(tmp_path / "t.arrow")


def block(rows):
    return np.ones((2, rows))


def test_a_pass_that_is_stopped_is_read_again_from_its_start():
    kept = Run(room=CACHE_BYTES)
    stopped = kept.through(0, iter([block(100), block(100)]))
    next(stopped)
    stopped.close()
    assert len(list(kept.through(0, iter([block(500)])))) == 1
    (numbers,) = kept.through(0, iter([]))
    assert numbers.shape == (2, 500)


def test_no_more_is_kept_than_may_be_whatever_a_file_tells():
    kept = Run(room=10 * 160)
    assert len(list(kept.through(0, iter([block(10)] * 3)))) == 3
    assert len(list(kept.through(0, iter([])))) == 3
    # The same rows as one part: they no longer fit, and are read each time.
    assert len(list(kept.through(None, iter([block(10)] * 8)))) == 8
    assert not list(kept.through(None, iter([])))
    assert len(list(kept.through(0, iter([])))) == 3


def test_fits_within_a_release_share_what_is_kept(path):
    table = in_a_release(nolook.read_table(path, "y", missing="drop-row"))
    assert in_a_release(table)._run is table._run
    assert table.select(np.ones(COLUMNS - 1, dtype=bool))._run is table._run
    with pytest.raises(RuntimeError):
        table.keeping_infinite()
