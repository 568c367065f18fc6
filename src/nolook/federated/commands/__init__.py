"""``nolook federated``, a plug-in of the command line: a batch, tokens, a command for each role."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook._validation import check_choice, check_epsilon
from nolook.cli._options import EpsilonOption, GridOption, LogGridOption, grid
from nolook.cli._plug_ins import help_without_command
from nolook.federated.commands._options import check_extra
from nolook.federated.commands._query import query
from nolook.federated.commands._serve import serve
from nolook.federated.commands._submit import submit
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from nolook.federated.batch import Kind

__all__ = ["federated_app"]

_KINDS = ("ecdf", "roc", "hosmer-lemeshow")
_ROLES = ("owner", "analyst", "peer")

federated_app = typer.Typer(help="Distributions of rows that never leave their owners.")
federated_app.callback(invoke_without_command=True)(help_without_command)


@federated_app.command()
def batch(
    name: Annotated[str, typer.Option(help="The batch's name: a to z, digits and hyphens.")],
    kind: Annotated[str, typer.Option(metavar="|".join(_KINDS), help="What is released.")],
    epsilon: EpsilonOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The batch's file.")
    ],
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    minimum: Annotated[
        int, typer.Option(metavar="N", help="The fewest reports that are answered.")
    ] = 100,
) -> None:
    """Describe a batch: the public file that owners, both servers and the analyst share."""
    check_extra()
    check_epsilon(epsilon, "--epsilon")
    chosen = cast("Kind", check_choice("--kind", kind, _KINDS))
    thresholds = grid(linear_grid, log_grid)
    check_outputs([("--output", output)])

    from nolook.federated.batch import Batch
    from nolook.federated.batch_file import write_batch
    from nolook.federated.shares import guarantee

    made = Batch(name, chosen, epsilon, thresholds, minimum)
    guarantee(made)  # refuses what no server could answer
    write_batch(made, output)


@federated_app.command()
def token(
    role: Annotated[str, typer.Argument(metavar="|".join(_ROLES), help="Who it is for.")],
    file: Annotated[
        Path, typer.Option(metavar="FILE", help="The server's tokens; its digest is added.")
    ],
) -> None:
    """Make a token for one server and print it; the server keeps only its digest."""
    check_choice("role", role, _ROLES)

    from nolook.federated.tokens import make_token

    sys.stdout.write(f"{make_token(role, file)}\n")


for _command in (serve, submit, query):
    federated_app.command()(_command)
