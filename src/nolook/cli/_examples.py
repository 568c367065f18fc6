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
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    people = pa.table(_people())
    for name, table in (
        ("people", people),
        ("new", _new(people)),
        ("patients", pa.table(_patients(people))),
        ("stays", pa.table(_stays(people))),
    ):
        pq.write_table(table, folder / f"{name}.parquet")
    ds.write_dataset(
        people,
        folder / "people",
        format="parquet",
        partitioning=["city"],
        partitioning_flavor="hive",
    )
    pyarrow.csv.write_csv(people.drop_columns("city"), folder / "people.csv")
    _write_german(people, folder / "euro.csv")
    _write_databases(people, folder)


def _uniform(column: int) -> Any:  # noqa: ANN401 -- NumPy is imported where it is needed
    """Return evenly spread numbers between 0 and 1, unrelated between columns (no noise)."""
    import numpy as np

    step = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0])[column]
    return (np.arange(1, _ROWS + 1) * step) % 1.0


def _normal(column: int) -> Any:  # noqa: ANN401
    from scipy.special import ndtri

    return ndtri(_uniform(column))


def _people() -> dict[str, Any]:
    import numpy as np

    age = (20 + 45 * _uniform(0)).astype(np.int64)
    height = (170 + 9 * _normal(1)).round(1)
    cities = np.array(["Bern", "Basel", "Chur", "Olten"])
    return {
        "age": age,
        "height": height,
        "siblings": (5 * _uniform(2)).astype(np.int64),
        "city": cities[(4 * _uniform(3)).astype(np.int64)],
        "income": (1000 + 40 * age + 5 * height + 300 * _normal(4)).round(2),
    }


def _new(people: Any) -> Any:  # noqa: ANN401
    return people.select(["age", "height"]).slice(0, 10).add_column(0, "id", [list(range(10))])


def _patients(people: Any) -> dict[str, Any]:  # noqa: ANN401
    import numpy as np

    risk = _uniform(5) ** 2
    died = np.where(_uniform(6) < risk, "yes", "no")
    return {"age": people["age"], "risk": risk, "died": died}


def _stays(people: Any) -> dict[str, Any]:  # noqa: ANN401
    import numpy as np

    patient = (_ROWS / 3 * _uniform(7)).astype(np.int64)
    cost = 200.0 + 30 * people["age"].to_numpy() + 400 * _normal(6)
    return {"patient_id": patient, "age": people["age"], "cost": cost}


def _write_german(people: Any, path: Path) -> None:  # noqa: ANN401
    swapped = str.maketrans(",.", ".,")
    rows = zip(*(people[name].to_pylist() for name in ("age", "height", "income")), strict=True)
    lines = [f"{age};{tall};{pay:,.2f}".translate(swapped) for age, tall, pay in rows]
    path.write_text("\n".join(["age;height;income", *lines, ""]), encoding="utf-8")


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
