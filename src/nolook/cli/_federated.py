"""``nolook federated``: describe a batch, make tokens, and the commands of every role."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook._validation import check_choice, check_epsilon
from nolook.cli._federated_options import check_extra
from nolook.cli._federated_query import query
from nolook.cli._federated_serve import serve
from nolook.cli._federated_submit import submit
from nolook.cli._options import EpsilonOption, GridOption, LogGridOption, grid
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from nolook.federated.batch import Kind

__all__ = ["federated_app"]

_KINDS = ("ecdf", "roc", "hosmer-lemeshow")
_ROLES = ("owner", "analyst", "peer")

federated_app = typer.Typer(help="Distributions of records that never leave their owners.")


@federated_app.command()
def batch(
    name: Annotated[str, typer.Option(help="Of the batch: a to z, digits and hyphens.")],
    kind: Annotated[str, typer.Option(metavar="|".join(_KINDS), help="What is released.")],
    epsilon: EpsilonOption,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The batch's file.")],
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    minimum: Annotated[
        int, typer.Option(metavar="N", help="The least number of reports that is answered.")
    ] = 100,
) -> None:
    """Describe a batch: the public file that owners, both servers and the analyst share."""
    check_extra()
    check_epsilon(epsilon, "--epsilon")
    chosen = cast("Kind", check_choice("--kind", kind, _KINDS))
    thresholds = grid(linear_grid, log_grid)
    check_outputs([("--output", output)])

    from nolook.federated.batch import Batch
    from nolook.federated.shares import guarantee
    from nolook.report.batch_file import write_batch

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
    """Make a token for one server and print it; the server keeps its digest only."""
    check_choice("role", role, _ROLES)

    from nolook.federated.tokens import make_token

    sys.stdout.write(f"{make_token(role, file)}\n")


for _command in (serve, submit, query):
    federated_app.command()(_command)
