"""``nolook app``, a plug-in of the command line: opens the pages in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from nolook.cli._places import FromTableOption
from nolook.errors import ParameterError

__all__ = ["app"]

_NEEDED = ("python_multipart", "starlette", "uvicorn")

app = typer.Typer(add_completion=False)


@app.command()
def open_app(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]", help="The table to begin with: a file, a folder or a database."
        ),
    ] = None,
    from_table: FromTableOption = None,
    port: Annotated[int, typer.Option(metavar="N", help="0 for any free port.")] = 0,
    browser: Annotated[
        bool, typer.Option(help="Open the browser; the address is printed anyway.")
    ] = True,
) -> None:
    """Open nolook as pages in the browser, on this machine only.

    Each table gets a folder TABLE.nolook here, with its schema, ledger and releases. Nothing is
    written elsewhere.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise ParameterError("the app's packages are not installed: pip install 'nolook[app]'")
    from nolook.app.server import serve

    serve(table, from_table, port, browser=browser)
