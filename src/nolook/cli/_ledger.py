"""``nolook ledger``: create a ledger, show it, list what it was charged for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook._validation import check_delta, check_epsilon
from nolook.cli._options import DeltaOption, EpsilonOption, RelationOption, check_relation
from nolook.cli._release import console

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation

__all__ = ["ledger_app"]

ledger_app = typer.Typer(help="Keep several releases of the same data within one total budget.")

LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]


@ledger_app.command()
def create(
    file: LedgerArgument,
    epsilon: EpsilonOption,
    delta: DeltaOption,
    name: Annotated[
        str | None, typer.Option(help="Of the data set; by default the file's name.")
    ] = None,
    relation: RelationOption = "add-remove",
) -> None:
    """Create a ledger with a total budget for a data set."""
    from nolook.privacy.guarantee import Budget
    from nolook.privacy.ledger import Ledger

    budget = Budget(
        check_epsilon(epsilon, "--epsilon"), check_delta(delta, "--delta", allow_zero=True)
    )
    neighbours = cast("Relation", check_relation(relation))
    Ledger.create(file, budget, name=name or file.stem, relation=neighbours).close()


@ledger_app.command()
def show(file: LedgerArgument) -> None:
    """Show a ledger's budget and what is left of it."""
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_terminal import print_ledger

    with Ledger(file) as ledger:
        print_ledger(console(), ledger)


@ledger_app.command()
def history(file: LedgerArgument) -> None:
    """List the releases a ledger was charged for."""
    from nolook.privacy.ledger import Ledger
    from nolook.report.ledger_terminal import print_history

    with Ledger(file) as ledger:
        print_history(console(), ledger)
