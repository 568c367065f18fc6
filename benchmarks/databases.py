"""Time and memory of the default regression from databases, beside one Parquet file.

30 features and a target, all doubles. Every figure is of a whole process of its own, the address
of a server included; coefficients are those of one seed, and must be the same to the last bit.

With 0 rows a part is left out. Places take turns; seconds are the median of these, memory the most.

    python -m benchmarks.databases [--output benchmarks/results/databases.md]
        [--rows 10000000] [--server_rows 1000000] [--turns 3]
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median

import duckdb
import pyarrow.parquet as pq

from benchmarks.fit import CHUNK, FEATURES, write_table
from benchmarks.harness import in_own_process, load, main
from tests.tables.servers import postgresql

FIT = """
import nolook
from nolook.estimators.linear import LinearRegression
place, name = sys.argv[1:]
source = nolook.Database(place, table=name) if name else place
start = time.perf_counter()
model = LinearRegression(1.0, 1e-6, random_state=0).fit(nolook.read_table(source, "y"))
figures = [time.perf_counter() - start, memory("VmHWM") / 1e6]
print(json.dumps([*figures, [*map(float.hex, model.coef_)]]))
"""


def in_duckdb(parquet, folder):
    """Store a Parquet file's rows in DuckDB."""
    place = folder / "t.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("SET preserve_insertion_order = true")
        connection.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{parquet}')")
    return f"duckdb:{place}"


def in_sqlite(parquet, folder):
    """Store a Parquet file's rows in SQLite."""
    place = folder / "t.sqlite"
    file = pq.ParquetFile(parquet)
    columns = ", ".join(f'"{name}" REAL' for name in file.schema_arrow.names)
    marks = ", ".join("?" * (FEATURES + 1))
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        for batch in file.iter_batches(CHUNK):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        connection.commit()
    return f"sqlite:{place}"


def in_postgresql(parquet, _):
    """Store a Parquet file's rows in PostgreSQL."""
    server = postgresql()
    name = server.database()
    with closing(server.connect(name)) as connection, closing(connection.cursor()) as cursor:
        for i, batch in enumerate(pq.ParquetFile(parquet).iter_batches(CHUNK)):
            cursor.adbc_ingest("t", batch, mode="append" if i else "create")
    return server.uri(name)


def lines(rows, kinds, turns):
    """Yield a row of the report for the file, and one for each kind of database."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet = folder / "t.parquet"
        write_table(parquet, rows, "many")
        places = {"Parquet": (parquet, "")}
        places |= {kind: (store(parquet, folder), "t") for kind, store in kinds.items()}
        runs = [
            {kind: in_own_process(FIT, *place) for kind, place in places.items()}
            for _ in range(turns)
        ]
    for kind in places:
        times, peaks, coefficients = zip(*(run[kind] for run in runs), strict=True)
        same = "yes" if all(found == runs[0]["Parquet"][2] for found in coefficients) else "NO"
        yield f"| {rows:,} | {kind} | {median(times):.1f} | {max(peaks):.0f} | {same} |"


def report(rows, server_rows, turns):
    """Yield the lines of the report."""
    yield "# The default regression from databases"
    yield ""
    how = f"{turns} turn{'s' * (turns > 1)}, {load()}."
    yield f"Printed by `python -m benchmarks.databases`; {how}"
    yield ""
    yield "| rows | kept in | seconds | peak MB | same coefficients |"
    yield "|---:|---|---:|---:|---|"
    if server_rows:
        yield from lines(server_rows, {"PostgreSQL": in_postgresql, "SQLite": in_sqlite}, turns)
    if rows:
        yield from lines(rows, {"DuckDB": in_duckdb}, turns)


if __name__ == "__main__":
    main(report, __doc__, rows=10_000_000, server_rows=1_000_000, turns=3)
