"""The command line: parse, call the public functions, print.

Every command is a function in a module of its own, registered here in the order of the help, and
imports what is numeric only when it runs; plug-ins (`_plug_ins.py`) follow. Every error is one line
on standard error; an unexpected one shows only its type, since its message may quote data.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from nolook._language import option_names
from nolook._version import __version__
from nolook.cli._audit import audit
from nolook.cli._calibration import calibration
from nolook.cli._ecdf import ecdf
from nolook.cli._evaluate import evaluate
from nolook.cli._examples import examples
from nolook.cli._fit import fit
from nolook.cli._groups import compare_groups, survival
from nolook.cli._interruption import Interrupted
from nolook.cli._ledger import ledger_app
from nolook.cli._plan import plan
from nolook.cli._plug_ins import WithPlugIns, help_without_command
from nolook.cli._predict import predict
from nolook.cli._quantiles import quantiles
from nolook.cli._roc import roc
from nolook.cli._schema import schema
from nolook.cli._select import select
from nolook.cli._show import compare, report, show
from nolook.cli._start import start_lightly
from nolook.cli._tabulate import describe, tabulate
from nolook.errors import NolookError, ParameterError
from nolook.formats.files import one_line

__all__ = ["app", "main", "run"]

_INTERRUPTED = 130
# What every command calls the parameters that classes check.
_SPOKEN = {n: f"--{n.replace('_', '-')}" for n in ("epsilon", "delta", "relation", "other_rows")}
# Of an address that was given where none is expected, and is quoted as any other word is.
_IN_ADDRESS = r"(?i)(?<=/)[^/\s@']*:[^/\s@']*(?=@)|(?<=password=)[^\s']+"


class Lists(TyperCommand):
    """A command that refuses a list given again, of which only the last one would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- see `run`
        """Parse the words after the command's name."""
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in given:
            if given.count(option) > 1 and "," in (option.metavar or "") and not option.multiple:
                raise ParameterError(
                    f"{option.opts[0]} is given {given.count(option)} times; expected one list "
                    f"({option.opts[0]} {option.metavar})"
                )
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Fit, select and evaluate models on confidential tables under differential privacy.",
    cls=WithPlugIns,
    context_settings={"help_option_names": ["--help", "-h"]},
)
_COMMANDS = (
    *(schema, plan, describe, tabulate, fit, select, predict, evaluate),
    *(compare_groups, survival, ecdf, quantiles, roc, calibration),
    *(show, report, compare, audit, examples),
)
for _command in _COMMANDS:
    # A line's end in a paragraph is not one on the screen.
    words = re.sub(r"(?<!\n)\n +(?=\S)", " ", _command.__doc__ or "")
    app.command(cls=Lists, help=words)(_command)
app.add_typer(ledger_app, name="ledger")


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names may hold any letter
    # Imports make hundreds of thousands of objects that stay: to search them takes up to 0.1 s.
    gc.set_threshold(20_000, 10, 1000)
    start_lightly()
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit status."""
    debug = os.environ.get("NOLOOK_DEBUG", "") not in {"", "0"}
    if not debug:
        _silence_libraries()
    try:
        return run(arguments)
    except NolookError as error:
        return _say(f"error: {error}", error.exit_status)
    except Interrupted as stopped:
        return _say(str(stopped), _INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except Exception as error:
        if debug:
            raise
        command = next(iter(arguments), "nolook")  # it was found, so this is its name
        return _say(
            f"error: internal error in {command}: {type(error).__name__} "
            "(NOLOOK_DEBUG=1 shows more, and may show data)",
            NolookError.exit_status,
        )


def run(arguments: Sequence[str]) -> int:
    """Run one command in this process; what is wrong with its arguments is a ParameterError."""
    try:
        with option_names(_SPOKEN):
            status = get_command(app).main(
                list(arguments), prog_name="nolook", standalone_mode=False
            )
    except Exception as error:
        # Words Typer cannot parse: the oldest version allowed has no public name for their class.
        if hasattr(error, "format_message"):
            raise ParameterError(_usage(error, arguments)) from None
        raise
    return status if isinstance(status, int) else 0


def _usage(error: Any, arguments: Sequence[str]) -> str:  # noqa: ANN401 -- see `run`
    """Show the error of a command's arguments, and where to read about them."""
    command = getattr(getattr(error, "ctx", None), "command_path", "nolook")
    message = error.format_message().rstrip(".")
    if message.startswith("Missing option"):
        means = error.param.help.rstrip(".")
        message = f"{max(error.param.opts, key=len)} is missing: {means[:1].lower()}{means[1:]}"
    if message.startswith("Got unexpected extra argument"):
        message += "; expected lists without blanks, such as age,height, or in quotes"
    comma = "(?:" + "|".join(re.findall(r"'(-[\w-]+)'", message)) + r")[ =](\d*),(\d+)(?!\S)"
    if "valid number" in message and (found := re.search(comma, " ".join(arguments))):
        message += f"; write {found[1] or 0}.{found[2]}"
    return f"{message} (see {command} --help)"


def _silence_libraries() -> None:
    """Keep other libraries' warnings, logs and threads' tracebacks, which may quote data, quiet."""
    warnings.simplefilter("ignore")
    logging.disable()
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None


def _say(message: str, status: int) -> int:
    line = " ".join(one_line(part) for part in re.sub(_IN_ADDRESS, "...", message).split())
    sys.stderr.write(f"nolook: {line}\n")
    return status


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"nolook {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 -- its callback does the work
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    help_without_command(context)


ledger_app.callback(invoke_without_command=True)(help_without_command)
