"""``nolook examples``: the small tables that the documentation's examples read."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from nolook.errors import ParameterError
from nolook.formats.files import one_line

_ROWS = 20_000


def examples(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder, new or empty.")],
) -> None:
    """Write the made-up tables that the documentation's examples read into a folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{one_line(folder)} exists; expected a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_examples(folder)
    typer.echo(f"tables: {', '.join(sorted(path.name for path in folder.iterdir()))}")


def write_examples(folder: Path) -> None:
    """Write tables of people, patients and stays, the same ones each time."""
    import pyarrow.csv
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    people = (tables := _tables())["people"]
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    by_city = {"partitioning": ["city"], "partitioning_flavor": "hive"}
    ds.write_dataset(people, folder / "people", format="parquet", **by_city)
    pyarrow.csv.write_csv(people.drop_columns("city"), folder / "people.csv")
    swapped = str.maketrans(",.", ".,")
    rows = zip(*(people[name].to_pylist() for name in ("age", "height", "income")), strict=True)
    lines = [f"{age};{tall};{pay:,.2f}".translate(swapped) for age, tall, pay in rows]
    (folder / "euro.csv").write_text("\n".join(["age;height;income", *lines, ""]), "utf-8")
    _write_databases(people, folder)


def _tables() -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa
    from scipy.special import ndtri

    # Evenly spread between 0 and 1, and unrelated between columns: no noise.
    steps = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0])
    uniform = (np.arange(1, _ROWS + 1) * steps[:, np.newaxis]) % 1.0
    normal = ndtri(uniform)
    age, risk = (20 + 45 * uniform[0]).astype(np.int64), uniform[5] ** 2
    height = (170 + 9 * normal[1]).round(1)
    cities = np.array(["Bern", "Basel", "Chur", "Olten"])
    people = {
        "age": age,
        "height": height,
        "siblings": (5 * uniform[2]).astype(np.int64),
        "city": cities[(4 * uniform[3]).astype(np.int64)],
        "income": (1000 + 40 * age + 5 * height + 300 * normal[4]).round(2),
    }
    patient = (_ROWS / 3 * uniform[7]).astype(np.int64)
    tables = {
        "people": people,
        "new": {"id": range(10), "age": age[:10], "height": height[:10]},
        "patients": {"age": age, "risk": risk, "died": np.where(uniform[6] < risk, "yes", "no")},
        "stays": {"patient_id": patient, "age": age, "cost": 200.0 + 30 * age + 400 * normal[6]},
    }
    return {name: pa.table(columns) for name, columns in tables.items()}


def _write_databases(people: Any, folder: Path) -> None:  # noqa: ANN401
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.execute(
            "CREATE TABLE people (age INTEGER, height REAL, siblings INTEGER, city TEXT, "
            "income REAL)"
        )
        rows = zip(*(column.to_pylist() for column in people.columns), strict=True)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    with suppress(ImportError):  # an optional package
        import duckdb

        with duckdb.connect(str(folder / "people.duckdb")) as connection:
            connection.register("given", people)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
