"""The tables that the pages' examples read, made up."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

ROWS = 20_000


def write_databases(table, folder):
    """Write a table into a file of DuckDB and one of SQLite."""
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.execute(
            "CREATE TABLE people "
            "(age INTEGER, height REAL, siblings INTEGER, city TEXT, income REAL)"
        )
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()


def write_tables(folder):
    """Write people, patients and stays into a folder."""
    generator = np.random.default_rng(0)
    age = generator.integers(20, 65, ROWS)
    height = generator.normal(170, 9, ROWS).round(1)
    income = (1000 + 40 * age + 5 * height + generator.normal(0, 300, ROWS)).round(2)
    people = {
        "age": age,
        "height": height,
        "siblings": generator.integers(0, 5, ROWS),
        "city": generator.choice(["Bern", "Basel", "Chur", "Olten"], ROWS),
        "income": income,
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    ds.write_dataset(
        pa.table(people),
        folder / "people",
        format="parquet",
        partitioning=["city"],
        partitioning_flavor="hive",
    )
    write_databases(pa.table(people), folder)
    pyarrow.csv.write_csv(pa.table(people).drop_columns("city"), folder / "people.csv")
    new = {"id": np.arange(10), **{name: people[name][:10] for name in ("age", "height")}}
    pq.write_table(pa.table(new), folder / "new.parquet")
    lines = ["age;height;income"]
    for one, tall, pay in zip(age, height, income, strict=True):
        euros = f"{pay:,.2f}".translate(str.maketrans(",.", ".,"))
        lines.append(f"{one};{tall}".replace(".", ",") + f";{euros}")
    (folder / "euro.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    risk = generator.beta(2, 5, ROWS)
    died = np.where(generator.random(ROWS) < risk, "yes", "no")
    pq.write_table(pa.table({"age": age, "risk": risk, "died": died}), folder / "patients.parquet")
    of = generator.integers(0, ROWS // 3, ROWS)
    cost = 200.0 + 30 * age + generator.normal(0, 400, ROWS)
    stays = {"patient_id": of, "age": age, "cost": cost}
    pq.write_table(pa.table(stays), folder / "stays.parquet")
