"""The engine that reads a table's files, if not this process."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook._validation import check_choice
from nolook.errors import ParameterError

EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="spark",
        help="Let workers of Spark read the table's files, by the same paths as here.",
    ),
]
SparkMasterOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where Spark is, such as local[4] or spark://HOST:7077; by default what Spark's own "
        "settings say.",
    ),
]


def session_of(engine: str | None, master: str | None) -> object:
    """Start the session of Spark that reads, if one is wanted."""
    if engine is None:
        if master is not None:
            raise ParameterError("--spark-master is given without an engine (add --engine spark)")
        return None
    check_choice("--engine", engine, ("spark",))
    from nolook.spark.frames import start_session

    return start_session(master)
