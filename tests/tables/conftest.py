"""Ways to store one Arrow table, each of which must give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

Store = Callable[[pa.Table, Path], object]


class Stream:
    """Gives an Arrow stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def as_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "t.parquet", row_group_size=7 + len(table) // 10)
    return folder / "t.parquet"


def as_arrow_file(table: pa.Table, folder: Path) -> Path:
    with pa.ipc.new_file(folder / "file.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=5 + len(table) // 10)
    return folder / "file.arrow"


def as_arrow_stream(table: pa.Table, folder: Path) -> Path:
    with pa.ipc.new_stream(folder / "stream.ipc", table.schema) as writer:
        writer.write_table(table, max_chunksize=3 + len(table) // 10)
    return folder / "stream.ipc"


def as_feather(table: pa.Table, folder: Path) -> Path:
    pyarrow.feather.write_feather(table, folder / "t.feather")
    return folder / "t.feather"


def as_csv(table: pa.Table, folder: Path) -> Path:
    lines = [",".join(table.column_names)]
    for row in table.to_pylist():
        cells = ["" if cell is None else cell for cell in row.values()]
        cells = [int(cell) if isinstance(cell, bool) else cell for cell in cells]
        lines.append(",".join(str(cell) for cell in cells))
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "t.csv"


def as_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def as_pandas_arrow(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(table: pa.Table, folder: Path) -> pl.DataFrame:
    return pl.from_arrow(table)


def as_chunks(table: pa.Table, folder: Path) -> pa.Table:
    return pa.Table.from_batches(table.to_batches(max_chunksize=4), table.schema)


def as_reader(table: pa.Table, folder: Path) -> pa.RecordBatchReader:
    return table.to_reader(max_chunksize=2)


def as_stream(table: pa.Table, folder: Path) -> Stream:
    return Stream(table)


#: Files of every format, each by its name in `test_places.PLACES`.
FILES = [as_parquet, as_arrow_file, as_arrow_stream, as_feather, as_csv]
STORES = [*FILES, as_pandas, as_pandas_arrow, as_polars, as_chunks, as_reader, as_stream]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Store:
    """A way to store a table."""
    return request.param


@pytest.fixture(params=FILES)
def file_store(request: pytest.FixtureRequest) -> Store:
    """A way to store a table in a file."""
    return request.param


@pytest.fixture(scope="session")
def numbers_of() -> Callable[[object], np.ndarray]:
    """Give all rows of a table as one array, columns first."""

    def joined(table) -> np.ndarray:
        batches = list(table.batches())
        return np.concatenate(batches, axis=1) if batches else np.empty((table.n_columns, 0))

    return joined
