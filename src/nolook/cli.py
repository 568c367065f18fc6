"""The command line: parse, call the public functions, print.

Nothing numeric is imported until a command needs it. Every error is one line on standard error;
an unexpected one is named by its type only, since its message may quote data.
"""

from __future__ import annotations

import csv
import logging
import os
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.main import get_command

import nolook
from nolook._validation import (
    check_choice,
    check_delta,
    check_epsilon,
    check_names,
    check_random_state,
)
from nolook.errors import NolookError, ParameterError
from nolook.report.files import check_outputs, one_line
from nolook.report.methods import (
    METHODS,
    check_method,
    estimator_class,
    method_parameters,
    recipe_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from nolook.privacy.guarantee import Relation
    from nolook.privacy.ledger import Ledger
    from nolook.report.methods import Progress

__all__ = ["app", "main"]

_INTERRUPTED = 130
_MISSING = ("drop-row", "zero")
_RELATIONS = ("add-remove", "replace")
_ON_FAILURE = ("raise", "constant")
_COMMANDS = ("fit", "predict", "ledger")

app = typer.Typer(
    help="Private linear models of tables nobody may look at, with nothing to set but the budget.",
    add_completion=False,
)
ledger_app = typer.Typer(help="Keep several releases of the same data within one total budget.")
app.add_typer(ledger_app, name="ledger")

EpsilonOption = Annotated[
    float, typer.Option("--epsilon", help="Privacy loss, above 0; smaller protects more.")
]
DeltaOption = Annotated[
    float, typer.Option("--delta", help="Chance left for a larger loss, for example 1e-6.")
]
LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names may hold any letter
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit status."""
    debug = os.environ.get("NOLOOK_DEBUG", "") not in {"", "0"}
    if not debug:
        _silence_libraries()
    try:
        return _invoke(arguments)
    except NolookError as error:
        return _complain(str(error), error.exit_status)
    except typer.TyperException as error:
        return _complain(_usage(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except Exception as error:
        if debug:
            raise
        command = next((word for word in arguments if word in _COMMANDS), "nolook")
        return _complain(
            f"internal error in {command}: {type(error).__name__} "
            "(NOLOOK_DEBUG=1 shows more, and may show data)",
            NolookError.exit_status,
        )


def _invoke(arguments: Sequence[str]) -> int:
    status = get_command(app).main(list(arguments), prog_name="nolook", standalone_mode=False)
    return status if isinstance(status, int) else 0


def _usage(error: typer.TyperException) -> str:
    """Say what is wrong with the words given, and where to read what was expected."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "nolook"
    return f"{error.format_message().rstrip('.')} (see {command} --help)"


def _silence_libraries() -> None:
    """Keep other libraries' warnings, logs and threads' tracebacks, which may quote data, quiet."""
    warnings.simplefilter("ignore")
    logging.disable()
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None


def _complain(message: str, status: int) -> int:
    line = " ".join(one_line(part) for part in message.split())
    sys.stderr.write(f"nolook: error: {line}\n")
    return status


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"nolook {nolook.__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 -- its callback does the work
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    _help_without_command(context)


@ledger_app.callback(invoke_without_command=True)
def _ledger_root(context: typer.Context) -> None:
    _help_without_command(context)


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


@app.command()
def fit(  # noqa: PLR0917 -- Typer gives every option by name
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A Parquet, CSV or Arrow IPC file.")
    ],
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="The column to explain.")],
    epsilon: EpsilonOption,
    delta: DeltaOption,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="The columns to explain it with; by default all numeric ones. Needed for CSV.",
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,C",
            help="A column of categories and those to tell apart; may be given several times.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="drop-row|zero",
            help="What to do with missing and infinite values; by default they are an error.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="|".join(("auto", *METHODS)), help="How to fit.")
    ] = "auto",
    bound_x: Annotated[
        float | None,
        typer.Option(metavar="B", help="For adassp: a public bound on the norm of a row."),
    ] = None,
    bound_y: Annotated[
        float | None,
        typer.Option(metavar="B", help="For adassp: a public bound on the size of the label."),
    ] = None,
    on_failure: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_ON_FAILURE),
            help="For tukey: what a failed private test does; by default it is an error.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model file; by default TABLE.model.json here."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report, one HTML page.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge this ledger before reading.")
    ] = None,
    random_state: Annotated[
        int | None,
        typer.Option(metavar="N", help="Repeatable noise, for experiments. NOT private."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Fit a private linear model of a table and write it to a file."""
    check_epsilon(epsilon, "--epsilon")
    check_delta(delta, "--delta")
    check_random_state(random_state, "--random-state")
    chosen = check_method(method, "--method")
    parameters = _method_parameters(chosen, bound_x, bound_y, on_failure)
    options = _table_options(features, categories, missing)
    model_file = output if output is not None else Path(f"{table.stem}.model.json")
    outputs = [("--output", model_file)]
    if report is not None:
        outputs.append(("--report", report))
    check_outputs(outputs, inputs=(table, *_ledger_files(ledger)))

    estimator = estimator_class(chosen)(
        epsilon=epsilon, delta=delta, random_state=random_state, **parameters
    )
    with _open_ledger(ledger) as opened:
        read = nolook.read_table(table, target, **options)
        with _progress(quiet=quiet) as progress:
            estimator.fit(read, ledger=opened, progress=progress)
    nolook.save(estimator, model_file)
    if report is not None:
        from nolook.report.html import write_report

        write_report(estimator, report, table=table.name)
    if not quiet:
        from nolook.report.terminal import print_model

        print_model(_console(), estimator, model_file=model_file, report_file=report)


def _method_parameters(
    method: str, bound_x: float | None, bound_y: float | None, on_failure: str | None
) -> dict[str, Any]:
    """Translate the options about the method into parameters of its estimator."""
    for option, bound in (("--bound-x", bound_x), ("--bound-y", bound_y)):
        if bound is not None:
            check_epsilon(bound, option)
    if on_failure is not None:
        check_choice("--on-failure", on_failure, _ON_FAILURE)
    options = {"--bound-x": bound_x, "--bound-y": bound_y, "--on-failure": on_failure}
    parameters = method_parameters(method, options)
    if (bound_x is None) != (bound_y is None):
        missing = "--bound-x" if bound_x is None else "--bound-y"
        raise ParameterError(
            f"{missing} is not given beside the other bound; expected both or neither "
            f"(for example {missing} 10)"
        )
    return parameters


def _table_options(
    features: str | None, categories: Sequence[str] | None, missing: str | None
) -> dict[str, Any]:
    """Translate the options about columns into those of `nolook.read_table`."""
    options: dict[str, Any] = {}
    if features is not None:
        options["features"] = _names(features, "--features")
    for text in categories or ():
        column, equals, values = text.partition("=")
        if not equals or not column:
            raise ParameterError(
                f"--categories is {one_line(text)!r}; expected a column and its categories, "
                "for example --categories city=Bern,Basel"
            )
        known = options.setdefault("categories", {})
        if column in known:
            raise ParameterError(
                f"--categories names the column {one_line(column)!r} twice; "
                "expected all its categories in one list"
            )
        known[column] = _names(values, f"--categories {one_line(column)}")
    if missing is not None:
        options["missing"] = check_choice("--missing", missing, _MISSING)
    return options


def _names(text: str, option: str) -> tuple[str, ...]:
    """Split at commas; a name with a comma may be put in double quotes."""
    return check_names(next(csv.reader([text]), []), option)


def _ledger_files(path: Path | None) -> tuple[Path, ...]:
    """Return all files a ledger consists of: no output may replace any of them."""
    if path is None:
        return ()
    return (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm")))


@contextmanager
def _open_ledger(path: Path | None) -> Iterator[Ledger | None]:
    if path is None:
        yield None
        return
    with nolook.Ledger(path) as ledger:
        yield ledger


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Give a progress callable that draws a bar, if there is a terminal to draw it on."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=step, completed=done, total=total)

        yield show


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by fit.")],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table with the model's columns.")
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The Parquet file to write.")],
) -> None:
    """Predict the label of each row of a table; writes the column `prediction`."""
    check_outputs([("--output", output)], inputs=(model, table))
    fitted = nolook.load(model)
    from nolook.report.predictions import write_predictions

    write_predictions(fitted, nolook.read_table(table, **recipe_of(fitted)), output)


@ledger_app.command("create")
def ledger_create(
    file: LedgerArgument,
    epsilon: EpsilonOption,
    delta: DeltaOption,
    name: Annotated[
        str | None, typer.Option(help="Of the data set; by default the file's name.")
    ] = None,
    relation: Annotated[
        str, typer.Option(metavar="|".join(_RELATIONS), help="How neighbouring tables differ.")
    ] = _RELATIONS[0],
) -> None:
    """Create a ledger with a total budget for a data set."""
    budget = nolook.Budget(
        check_epsilon(epsilon, "--epsilon"), check_delta(delta, "--delta", allow_zero=True)
    )
    neighbours = cast("Relation", check_choice("--relation", relation, _RELATIONS))
    with nolook.Ledger.create(file, budget, name=name or file.stem, relation=neighbours):
        pass


@ledger_app.command("show")
def ledger_show(file: LedgerArgument) -> None:
    """Show a ledger's budget and what is left of it."""
    from nolook.report.terminal import print_ledger

    with nolook.Ledger(file) as ledger:
        print_ledger(_console(), ledger)


@ledger_app.command("history")
def ledger_history(file: LedgerArgument) -> None:
    """List the releases a ledger was charged for."""
    from nolook.report.terminal import print_history

    with nolook.Ledger(file) as ledger:
        print_history(_console(), ledger)
