"""``nolook ledger``: create a ledger, show it and its releases, enter one made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook.cli._declared import with_options
from nolook.cli._interruption import explained
from nolook.cli._options import DEFAULT_LEDGER, PAGE
from nolook.cli._release import console, tell
from nolook.formats.files import check_outputs, one_line, write_text

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation
    from nolook.privacy.ledger import Ledger


ledger_app = typer.Typer(help="Keep several releases of the same data within one total budget.")

LedgerArgument = Annotated[
    Path, typer.Argument(metavar="FILE", envvar=DEFAULT_LEDGER, help="The ledger's file.")
]


@ledger_app.command()
@with_options({"--name": "Name of the data set; by default the file's name."})
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")],
    epsilon: float,
    delta: float,
    name: str | None = None,
    relation: str = "add-remove",
    quiet: bool = False,
) -> None:
    """Create a ledger with a total budget for a data set."""
    from nolook._strength import too_weak
    from nolook.privacy.guarantee import Budget
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_status import attack_on

    budget, neighbours = Budget(epsilon, delta), cast("Relation", relation)
    with Ledger.create(file, budget, name=name or file.stem, relation=neighbours) as ledger:
        said = f"ledger: {one_line(file)}", attack_on(ledger, budget), *too_weak(epsilon, delta)
        tell(*said * (not quiet))


@ledger_app.command()
def show(file: LedgerArgument) -> None:
    """Show a ledger's budget and what is left of it."""
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_terminal import print_ledger

    with Ledger(file) as ledger:
        print_ledger(console(), ledger)


@ledger_app.command()
@with_options(
    {
        "--what TEXT": "One line that describes the release.",
        "--relation add-remove|replace": "Relation of neighbouring tables in its guarantee; by "
        "default that of the ledger.",
        "--unit NAME": "The column whose values name what its guarantee protects, each with all "
        "its rows; by default it protects a row.",
    }
)
def charge(
    file: LedgerArgument,
    epsilon: float,
    what: str,
    delta: float = 0.0,
    relation: str | None = None,
    unit: str | None = None,
) -> None:
    """Enter a release of the same data that was made elsewhere."""
    from nolook.privacy.guarantee import Budget
    from nolook.privacy.ledger import Ledger, check_line

    check_line(what, "--what")
    neighbours = cast("Relation | None", relation)
    with Ledger(file) as ledger, explained(lambda: _entered(ledger)):
        ledger.charge(Budget(epsilon, delta), description=what, relation=neighbours, unit=unit)


def _entered(ledger: Ledger) -> str:
    """Say whether a release was entered."""
    entries = ledger.charged()
    return f"entered as number {entries[0].id}" if entries else "nothing was charged; start again"


@ledger_app.command()
@with_options(PAGE)
def report(file: LedgerArgument, output: Path, force: bool = False) -> None:
    """Write a page with a ledger's budget, what is left of it, and all its releases."""
    check_outputs([("--output", output)], [file], replace=force)
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_page import render_ledger_page

    with Ledger(file) as ledger:
        write_text(output, render_ledger_page(ledger))
    typer.echo(f"report: {one_line(output)}")


@ledger_app.command()
def history(file: LedgerArgument) -> None:
    """List the releases a ledger was charged for."""
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_terminal import print_history

    with Ledger(file) as ledger:
        print_history(console(), ledger)
