"""``nolook federated``, a plug-in of the command line: a batch, tokens, a command for each role."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook._validation import check_choice, check_delta, check_epsilon
from nolook.cli._declared import with_options
from nolook.cli._options import levels_of, read_grid
from nolook.cli._plug_ins import help_without_command
from nolook.errors import ParameterError
from nolook.federated.commands._close import close
from nolook.federated.commands._options import check_extra
from nolook.federated.commands._query import query
from nolook.federated.commands._serve import serve
from nolook.federated.commands._setup import setup
from nolook.federated.commands._status import status
from nolook.federated.commands._submit import submit
from nolook.federated.kinds import KINDS
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from nolook.federated.kinds import Kind

__all__ = ["federated_app"]

_ROLES = ("owner", "analyst", "peer")

federated_app = typer.Typer(
    help="Distributions of rows that never leave their owners.", add_completion=False
)
federated_app.callback(invoke_without_command=True)(help_without_command)
federated_app.command()(setup)


@federated_app.command()
@with_options(
    {
        "--name": "The batch's name: a to z, digits and hyphens.",
        f"--kind {'|'.join(KINDS)}": "The kind of release.",
        "--server0 FILE": "Server 0's public.json, from its setup.",
        "--server1 FILE": "Server 1's.",
        "--output -o FILE": "The batch's file.",
        "--delta": "Above 0 for Gaussian noise; for an ecdf only.",
        "--minimum N": "The fewest reports that are answered.",
        "--column NAME": "The value's column in owners' tables.",
        "--target NAME": "The column of classes, if there are any.",
        "--unit NAME": "The column that names whom a report is of: one each, of a row drawn at "
        "random.",
    }
)
def batch(  # noqa: PLR0917 -- Typer gives every option by name
    name: str,
    kind: str,
    epsilon: float,
    server0: Path,
    server1: Path,
    output: Path,
    delta: float = 0.0,
    grid: str | None = None,
    minimum: int = 100,
    column: str | None = None,
    target: str | None = None,
    positive: str | None = None,
    negative: str | None = None,
    categories: list[str] | None = None,
    unit: str | None = None,
) -> None:
    """Describe a batch: the public file that owners, both servers and the analyst share."""
    check_extra()
    check_epsilon(epsilon, "--epsilon")
    check_delta(delta, "--delta", allow_zero=True)
    chosen = cast("Kind", check_choice("--kind", kind, tuple(KINDS)))
    thresholds = None if grid is None else read_grid(grid)
    check_outputs([("--output", output)])

    from nolook.federated.batch import Batch
    from nolook.federated.batch_content import write_batch
    from nolook.federated.folder import read_party
    from nolook.tables.conversion import two_classes
    from nolook.tables.source import TEXT, Column
    from nolook.tables.words import check_categories

    levels = levels_of(categories)
    if (chosen == "counts") != (len(levels) == 1) or len(levels) > 1:
        raise ParameterError(
            f"--categories names {len(levels)} columns; expected one for counts, and none for "
            "other kinds (for example --categories ward=A,B)"
        )
    labels: tuple[str, ...] = ()
    for counted, declared in check_categories(levels).items():
        column, labels = counted, tuple(each for each in declared if each is not None)
    first, second = read_party(server0), read_party(server1)
    classes: tuple[str, ...] = ()
    if target is not None:
        words = ("1", "0") if positive is negative is None else (positive, negative)
        marked = two_classes(Column(target, TEXT), None, *words)
        classes = target, marked.true[0], marked.false[0]
    made = Batch(
        name,
        chosen,
        epsilon,
        thresholds,
        minimum,
        servers=(first.url, second.url),
        keys=(first.key, second.key),
        authorities=(first.authority, second.authority),
        columns=() if column is None else (column, *classes),
        unit=unit,
        labels=labels,
        delta=delta,
    )
    write_batch(made, output)


@federated_app.command()
@with_options(
    {
        "--file FILE": "The server's tokens; its digest is added.",
        "--count N": "Number of tokens, one a line.",
        "--reports N": "The most reports that an owner's token sends to a batch.",
        "--per-second N": "The most reports that an owner's token sends a second.",
    },
    names={"role": "role"},
)
def token(
    role: Annotated[str, typer.Argument(metavar="|".join(_ROLES), help="The party it is for.")],
    file: Path,
    count: int = 1,
    reports: int | None = None,
    per_second: int | None = None,
) -> None:
    """Make a token for one server and print it; the server keeps only its digest."""
    from nolook.federated.tokens import make_tokens

    for made in make_tokens(role, file, count, reports, per_second):
        sys.stdout.write(f"{made}\n")


for _command in (serve, submit, status, query, close):
    federated_app.command()(_command)
