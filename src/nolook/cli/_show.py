"""``nolook show``, ``report`` and ``compare``: releases made before, looked at again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_choice
from nolook.cli._declared import with_options
from nolook.cli._loaded import model_of
from nolook.cli._options import PAGE, form_of
from nolook.cli._plug_ins import plugged_in_words
from nolook.cli._release import console
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs, one_line

FORMS = ("csv", "md", "latex", "json", "sql")
_FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file that a release was written to.")
]


def _model_argument(name: str) -> object:
    return typer.Argument(metavar=name, help="A model file made by fit.")


@with_options({"--details": "Show the cost of each mechanism too."})
def show(
    file: _FileArgument,
    form: Annotated[
        str | None,
        form_of(
            f"--format {'|'.join(FORMS)}",
            "Print the main table unrounded (csv), the report's tables (md, latex), all numbers "
            "with their intervals (json), or a model as one SQL expression (sql).",
        ),
    ] = None,
    details: bool = False,
) -> None:
    """Print any release again: a model, a selection, a distribution, a cross-validation.

    For a batch of two servers, its description.
    """
    if form is not None:
        check_choice("--format", form, FORMS)
    if (described := plugged_in_words(file)) is not None:
        sys.stdout.write("\n".join(described) + "\n")
        return

    from nolook.formats.model_file import load
    from nolook.report.terminal import print_findings

    found = load(file)
    if form is None:
        print_findings(console(), found.content(), details=details)
        return
    from nolook.report.exports import exported
    from nolook.report.sql import sql_of

    sys.stdout.write(sql_of(found) if form == "sql" else exported(found, form))


@with_options(
    PAGE | {"--registry FILE": "Write a draft record for the registry of deployments (YAML)."}
)
def report(
    file: _FileArgument,
    output: Path | None = None,
    title: str = "",
    registry: Path | None = None,
    force: bool = False,
) -> None:
    """Write the report of a release again, as one HTML page, or its record for a registry."""
    if output is None and registry is None:
        raise ParameterError("--output is missing (use --output FILE, or --registry FILE)")
    check_outputs([("--output", output), ("--registry", registry)], [file], replace=force)
    from nolook.formats.model_file import load

    found = load(file)
    if registry is not None:
        from nolook.report.registry import write_record

        write_record(found, registry)
        typer.echo(f"record: {one_line(registry)}")
    if output is not None:
        found.report(output, title=title)
        typer.echo(f"report: {one_line(output)}")


def compare(
    first: Annotated[Path, _model_argument("A")], second: Annotated[Path, _model_argument("B")]
) -> None:
    """Put two models of the same target side by side: coefficients, intervals, differences.

    The half-widths of both intervals are added, since both models may use the same rows.
    """
    from nolook.report._console import say
    from nolook.report.comparison import compare as compared
    from nolook.report.comparison import comparison_lines
    from nolook.report.terminal import print_lines

    found = compared(model_of(first), model_of(second))
    print_lines(console(), comparison_lines(found))
    for name, path in zip(found.names, (first, second), strict=True):
        say(console(), f"{name}: {one_line(path)}", whole=True)
