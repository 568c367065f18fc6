"""Where a table is: the options that say so, and what they mean. Imports nothing numeric."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nolook.cli._options import form_of
from nolook.errors import ParameterError
from nolook.formats.files import one_line

if TYPE_CHECKING:
    from nolook.tables.databases import Database


# Texts: a path would lose one of an address's slashes.
TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV, Parquet, Arrow, Excel, SPSS, Stata or SAS file; a folder, a pattern in quotes "
        "('visits/*.csv') or s3://BUCKET/FOLDER of such files; or a database: duckdb:FILE, "
        "sqlite:FILE or postgresql://HOST/NAME.",
    ),
]
FromTableOption = Annotated[
    str | None, form_of("--table NAME", "Table or view of a database, optionally SCHEMA.NAME.")
]


def place_of(table: str, name: str | None = None) -> Path | str | Database:
    """Return a table's location: files, an address of storage, or a table of a database."""
    from nolook.tables.databases import Database, is_address
    from nolook.tables.files import in_storage

    if is_address(table):
        return Database(table, table=name)
    if name is not None:
        raise ParameterError(
            "--table is given, but the table is a file; expected a database (for example "
            "duckdb:visits.duckdb)"
        )
    return table if in_storage(table) else Path(table)


def files_of(place: Path | str | Database) -> list[Path]:
    """Return the file of this machine that a table is in, if it is in one."""
    file = place if isinstance(place, Path) else getattr(place, "path", None)
    return [] if file is None else [file]


def check_apart(place: Path | str | Database, outputs: Iterable[tuple[str, Path | None]]) -> None:
    """Refuse an output that would be part of the table when it is read the next time."""
    from nolook.tables.folders import would_read

    for option, path in outputs:
        if isinstance(place, Path) and path is not None and would_read(place, path):
            raise ParameterError(
                f"{option} is {one_line(path)}, which lies among the files of the table "
                f"{one_line(place)!r} (choose another folder)"
            )


def called(place: Path | str | Database) -> Path:
    """Return a table's name for files and pages."""
    from nolook.tables.folders import label_of

    if isinstance(place, str | Path):
        return Path(label_of(place))
    return Path(place.table.replace(".", "_"))
